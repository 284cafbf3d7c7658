// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

#include "model/ip.h"
#include "model/result.h"

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

struct Endpoint {
  Ip address;
  L4Port port = 0;
  bool operator==(const Endpoint&) const = default;
};

/// Where the switch says over HTTP how its virtual servers do.
class StateServer {
 public:
  virtual ~StateServer() = default;
  /// Listens there and nowhere else; without an endpoint nowhere. An error: it listens nowhere. What it
  /// listens at already goes on.
  virtual Status listen(const std::optional<Endpoint>& at) = 0;
};

}  // namespace headgate::daemon
