// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "controlplane/health/measures.h"
#include "model/config.pb.h"

// Bounds of the numbers that a directory tells (/cfg/slb/advhc/health addbound). Pure.
namespace headgate::config {

[[nodiscard]] std::vector<health::NamedBands> bounds_of(const HealthCheck& check);
/// Says what is wrong with them.
void check_bounds(const HealthCheck& check, const std::function<void(std::string)>& wrong);

}  // namespace headgate::config
