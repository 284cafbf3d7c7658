// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "model/config.pb.h"
#include "model/forwarding.pb.h"
#include "model/result.h"

// advhlth: a formula over the real servers of a group. Pure. Reference 2.2.
namespace headgate::config {

/// Whether a group has one. 128 alone means that it has none, as in the days of fewer servers; the formula of
/// real server 128 alone is (128).
[[nodiscard]] bool has_formula(const Group& group);

/// The terms of a formula like "(1|2)&(3|4)" in postfix order, or a sentence about what is wrong with it. "&"
/// binds closer than "|"; there are no blanks.
[[nodiscard]] Result<std::vector<forwarding::Term>> parse_formula(std::string_view text);

}  // namespace headgate::config
