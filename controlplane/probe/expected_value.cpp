// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/expected_value.h"

#include <charconv>
#include <limits>
#include <optional>

#include <fmt/format.h>

namespace headgate::probe {
namespace {

/// The nearest that there is, of one that is out of range.
std::optional<std::int64_t> number_of(std::string_view value) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (end != value.data() + value.size()) return std::nullopt;
  const auto most = value.starts_with('-') ? std::numeric_limits<std::int64_t>::min()
                                           : std::numeric_limits<std::int64_t>::max();
  if (error == std::errc::result_out_of_range) return most;
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

}  // namespace

headgate::Result<ExpectedValue> ExpectedValue::parse(std::string_view text) {
  if (text.empty()) return ExpectedValue{};
  const bool at_least = text.starts_with(">=");
  if (!at_least && !text.starts_with("<="))
    return ExpectedValue{.how = How::equal, .text = std::string(text)};
  const auto number = number_of(text.substr(2));
  if (!number) return Error{fmt::format("\"{}\": {} must be followed by a number", text, text.substr(0, 2))};
  return ExpectedValue{.how = at_least ? How::at_least : How::at_most, .number = *number};
}

bool ExpectedValue::passes(std::string_view value) const {
  const auto told = number_of(value);
  switch (how) {
    case How::any:
      return true;
    case How::equal:
      return value == text;
    case How::at_most:
      return told && *told <= number;
    case How::at_least:
      return told && *told >= number;
  }
  return false;
}

std::string ExpectedValue::words() const {
  switch (how) {
    case How::any:
      return "anything";
    case How::equal:
      return fmt::format("\"{}\"", text);
    case How::at_most:
      return fmt::format("at most {}", number);
    case How::at_least:
      return fmt::format("at least {}", number);
  }
  return {};
}

}  // namespace headgate::probe
