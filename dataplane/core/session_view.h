// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "dataplane/core/burst.h"
#include "dataplane/core/shared.h"
#include "dataplane/core/tcp_life.h"
#include "model/ip.h"

namespace headgate::core {

/// A copy of one session, for dumps.
struct SessionView {
  Ip client;
  L4Port client_port = 0;
  Ip vip;
  L4Port vport = 0;
  Ip rip;
  L4Port rport = 0;
  Protocol protocol = Protocol::tcp;
  PortIndex port = 0;  ///< where the client's packets came in
  Life life = Life::syn;
  BindingSlot binding = kNoBinding;
  std::uint32_t idle_seconds = 0;  ///< since the last packet
  std::uint32_t left_seconds = 0;  ///< until it is forgotten without one
  std::uint32_t age_seconds = 0;   ///< since it was opened
  // By direction; octets of Ethernet frames.
  std::uint64_t packets_client = 0;
  std::uint64_t packets_real = 0;
  std::uint64_t octets_client = 0;
  std::uint64_t octets_real = 0;

  bool operator==(const SessionView&) const = default;
};

/// Which sessions are meant; empty fields match all.
struct SessionFilter {
  Ip client;
  L4Port client_port = 0;
  Ip vip;
  L4Port vport = 0;
  int port = -1;               ///< a PortIndex
  std::vector<bool> bindings;  ///< by slot, kMaxBindings of them; empty: all
};

}  // namespace headgate::core
