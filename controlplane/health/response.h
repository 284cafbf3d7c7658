// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

// How quickly a server answers its check: what metric `response` weighs by. Reference 3.1.
namespace headgate::health {

constexpr std::int64_t kResponseShare = 8;  ///< a new time counts for one in so many

/// The moving average after one more answer, in microseconds; `before` 0 means there was none. At least 1.
[[nodiscard]] constexpr std::uint32_t averaged_response(std::uint32_t before,
                                                        std::chrono::microseconds took) {
  constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
  const std::int64_t now = std::clamp<std::int64_t>(took.count(), 1, kMost);
  if (before == 0) return static_cast<std::uint32_t>(now);
  const std::int64_t average = before + (now - before) / kResponseShare;
  return static_cast<std::uint32_t>(std::max<std::int64_t>(average, 1));
}

/// Whether an average differs enough from the one that was told last to be told again: by an eighth.
[[nodiscard]] constexpr bool response_is_news(std::uint32_t told, std::uint32_t now) {
  const std::int64_t change = std::int64_t{now} - told;
  return (change < 0 ? -change : change) * kResponseShare > told;
}

}  // namespace headgate::health
