// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/hops.h"

namespace headgate::core {
namespace {

constexpr std::uint64_t kClaimed = std::uint64_t{1} << 63;

constexpr std::uint64_t key_of(PortIndex port, Ipv4 address) {
  return kClaimed | std::uint64_t{port} << 32 | address.value;
}

constexpr std::size_t start_of(std::uint64_t key) {
  return (key * 0x9e3779b97f4a7c15u) >> 40 & (Hops::kSlots - 1);
}

constexpr PortIndex port_of(std::uint64_t key) {
  return static_cast<PortIndex>(key >> 32);
}

}  // namespace

Hops::Hops() : slots_(std::make_unique<Slot[]>(kSlots)) {}

// Slots are probed linearly. A freed slot keeps its key until another neighbour takes the place, so that a
// chain never breaks; what counts as free is a slot whose key is zero.
std::optional<HopIndex> Hops::find(std::uint64_t key) const noexcept {
  for (std::size_t probe = 0; probe < kSlots; ++probe) {
    const std::size_t index = (start_of(key) + probe) & (kSlots - 1);
    const std::uint64_t found = slots_[index].key.load(std::memory_order_acquire);
    if (found == key) return static_cast<HopIndex>(index);
    if (found == 0) return std::nullopt;
  }
  return std::nullopt;
}

HopIndex Hops::find_or_claim(PortIndex port, Ipv4 address, Tick now) noexcept {
  const std::uint64_t key = key_of(port, address);
  const HopIndex index = find(key).value_or(kNoHop);
  const HopIndex claimed = index != kNoHop ? index : claim(key);
  if (claimed != kNoHop) mark_used(slots_[claimed], now);
  return claimed;
}

// The value of a free slot says "unresolved" already: claiming stores nothing that could undo a resolution
// that comes at the same moment.
HopIndex Hops::claim(std::uint64_t key) noexcept {
  if (claimed_.fetch_add(1, std::memory_order_relaxed) >= kMostUsed) {
    claimed_.fetch_sub(1, std::memory_order_relaxed);
    return kNoHop;
  }
  for (std::size_t index = start_of(key);; index = (index + 1) & (kSlots - 1)) {
    std::uint64_t expected = 0;
    Slot& slot = slots_[index];
    if (slot.key.compare_exchange_strong(expected, key, std::memory_order_acq_rel)) {
      return static_cast<HopIndex>(index);
    }
    if (expected != key) continue;
    claimed_.fetch_sub(1, std::memory_order_relaxed);  // another worker claimed it meanwhile
    return static_cast<HopIndex>(index);
  }
}

void Hops::resolve(PortIndex port, Ipv4 address, const Mac& mac) noexcept {
  const std::uint64_t key = key_of(port, address);
  const auto known = find(key);
  const HopIndex index = known ? *known : claim(key);
  if (index != kNoHop) slots_[index].value.store(MacWord(mac).value | kResolved, std::memory_order_release);
}

void Hops::forget(PortIndex port, Ipv4 address) noexcept {
  const auto index = find(key_of(port, address));
  if (index) slots_[*index].value.store(0, std::memory_order_release);
}

std::optional<Hops::Neighbour> Hops::neighbour(HopIndex index) const noexcept {
  const Slot& slot = slots_[index];
  const std::uint64_t key = slot.key.load(std::memory_order_acquire);
  if (key == 0) return std::nullopt;
  return Neighbour{.port = port_of(key),
                   .address = {static_cast<std::uint32_t>(key)},
                   .resolved = (slot.value.load(std::memory_order_acquire) & kResolved) != 0,
                   .used = {slot.used.load(std::memory_order_relaxed)}};
}

// Only a slot at the end of its chain may be emptied without breaking the chain: going backwards over the
// table empties whole runs from their ends.
std::size_t Hops::reclaim(Tick before) noexcept {
  std::size_t freed = 0;
  for (std::size_t index = kSlots; index-- > 0;) {
    Slot& slot = slots_[index];
    const auto known = neighbour(static_cast<HopIndex>(index));
    if (!known || known->resolved || known->used.since(before) >= 0) continue;
    if (slots_[(index + 1) & (kSlots - 1)].key.load(std::memory_order_acquire) != 0) continue;
    slot.key.store(0, std::memory_order_release);
    claimed_.fetch_sub(1, std::memory_order_relaxed);
    ++freed;
  }
  return freed;
}

}  // namespace headgate::core
