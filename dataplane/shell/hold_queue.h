// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "dataplane/core/burst.h"
#include "model/tick.h"

namespace headgate::shell {

/// Packets that wait until the Ethernet address of their next hop is known. One worker owns it. Bounded, in
/// all and for each hop, so that addresses nobody answers for can't take all packet buffers.
template <class Packet>
class HoldQueue {
 public:
  static constexpr std::size_t kCapacity = 256;
  static constexpr std::size_t kPerHop = 4;
  static constexpr std::uint32_t kPatience = 3 * Tick::kPerSecond;  ///< ticks that a packet waits at most

  enum class Put : std::uint8_t {
    full,   ///< not taken: the caller still has it
    taken,  ///< others wait for this hop too
    first,  ///< taken, and the first for this hop: somebody has to ask for it
  };

  [[nodiscard]] Put put(Packet* packet, core::HopIndex hop, Tick now) noexcept {
    std::size_t waiting = 0;
    for (const Entry& entry : entries()) waiting += entry.hop == hop;
    if (count_ == kCapacity || waiting >= kPerHop) return Put::full;
    entries_[count_++] = {packet, hop, now};
    return waiting == 0 ? Put::first : Put::taken;
  }

  /// Hands each packet whose hop is resolved to `send(packet, hop)`, each that waited too long to
  /// `drop(packet)`, in the order they came; the others stay.
  template <class Resolved, class Send, class Drop>
  void release(Tick now, Resolved&& resolved, Send&& send, Drop&& drop) {
    std::size_t kept = 0;
    for (const Entry& entry : entries()) {
      if (resolved(entry.hop)) {
        send(entry.packet, entry.hop);
      } else if (now.since(entry.since) >= static_cast<std::int32_t>(kPatience)) {
        drop(entry.packet);
      } else {
        entries_[kept++] = entry;
      }
    }
    count_ = kept;
  }

  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }

 private:
  struct Entry {
    Packet* packet = nullptr;
    core::HopIndex hop = core::kNoHop;
    Tick since;
  };
  [[nodiscard]] std::span<const Entry> entries() const noexcept { return {entries_.data(), count_}; }

  std::array<Entry, kCapacity> entries_{};
  std::size_t count_ = 0;
};

}  // namespace headgate::shell
