// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

// What the engine needs of the world besides kernel, dataplane and prober; a test brings its own.
namespace headgate::daemon {

using TimerId = std::uint64_t;

class Clock {
 public:
  virtual ~Clock() = default;
  /// Wall clock, for screens and logs only.
  [[nodiscard]] virtual std::uint64_t unix_ms() const = 0;
};

/// One-shot timers on the monotonic clock.
class Timers {
 public:
  virtual ~Timers() = default;
  /// Of the monotonic clock, from any beginning.
  [[nodiscard]] virtual std::chrono::milliseconds now() const = 0;
  virtual TimerId after(std::chrono::milliseconds delay, std::function<void()> action) = 0;
  /// Harmless for a timer that has run, and for 0.
  virtual void cancel(TimerId timer) = 0;
};

}  // namespace headgate::daemon
