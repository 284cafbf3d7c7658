// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace headgate::shell {

/// How many entries of its table a worker looks at between two bursts, so that a round over all of them takes
/// a constant time, whatever its load and the size of the table.
class SweepPace {
 public:
  /// An idle session is forgotten at most so much later than its time says.
  static constexpr std::uint64_t kRoundNs = 8'000'000'000;
  /// Fewer are not worth a call; more would hold up the packets.
  static constexpr std::size_t kLeast = 32;
  static constexpr std::size_t kMost = 512;

  /// Entries that are due at `now_ns` in a table of `capacity`: 0, or kLeast to kMost.
  [[nodiscard]] std::size_t due(std::size_t capacity, std::uint64_t now_ns) noexcept {
    const std::uint64_t passed = std::min(now_ns - swept_ns_, kRoundNs);
    const std::size_t due = capacity * passed / kRoundNs;
    if (due < kLeast) return 0;
    swept_ns_ = now_ns;
    return std::min(due, kMost);
  }

 private:
  std::uint64_t swept_ns_ = 0;
};

}  // namespace headgate::shell
