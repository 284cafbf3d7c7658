// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

namespace headgate::core {

/// The two ends of a session. As wide as an index, which it is most of the time.
enum class Side : std::size_t { client = 0, real = 1 };

[[nodiscard]] constexpr Side other(Side side) noexcept {
  return static_cast<Side>(static_cast<std::size_t>(side) ^ 1);
}

/// One of something for each side. Taken by index: which side a packet comes from is as random as the
/// packets, and a branch on it would be guessed wrong every second time.
template <class T>
struct BySide {
  std::array<T, 2> both{};

  [[nodiscard]] constexpr T& operator[](Side side) noexcept { return both[static_cast<std::size_t>(side)]; }
  [[nodiscard]] constexpr const T& operator[](Side side) const noexcept {
    return both[static_cast<std::size_t>(side)];
  }
  bool operator==(const BySide&) const = default;
};

}  // namespace headgate::core
