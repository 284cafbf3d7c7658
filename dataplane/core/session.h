// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "dataplane/core/burst.h"
#include "dataplane/core/flow_key.h"
#include "dataplane/core/shared.h"
#include "dataplane/core/tcp_life.h"
#include "model/tick.h"

namespace headgate::core {

/// One session of a client, both directions, either family, in one cache line. It holds all that a packet
/// needs beside its binding (addresses and state of VIP and real server) and the neighbours' Ethernet
/// addresses, and no pointers.
struct alignas(64) Session {
  Ip client;
  L4Port client_port = 0;
  BindingSlot binding = kNoBinding;
  std::uint8_t protocol = 0;  ///< 0: this entry is free
  PortIndex port = 0;         ///< where the client's packets come in
  std::uint8_t marks = 0;     ///< of TcpLife
  std::uint8_t told = 0;      ///< kToldClient, kToldReal, kCounted
  Tick seen;                  ///< the last packet, or when it was closed; of a free entry: the next free one
  std::uint16_t epoch = 0;    ///< of the binding, when it was bound
  std::uint16_t routes_version = 0;  ///< when the hops were looked up
  HopIndex to_real = kNoHop;
  HopIndex to_client = kNoHop;
  std::uint32_t next_client = 0;  ///< of TcpLife
  std::uint32_t next_real = 0;
  std::uint32_t acked_client = 0;
  std::uint32_t acked_real = 0;
  // By direction, in octets of Ethernet frames; what exceeds the field is carried into SessionRest.
  std::uint32_t octets_client = 0;
  std::uint32_t octets_real = 0;
  std::uint16_t packets_client = 0;
  std::uint16_t packets_real = 0;

  static constexpr std::uint8_t kToldClient = 1;  ///< terminated, and the client was sent a reset
  static constexpr std::uint8_t kToldReal = 2;
  static constexpr std::uint8_t kCounted = 4;      ///< the binding's counts include it
  static constexpr std::uint8_t kPersistent = 16;  ///< it holds an entry of client persistence
  static constexpr std::uint8_t kHalfOpen = 8;     ///< the count of half-open sessions includes it

  [[nodiscard]] bool used() const noexcept { return protocol != 0; }
  [[nodiscard]] bool is_tcp() const noexcept { return protocol == static_cast<std::uint8_t>(Protocol::tcp); }
  [[nodiscard]] TcpLife life() const noexcept {
    return {next_client, next_real, acked_client, acked_real, marks};
  }
  void set_life(const TcpLife& life) noexcept {
    next_client = life.next_client;
    next_real = life.next_real;
    acked_client = life.acked_client;
    acked_real = life.acked_real;
    marks = life.marks;
  }
};
static_assert(sizeof(Session) == 64);

/// Stores before it are made before those that follow, as far as this thread's own death can tell: it may be
/// killed between any two, and what it leaves in shared memory is read by the next process.
inline void in_this_order() noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

/// What belongs to a session but to hardly any of its packets, at the same position in an array of its own.
struct SessionRest {
  Tick started;
  std::uint32_t packets_client = 0;  ///< times 65,536
  std::uint32_t packets_real = 0;
  std::uint16_t octets_client = 0;  ///< times 4 GiB
  std::uint16_t octets_real = 0;
};
static_assert(sizeof(SessionRest) == 16);

}  // namespace headgate::core
