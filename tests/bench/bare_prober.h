// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

namespace headgate::bench {

/// The processor time that the calling thread has taken.
[[nodiscard]] std::chrono::nanoseconds thread_time();

/// What the same probes cost a loop around epoll that does nothing else: connect, with `tls` a handshake, a
/// request and its answer, and close. `rate` of them a second, evenly, for so long; the share of a core that
/// took, and how many ended well.
struct BareShare {
  double core = 0;
  std::uint64_t done = 0;
};
[[nodiscard]] BareShare bare_probes(std::uint16_t port, unsigned rate, bool tls,
                                    std::chrono::milliseconds time);

}  // namespace headgate::bench
