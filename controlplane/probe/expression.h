// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/result.h"

// Logical expressions over names, as logexp has them over health checks: "web & (db | !backup)". Pure.
namespace headgate::probe {

/// "!" binds closest, then "&", then "|"; "and", "or", "not" and doubled signs mean the same.
class Expression {
 public:
  /// Longest and deepest that is accepted.
  static constexpr std::size_t kLongest = 255;
  static constexpr std::size_t kDeepest = 32;

  /// A sentence about what is wrong with it: "a name is missing at the end".
  [[nodiscard]] static headgate::Result<Expression> parse(std::string_view text);

  /// Each once, in the order of their first use.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  /// Its value when that of each name, in the order of names(), is known or not; nothing while it depends on
  /// what is not.
  [[nodiscard]] std::optional<bool> value(const std::vector<std::optional<bool>>& known) const;

 private:
  friend class ExpressionReader;

  /// In postfix order: operands before what joins them.
  struct Item {
    enum class Kind : std::uint8_t { name, negation, conjunction, disjunction } kind = Kind::name;
    std::size_t name = 0;
  };

  std::vector<std::string> names_;
  std::vector<Item> items_;
};

}  // namespace headgate::probe
