// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/config.pb.h"

namespace headgate::config {

/// What stands for a secret that somebody may not read.
inline constexpr const char* kHidden = "********";

/// Replaces the secrets of health checks by kHidden: the secret shared with RADIUS servers, communities,
/// passwords, and those in contents of the form user:password. Pure, over a configuration that need not be
/// valid.
void hide_secrets(Config& config);

}  // namespace headgate::config
