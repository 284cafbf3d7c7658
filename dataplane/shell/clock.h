// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ctime>

#include "model/tick.h"

namespace headgate::shell {

/// Nanoseconds since the boot of the machine, not counting suspends.
[[nodiscard]] inline std::uint64_t monotonic_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);  // a read of shared memory, no system call
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

/// The dataplane's tick at a monotonic time; wraps with Tick.
[[nodiscard]] constexpr Tick tick_at(std::uint64_t ns) noexcept {
  return {static_cast<std::uint32_t>(ns / (1'000'000'000 / Tick::kPerSecond))};
}

[[nodiscard]] inline Tick tick_now() noexcept {
  return tick_at(monotonic_ns());
}

}  // namespace headgate::shell
