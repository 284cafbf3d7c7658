// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "model/tick.h"

namespace headgate::core {

/// Lets something happen at most so often: a stock that refills with time, up to a burst. Starts full.
/// The time is passed in; moments may repeat, and a long pause (up to 4 years) only fills the stock.
class TokenBucket {
 public:
  /// `per_second` and `burst`: 1 to 1,000,000 each.
  constexpr TokenBucket(std::uint32_t per_second, std::uint32_t burst) noexcept
      : rate_(per_second), most_(std::uint64_t{burst} * Tick::kPerSecond), stock_(most_) {}

  /// Takes one token; false when there is none.
  [[nodiscard]] constexpr bool take(Tick now) noexcept {
    refill(now);
    if (stock_ < Tick::kPerSecond) return false;
    stock_ -= Tick::kPerSecond;
    return true;
  }

 private:
  // In parts of a token, one a tick at a rate of one a second, so that no fraction is ever lost.
  constexpr void refill(Tick now) noexcept {
    const std::int32_t passed = started_ ? now.since(last_) : 0;
    if (passed > 0) stock_ = std::min(most_, stock_ + static_cast<std::uint64_t>(passed) * rate_);
    if (passed > 0 || !started_) last_ = now;
    started_ = true;
  }

  std::uint64_t rate_;
  std::uint64_t most_;
  std::uint64_t stock_;
  Tick last_;
  bool started_ = false;
};

}  // namespace headgate::core
