// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/core/fate.h"

namespace headgate::core {

/// Packets that one call handles at most.
constexpr std::size_t kBurst = 32;
/// Dense indices of ports on the packet path; the director maps the administrator's port numbers to them.
constexpr std::size_t kMaxPorts = 64;
using PortIndex = std::uint8_t;

/// A slot of the table of next hops (hops.h).
using HopIndex = std::uint16_t;
constexpr HopIndex kNoHop = 0xffff;
/// No generation has this version of the routes: a session that has it looks its ways up with its next
/// packet.
constexpr std::uint16_t kNoVersion = 0xffff;

/// What the shell has to do with a frame after the core has decided.
enum class Action : std::uint8_t {
  drop,
  transmit,  ///< send out of `port`
  hold,      ///< all done but the Ethernet addresses: its next hop `hop` is not resolved yet
  punt,      ///< hand to the kernel, unchanged
  park,  ///< a fragment: keep it, and give it again when `datagram` is released or after Fragments::kPatience
  hand,  ///< a fragment of another worker's session: give it to that worker (owner.h), `ports` with it
};

/// One Ethernet frame in memory that the core may rewrite in place. A value; the bytes belong to the caller.
struct Frame {
  std::uint8_t* data = nullptr;
  std::uint16_t length = 0;    ///< bytes from the first of the Ethernet header, without FCS
  std::uint16_t capacity = 0;  ///< bytes that may be written at `data`
  PortIndex port = 0;          ///< where it came in; after the core: where it goes out
  Fate fate = Fate::punt;
  Action action = Action::drop;
  HopIndex hop = kNoHop;
  /// Of a fragment. Before the core: what a parked one was parked for, else 0. After: what it is to be parked
  /// for; with any other action, 0 or the datagram whose parked fragments are to be given again now, in
  /// order.
  std::uint32_t datagram = 0;
  /// Of a fragment: its flow's ports, source << 16 | destination, once they are known; 0: not yet.
  std::uint32_t ports = 0;
};

/// Empty frames the core may fill with packets of its own (resets to the other end, and fragments of what is
/// too large for the way out). The caller provides one for each frame of the burst, `capacity` 128 or more,
/// and for fragments as much as they may be large; those with action != drop after the call are to be
/// handled like the frames themselves, the first `used` of them.
struct Spares {
  std::span<Frame> frames;
  std::size_t used = 0;
};

}  // namespace headgate::core
