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

/// The neighbours that packets are sent to, shared by all workers and the control thread without locks.
///
/// A worker claims a slot for an address that it has to reach; the control thread, told by the shell, fills
/// in the Ethernet address or takes it away. A slot is one 64-bit word, so that a reader sees a whole
/// neighbour or none. Bounded: a flood of addresses fills the table, not the memory.
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

  /// Worker: the slot of a neighbour on a port, claimed when it is new; kNoHop when the table is full. `now`
  /// marks the slot as used, so that it is not reclaimed before its first packet.
  [[nodiscard]] HopIndex find_or_claim(PortIndex port, Ipv4 address, Tick now) noexcept;
  /// Worker: whom to send to. `now` marks the slot as used.
  [[nodiscard]] Hop use(HopIndex index, Tick now) noexcept {
    Slot& slot = slots_[index];
    mark_used(slot, now);
    const std::uint64_t value = slot.value.load(std::memory_order_acquire);
    const std::uint64_t key = slot.key.load(std::memory_order_relaxed);
    return {.mac = MacWord(value),
            .port = static_cast<PortIndex>(key >> 32),
            .resolved = (value & kResolved) != 0};
  }

  /// Control: the neighbour is reachable at `mac`; claims the slot when there is none.
  void resolve(PortIndex port, Ipv4 address, const Mac& mac) noexcept;
  /// Control: the neighbour is no longer known.
  void forget(PortIndex port, Ipv4 address) noexcept;

  struct Neighbour {
    PortIndex port = 0;
    Ipv4 address;
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

  struct alignas(32) Slot {
    std::atomic<std::uint64_t> key{0};    ///< port and address, plus one bit that says "claimed"
    std::atomic<std::uint64_t> value{0};  ///< MacWord, and kResolved
    std::atomic<std::uint32_t> used{0};
  };
  std::unique_ptr<Slot[]> slots_;
  std::atomic<std::uint32_t> claimed_{0};

  [[nodiscard]] std::optional<HopIndex> find(std::uint64_t key) const noexcept;
  [[nodiscard]] HopIndex claim(std::uint64_t key) noexcept;
  static void mark_used(Slot& slot, Tick now) noexcept {
    if (slot.used.load(std::memory_order_relaxed) != now.value)
      slot.used.store(now.value, std::memory_order_relaxed);
  }
};

}  // namespace headgate::core
