// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/result.h"

namespace headgate::probe {

/// The statuses of a reply that count as success; 200 alone where nothing else is said.
class StatusSet {
 public:
  static constexpr unsigned kLeast = 100;
  static constexpr unsigned kMost = 999;

  /// From "200", "200-299,301": numbers of three digits and ranges of them.
  [[nodiscard]] static headgate::Result<StatusSet> parse(std::string_view text);

  [[nodiscard]] bool has(unsigned status) const;
  /// As parse() reads it: in order, and as short as it can be said.
  [[nodiscard]] std::string text() const;
  auto operator<=>(const StatusSet&) const = default;

 private:
  struct Range {
    std::uint16_t first = 200;
    std::uint16_t last = 200;
    auto operator<=>(const Range&) const = default;
  };
  [[nodiscard]] static headgate::Result<Range> parse_range(std::string_view text);
  void merge();

  std::vector<Range> ranges_ = std::vector<Range>(1);  ///< in order, with gaps between them
};

}  // namespace headgate::probe
