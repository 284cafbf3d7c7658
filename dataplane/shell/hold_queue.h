// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

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
    const std::size_t waiting = waiting_for(hop);
    if (count_ == kCapacity || waiting >= kPerHop) return Put::full;
    keep({packet, hop, now});
    return waiting == 0 ? Put::first : Put::taken;
  }

  /// Hands each packet whose hop is resolved to `send(packet, hop)`, each that waited too long to
  /// `drop(packet)`, in the order they came; the others stay. A hop may resolve meanwhile: what comes behind
  /// one that stays, stays too.
  template <class Resolved, class Send, class Drop>
  void release(Tick now, Resolved&& resolved, Send&& send, Drop&& drop) {
    const std::size_t all = std::exchange(count_, 0);
    waiting_ = {};
    for (std::size_t i = 0; i < all; ++i) {
      const Entry entry = entries_[i];
      if (!holds(entry.hop) && resolved(entry.hop)) {
        send(entry.packet, entry.hop);
      } else if (now.since(entry.since) >= static_cast<std::int32_t>(kPatience)) {
        drop(entry.packet);
      } else {
        keep(entry);
      }
    }
  }

  /// Whether packets wait for a hop.
  [[nodiscard]] bool holds(core::HopIndex hop) const noexcept { return waiting_for(hop) != 0; }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }

 private:
  struct Entry {
    Packet* packet = nullptr;
    core::HopIndex hop = core::kNoHop;
    Tick since;
  };
  void keep(const Entry& entry) noexcept {
    entries_[count_++] = entry;
    ++waiting_[entry.hop % waiting_.size()];
  }
  [[nodiscard]] std::size_t waiting_for(core::HopIndex hop) const noexcept {
    if (waiting_[hop % waiting_.size()] == 0) return 0;
    const auto end = entries_.begin() + static_cast<std::ptrdiff_t>(count_);
    return static_cast<std::size_t>(
        std::count_if(entries_.begin(), end, [&](const Entry& entry) { return entry.hop == hop; }));
  }

  std::array<Entry, kCapacity> entries_{};
  std::size_t count_ = 0;
  std::array<std::uint16_t, 256> waiting_{};  ///< by the hop's last bits, so that a look for none is short
};

}  // namespace headgate::shell
