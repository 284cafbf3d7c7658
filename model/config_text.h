// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/config.pb.h"
#include "model/result.h"

// The configuration as text: the format of `dump`, of what `save` stores, of `diff`, and of edits that the
// CLI sends. Reference section 1.7. For every configuration c: load(dump(c)) == c.
//
// An object comes into being with its first setting, even one that equals the default; entering its menu
// alone creates nothing. So a dump writes one default out for an object that differs in nothing: "/c/slb/real
// 1", "dis".
namespace headgate::text {

/// One block for each menu that differs from its defaults, header "/c/slb/real 1", then tab-indented settings
/// in the order of the schema, objects in the order of their numbers; ready to be loaded in that order.
[[nodiscard]] std::string dump(const config::Config& config);

/// The edits that turn `from` into `to`, in the same format: settings that returned to their default are
/// written out, deleted objects as "/c/slb/real 3/del", list members as add and rem. Empty when they are
/// equal.
[[nodiscard]] std::string diff(const config::Config& from, const config::Config& to);

/// Where relative words are looked up: the menus entered so far. Empty: the root of /cfg.
using Position = std::vector<std::string>;

/// Reads one line of the format into `config`: "/c/slb/real 1/rip 10.0.0.1/ena" (absolute), "\trip 10.0.0.1"
/// (within `position`, which is changed by headers), comments ("/*"), "script start|end", and empty lines.
/// Words may be abbreviated to a unique prefix. On error nothing is changed.
[[nodiscard]] Status apply_line(std::string_view line, Position& position, config::Config& config);

/// Reads a whole text into `config`, which it changes only when every line is good; the error names the line
/// by number and content. CRLF, a missing last newline and lines of any length are fine.
[[nodiscard]] Status load(std::string_view text, config::Config& config);

/// Sorts what the schema calls keyed or a member list, and drops fields that equal their default, so that
/// equal configurations are equal messages.
void normalise(config::Config& config);

}  // namespace headgate::text
