// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/expected_value.h"

#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace headgate::probe {
namespace {

std::optional<std::int64_t> number_of(std::string_view value) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  const bool whole = error == std::errc() && end == value.data() + value.size();
  return whole ? std::optional(number) : std::nullopt;
}

}  // namespace

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
