// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <span>

namespace headgate::testing {

/// Chance with a seed: the same seed gives the same run on every machine.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}

  /// 0 to n - 1.
  std::uint32_t below(std::uint64_t n) { return static_cast<std::uint32_t>(engine_() % n); }
  /// Low to high, both included.
  std::uint32_t between(std::uint32_t low, std::uint32_t high) { return low + below(high - low + 1); }
  /// True in so many of a hundred cases.
  bool percent(std::uint32_t chance) { return below(100) < chance; }
  template <class Range>
  const auto& one_of(const Range& range) {
    return *std::next(std::begin(range), below(std::size(range)));
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace headgate::testing
