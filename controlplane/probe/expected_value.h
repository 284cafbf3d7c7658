// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/result.h"

namespace headgate::probe {

/// What a value that a server tells must be: anything, a text, or a number with a bound.
struct ExpectedValue {
  enum class How : std::uint8_t { any, equal, at_most, at_least };

  How how = How::any;
  std::string text = {};    ///< of equal, which counts case
  std::int64_t number = 0;  ///< of at_most and at_least

  /// As it is configured: ">=10" and "<=10" are bounds, no text is anything, any other text is itself.
  [[nodiscard]] static headgate::Result<ExpectedValue> parse(std::string_view text);

  [[nodiscard]] bool passes(std::string_view value) const;
  /// "anything", "\"up\"", "at most 10"
  [[nodiscard]] std::string words() const;
};

}  // namespace headgate::probe
