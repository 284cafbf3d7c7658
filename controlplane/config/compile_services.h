// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

#include "controlplane/config/compile.h"

// The part of compile() that is about services and those who serve them.
namespace headgate::config {

/// Adds the services that are switched: of enabled virtual servers, while balancing is on.
void add_services(const Config& config, forwarding::Generation& generation);

/// Everything that decides about one of them, and is probed.
[[nodiscard]] std::map<TargetKey, Target> targets_of(const Config& config);

}  // namespace headgate::config
