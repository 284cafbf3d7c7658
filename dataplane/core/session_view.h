// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "dataplane/core/burst.h"
#include "dataplane/core/shared.h"
#include "model/ip.h"

namespace headgate::core {

enum class Life : std::uint8_t { syn, open, half_closed, closing, closed, terminated };

/// A copy of one session, for dumps.
struct SessionView {
  Ipv4 client;
  L4Port client_port = 0;
  Ipv4 vip;
  L4Port vport = 0;
  Ipv4 rip;
  L4Port rport = 0;
  Protocol protocol = Protocol::tcp;
  PortIndex port = 0;  ///< where the client's packets came in
  Life life = Life::syn;
  BindingSlot binding = kNoBinding;
  std::uint32_t idle_seconds = 0;  ///< since the last packet
  std::uint32_t left_seconds = 0;  ///< until it is forgotten without one
};

/// Which sessions are meant; empty fields match all.
struct SessionFilter {
  Ipv4 client;
  L4Port client_port = 0;
  Ipv4 vip;
  L4Port vport = 0;
  int port = -1;               ///< a PortIndex
  std::vector<bool> bindings;  ///< by slot, kMaxBindings of them; empty: all
};

}  // namespace headgate::core
