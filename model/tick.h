// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace headgate {

/// A moment on the dataplane's own clock: 1/16 s since an arbitrary start, wrapping after 8.5 years.
///
/// Moments are compared by their distance, so that the wrap is harmless for spans up to 4 years.
struct Tick {
  std::uint32_t value = 0;

  static constexpr std::uint32_t kPerSecond = 16;

  constexpr bool operator==(const Tick&) const = default;
  /// Ticks from `earlier` to this moment; negative when `earlier` is in fact later.
  [[nodiscard]] constexpr std::int32_t since(Tick earlier) const noexcept {
    return static_cast<std::int32_t>(value - earlier.value);
  }
  [[nodiscard]] constexpr Tick plus_seconds(std::uint32_t seconds) const noexcept {
    return {value + seconds * kPerSecond};
  }
  [[nodiscard]] constexpr Tick plus(std::uint32_t ticks) const noexcept { return {value + ticks}; }
};

}  // namespace headgate
