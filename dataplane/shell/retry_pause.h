// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace headgate::shell {

/// How long to wait before a port is tried again, in nanoseconds.
///
/// After kill -9 the kernel still frees the predecessor's socket for some milliseconds, during which its
/// queue is busy and nothing steers the port's packets: so the first pauses are short. But a driver that
/// fails half-way keeps descriptors and buffers, so it is asked ever more rarely.
class RetryPause {
 public:
  static constexpr std::uint64_t kFirstNs = 20'000'000;
  static constexpr std::uint64_t kLongestNs = 64'000'000'000;
  static constexpr std::uint64_t kAbsentNs = 1'000'000'000;

  /// The driver failed: each pause is twice the one before.
  [[nodiscard]] std::uint64_t after_driver() noexcept {
    const std::uint64_t pause = next_ns_;
    next_ns_ = std::min(2 * next_ns_, kLongestNs);
    return pause;
  }
  /// The driver was not even asked, since the interface is not there or not free: that costs nothing.
  [[nodiscard]] std::uint64_t after_absence() noexcept {
    next_ns_ = kFirstNs;
    return kAbsentNs;
  }

 private:
  std::uint64_t next_ns_ = kFirstNs;
};

}  // namespace headgate::shell
