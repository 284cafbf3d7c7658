// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "dataplane/core/burst.h"
#include "dataplane/core/flow_key.h"
#include "dataplane/core/shared.h"
#include "dataplane/core/tcp_life.h"
#include "model/tick.h"

namespace headgate::core {

/// One connection of a client, both directions, in one cache line. It holds all that a packet needs but the
/// state of its server and the neighbours' Ethernet addresses, and no pointers.
struct alignas(64) Session {
  FlowKey from_client;        ///< as the client's packets arrive: client to VIP
  std::uint8_t protocol = 0;  ///< 0: this entry is free
  PortIndex port = 0;         ///< where the client's packets come in
  std::uint8_t told = 0;      ///< kToldClient, kToldReal, kCounted
  std::uint8_t marks = 0;     ///< of TcpLife
  FlowKey from_real;          ///< as the server's packets arrive: real server to client
  Tick seen;                  ///< the last packet, or when it was closed
  BindingSlot binding = kNoBinding;
  std::uint16_t epoch = 0;           ///< of the binding, when it was bound
  std::uint16_t routes_version = 0;  ///< when the hops were looked up
  HopIndex to_real = kNoHop;
  HopIndex to_client = kNoHop;
  std::uint16_t address_delta = 0;  ///< checksum change by the client's direction (checksum.h)
  std::uint16_t l4_delta = 0;
  std::uint32_t fin_client = 0;
  std::uint32_t fin_real = 0;
  Tick started;
  std::uint32_t next_free = 0;  ///< of a free entry: the next one

  static constexpr std::uint8_t kToldClient = 1;  ///< terminated, and the client was sent a reset
  static constexpr std::uint8_t kToldReal = 2;
  static constexpr std::uint8_t kCounted = 4;  ///< the binding's counts include it

  [[nodiscard]] bool used() const noexcept { return protocol != 0; }
  [[nodiscard]] TcpLife life() const noexcept { return {fin_client, fin_real, marks}; }
  void set_life(const TcpLife& life) noexcept {
    fin_client = life.fin_client;
    fin_real = life.fin_real;
    marks = life.marks;
  }
};
static_assert(sizeof(Session) == 64);

}  // namespace headgate::core
