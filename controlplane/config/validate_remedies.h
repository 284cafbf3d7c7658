// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "model/config.pb.h"

// The rules of application checks and of what is done about services that fail. Parts of validate_health().
namespace headgate::config {

using Wrong = std::function<void(std::string)>;  ///< hears one sentence for each thing that is wrong

/// The pages of an application check, wherever they are set.
void check_pages(const std::string& content, const Wrong& wrong);
/// A check of type app.
void check_app(const HealthCheck& check, const Wrong& wrong);
/// Window and actions of a check of any type.
void check_remedies(const HealthCheck& check, const Wrong& wrong);

}  // namespace headgate::config
