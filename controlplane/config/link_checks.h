// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "controlplane/probe/check.h"
#include "model/config.pb.h"

// Checks by `link`: the link of real server n is that of port n. Reference 4.2.
namespace headgate::config {

/// Names the port of a real server in a check by link, and in such parts of an expression.
void name_port(const Config& config, const Real& real, probe::Check& check);

}  // namespace headgate::config
