// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "dataplane/core/burst.h"
#include "dataplane/core/ethernet.h"
#include "model/ip.h"
#include "model/tick.h"

namespace headgate::core {

/// The neighbours that packets are sent to, shared by all workers and the control thread. Finding one takes
/// no lock; claims of new ones take turns, a few stores each.
///
/// A worker claims a slot for an address that it has to reach; the control thread, told by the shell, fills
/// in the Ethernet address or takes it away. What a packet needs is one 64-bit word, so that a reader sees a
/// whole neighbour or none. Bounded: a flood of addresses fills the table, not the memory.
class Hops {
 public:
  static constexpr std::size_t kSlots = 16384;     ///< a power of two, below kNoHop
  static constexpr std::size_t kMostUsed = 12288;  ///< claims beyond are refused

  struct Hop {
    MacWord mac;
    PortIndex port = 0;
    bool resolved = false;
  };

  Hops();

  /// Worker: the slot of a neighbour on a port, claimed when it is new; kNoHop when the table is full, or
  /// when another thread kept its turn to claim for too long. `now` marks the slot as used, so that it is not
  /// reclaimed before its first packet.
  [[nodiscard]] HopIndex find_or_claim(PortIndex port, const Ip& address, Tick now) noexcept;
  /// Worker: whom to send to. `now` marks the slot as used.
  [[nodiscard]] Hop use(HopIndex index, Tick now) noexcept {
    Slot& slot = slots_[index];
    mark_used(slot, now);
    const std::uint64_t value = slot.value.load(std::memory_order_acquire);
    return {.mac = MacWord(value),
            .port = static_cast<PortIndex>(value >> kPortShift),
            .resolved = (value & kResolved) != 0};
  }

  /// Control: the neighbour is reachable at `mac`; claims the slot when there is none.
  void resolve(PortIndex port, const Ip& address, const Mac& mac) noexcept;
  /// Control: the neighbour is no longer known.
  void forget(PortIndex port, const Ip& address) noexcept;

  struct Neighbour {
    PortIndex port = 0;
    Ip address;
    bool resolved = false;
    Tick used;  ///< the last packet
  };
  /// Control: what a slot stands for; nothing for an unclaimed one.
  [[nodiscard]] std::optional<Neighbour> neighbour(HopIndex index) const noexcept;
  /// Control: frees the unresolved slots that were last used before `before`. Indices of freed slots may mean
  /// another neighbour afterwards: the caller must bump the routes' version first and free only after all
  /// workers have seen it.
  std::size_t reclaim(Tick before) noexcept;

 private:
  static constexpr std::uint64_t kResolved = std::uint64_t{1} << 63;
  static constexpr unsigned kPortShift = 48;

  /// A free slot has tag 0. One that is being filled or freed has kBusy set, and nobody finds it.
  struct alignas(64) Slot {
    std::atomic<std::uint64_t> tag{0};    ///< a hash of port and address, kClaimed, perhaps kBusy
    std::atomic<std::uint64_t> value{0};  ///< MacWord, port, and kResolved
    std::atomic<std::uint64_t> first{0};  ///< the address
    std::atomic<std::uint64_t> last{0};
    std::atomic<std::uint32_t> used{0};
  };
  struct Wanted;
  class Turn;

  [[nodiscard]] HopIndex find(const Wanted& wanted) const noexcept;
  /// Within a turn.
  [[nodiscard]] HopIndex claim(const Wanted& wanted, Tick now) noexcept;
  bool free_slot(std::size_t index, Tick before) noexcept;
  static void mark_used(Slot& slot, Tick now) noexcept {
    if (slot.used.load(std::memory_order_relaxed) != now.value)
      slot.used.store(now.value, std::memory_order_relaxed);
  }

  std::unique_ptr<Slot[]> slots_;
  std::atomic<bool> claiming_{false};  ///< somebody's turn
  std::uint32_t claimed_ = 0;          ///< within a turn
};

}  // namespace headgate::core
