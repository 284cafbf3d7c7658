// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dataplane/core/burst.h"
#include "dataplane/core/flow_key.h"
#include "dataplane/core/shared.h"
#include "dataplane/core/side.h"
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
  Tick seen;  ///< the last packet, or when it was closed; of a free entry: the next free one
  // The standing: see below.
  std::uint16_t epoch = 0;           ///< of the binding, when it was bound
  std::uint16_t routes_version = 0;  ///< when the hops were looked up
  Transport transport{};             ///< none: this entry is free
  std::uint8_t marks = 0;            ///< of TcpLife
  PortIndex port = 0;                ///< where the client's packets come in
  std::uint8_t told = 0;             ///< kToldClient, kToldReal, kCounted, kHalfOpen, kPersistent, kAsked

  /// One direction.
  struct Flow {
    std::uint32_t next = 0;  ///< of TcpLife
    std::uint32_t acked = 0;
    /// Octets of Ethernet frames (32 bits), packets (16) and the hop that they are sent to (16), in one word.
    /// What exceeds the counts is carried into SessionRest.
    std::uint64_t passed = std::uint64_t{kNoHop} << 48;

    [[nodiscard]] HopIndex hop() const noexcept { return static_cast<HopIndex>(passed >> 48); }
    [[nodiscard]] std::uint32_t octets() const noexcept { return static_cast<std::uint32_t>(passed); }
    [[nodiscard]] std::uint16_t packets() const noexcept { return static_cast<std::uint16_t>(passed >> 32); }
    void set_hop(HopIndex hop) noexcept {
      passed = (passed & ((std::uint64_t{1} << 48) - 1)) | std::uint64_t{hop} << 48;
    }
  };
  BySide<Flow> from;

  static constexpr std::uint8_t kToldClient = 1;  ///< terminated, and the client was sent a reset
  static constexpr std::uint8_t kToldReal = 2;
  static constexpr std::uint8_t kCounted = 4;      ///< the binding's counts include it
  static constexpr std::uint8_t kPersistent = 16;  ///< it holds an entry of client persistence
  static constexpr std::uint8_t kHalfOpen = 8;     ///< the count of half-open sessions includes it
  static constexpr std::uint8_t kAsked = 32;       ///< TcpLife::asked is kept for it

  [[nodiscard]] bool used() const noexcept { return !transport.none(); }
  [[nodiscard]] bool is_tcp() const noexcept { return transport.is_tcp(); }
  /// All but TcpLife::asked.
  [[nodiscard]] TcpLife life() const noexcept {
    const Flow& client = from[Side::client];
    const Flow& real = from[Side::real];
    return {{{client.next, real.next}}, {{client.acked, real.acked}}, marks};
  }
  void set_life(const TcpLife& life) noexcept {
    for (const Side side : {Side::client, Side::real}) {
      from[side].next = life.next[side];
      from[side].acked = life.acked[side];
    }
    marks = life.marks;
  }
  void set_ways(const BySide<HopIndex>& hop) noexcept {
    for (const Side side : {Side::client, Side::real}) from[side].set_hop(hop[side]);
  }

  /// Epoch, version of the routes, transport and marks in one word, so that one comparison tells whether a
  /// packet may take the short way.
  [[nodiscard]] std::uint64_t standing() const noexcept {
    std::uint64_t word = 0;
    std::memcpy(&word, reinterpret_cast<const char*>(this) + offsetof(Session, epoch), sizeof word);
    return word << 16;  // without port and told
  }
  /// The standing of an open session in epoch 0.
  [[nodiscard]] static constexpr std::uint64_t steady_standing(std::uint16_t routes_version,
                                                               Transport transport) noexcept {
    return std::uint64_t{TcpLife::kSteady} << 56 | std::uint64_t{transport.octet} << 48 |
           std::uint64_t{routes_version} << 32;
  }
  [[nodiscard]] static constexpr std::uint64_t in_epoch(std::uint64_t standing,
                                                        std::uint16_t epoch) noexcept {
    return standing | std::uint64_t{epoch} << 16;
  }
};
static_assert(sizeof(Session) == 64);
static_assert(offsetof(Session, told) == offsetof(Session, epoch) + 7);

/// Stores before it are made before those that follow, as far as this thread's own death can tell: it may be
/// killed between any two, and what it leaves in shared memory is read by the next process.
inline void in_this_order() noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

/// What belongs to a session but to hardly any of its packets, at the same position in an array of its own.
struct SessionRest {
  Tick started;
  BySide<std::uint32_t> packets;  ///< times 65,536
  BySide<std::uint16_t> octets;   ///< times 4 GiB
};
static_assert(sizeof(SessionRest) == 16);

}  // namespace headgate::core
