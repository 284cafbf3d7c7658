// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/control.pb.h"

namespace headgate::control {

/// What each service of each group is really checked by in a configuration, which need not be valid: once for
/// the servers that are checked as the group says, and for each that has a check of its own. In the order of
/// the virtual servers.
void put_checks_in_use(const config::Config& config, ConfigReply& reply);

}  // namespace headgate::control
