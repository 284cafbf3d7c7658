// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/result.h"

// How a line is taken apart into steps and words; the same for the dump format and for the prompt
// (reference 1.4).
namespace headgate::line {

struct Token {
  std::string text;
  bool quoted = false;
  bool operator==(const Token&) const = default;
};

/// One command of a line: its word and the arguments that follow it.
using Step = std::vector<Token>;

struct Line {
  bool absolute = false;  ///< began with "/"
  std::vector<Step> steps;
  bool operator==(const Line&) const = default;
};

/// "/cfg/slb/real 1/rip 10.0.0.1" -> absolute, {cfg} {slb} {real 1} {rip 10.0.0.1}. Blanks are spaces, tabs
/// and form feeds; "/" separates steps; double quotes protect both, and within them \" and \\ stand for " and
/// \. A "/" at the end opens no step. Refuses control characters and a quote that is not closed.
[[nodiscard]] Result<Line> split(std::string_view text);

/// Whether the format gives the line no meaning: empty, a comment ("/*"), or the wrapper ("script
/// start|end").
[[nodiscard]] bool skipped(std::string_view text);

/// Takes the first line off a text; without its end, be it LF or CR LF.
[[nodiscard]] std::string_view take_line(std::string_view& text);

/// The text within double quotes, so that split() gives it back.
[[nodiscard]] std::string quote(std::string_view text);
/// As it is where split() would give it back as one word, else quoted.
[[nodiscard]] std::string quote_if_needed(std::string_view text);

/// For error sentences: what somebody typed, shortened, with "?" for what can't be printed.
[[nodiscard]] std::string shown(std::string_view text);

/// The parts with the separator between them.
[[nodiscard]] std::string join(const std::vector<std::string>& parts, std::string_view separator);

}  // namespace headgate::line
