// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/hops.h"

#include <emmintrin.h>

#include "dataplane/core/flow_key.h"

namespace headgate::core {
namespace {

constexpr std::uint64_t kClaimed = std::uint64_t{1} << 63;
constexpr std::uint64_t kBusy = std::uint64_t{1} << 62;

}  // namespace

struct Hops::Wanted {
  std::uint64_t tag;
  IpWords address;
  PortIndex port;

  Wanted(PortIndex on, const Ip& ip) noexcept : address(words(ip)), port(on) {
    const std::uint64_t hash =
        mix(mix(address.first ^ hashing::kA, address.last ^ hashing::kB) ^ port, hashing::kC);
    tag = kClaimed | (hash & (kBusy - 1));
  }
  [[nodiscard]] std::size_t start() const noexcept { return tag >> 20 & (kSlots - 1); }
};

/// The right to claim and free slots, for as long as it lives. A worker gives up when it does not come soon:
/// its owner may have lost its core.
class Hops::Turn {
 public:
  enum class Patience { little, endless };
  Turn(std::atomic<bool>& claiming, Patience patience) noexcept : claiming_(claiming) {
    constexpr int kTries = 4096;
    for (int tries = 0; patience == Patience::endless || tries < kTries; ++tries) {
      mine_ = !claiming_.exchange(true, std::memory_order_acquire);
      if (mine_) return;
      _mm_pause();
    }
  }
  ~Turn() {
    if (mine_) claiming_.store(false, std::memory_order_release);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  [[nodiscard]] bool mine() const noexcept { return mine_; }

 private:
  std::atomic<bool>& claiming_;
  bool mine_ = false;
};

Hops::Hops() : slots_(std::make_unique<Slot[]>(kSlots)) {}

// Slots are probed linearly.
HopIndex Hops::find(const Wanted& wanted) const noexcept {
  for (std::size_t probe = 0; probe < kSlots; ++probe) {
    const std::size_t index = (wanted.start() + probe) & (kSlots - 1);
    const Slot& slot = slots_[index];
    const std::uint64_t tag = slot.tag.load(std::memory_order_acquire);
    if (tag == 0) return kNoHop;
    if (tag != wanted.tag) continue;
    const IpWords address{slot.first.load(std::memory_order_relaxed),
                          slot.last.load(std::memory_order_relaxed)};
    const auto port = static_cast<PortIndex>(slot.value.load(std::memory_order_relaxed) >> kPortShift);
    if (address == wanted.address && port == wanted.port) return static_cast<HopIndex>(index);
  }
  return kNoHop;
}

// A slot that is found may be freed at the same moment: whoever frees says so first and then looks whether it
// is used; whoever finds says that it is used and then looks whether it still stands.
HopIndex Hops::find_or_claim(PortIndex port, const Ip& address, Tick now) noexcept {
  const Wanted wanted(port, address);
  const HopIndex known = find(wanted);
  if (known != kNoHop) {
    mark_used(slots_[known], now);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (slots_[known].tag.load(std::memory_order_relaxed) == wanted.tag) return known;
  }
  const Turn turn(claiming_, Turn::Patience::little);
  return turn.mine() ? claim(wanted, now) : kNoHop;
}

HopIndex Hops::claim(const Wanted& wanted, Tick now) noexcept {
  const HopIndex known = find(wanted);
  if (known != kNoHop) {
    mark_used(slots_[known], now);
    return known;
  }
  if (claimed_ >= kMostUsed) return kNoHop;
  std::size_t index = wanted.start();
  while (slots_[index].tag.load(std::memory_order_relaxed) != 0) index = (index + 1) & (kSlots - 1);
  ++claimed_;
  Slot& slot = slots_[index];
  slot.value.store(std::uint64_t{wanted.port} << kPortShift, std::memory_order_relaxed);
  slot.first.store(wanted.address.first, std::memory_order_relaxed);
  slot.last.store(wanted.address.last, std::memory_order_relaxed);
  slot.used.store(now.value, std::memory_order_relaxed);
  slot.tag.store(wanted.tag, std::memory_order_release);
  return static_cast<HopIndex>(index);
}

void Hops::resolve(PortIndex port, const Ip& address, const Mac& mac) noexcept {
  const Wanted wanted(port, address);
  const Turn turn(claiming_, Turn::Patience::endless);
  const HopIndex known = find(wanted);  // that it is resolved does not make it used, nor unused
  const HopIndex index = known != kNoHop ? known : claim(wanted, {});
  if (index == kNoHop) return;
  const std::uint64_t value = MacWord(mac).value | std::uint64_t{port} << kPortShift | kResolved;
  slots_[index].value.store(value, std::memory_order_release);
}

void Hops::forget(PortIndex port, const Ip& address) noexcept {
  const Turn turn(claiming_, Turn::Patience::endless);
  const HopIndex index = find(Wanted(port, address));
  if (index != kNoHop)
    slots_[index].value.store(std::uint64_t{port} << kPortShift, std::memory_order_release);
}

std::optional<Hops::Neighbour> Hops::neighbour(HopIndex index) const noexcept {
  const Slot& slot = slots_[index];
  if (slot.tag.load(std::memory_order_acquire) == 0) return std::nullopt;
  const std::uint64_t value = slot.value.load(std::memory_order_acquire);
  const IpWords address{slot.first.load(std::memory_order_relaxed),
                        slot.last.load(std::memory_order_relaxed)};
  Neighbour known{.port = static_cast<PortIndex>(value >> kPortShift),
                  .resolved = (value & kResolved) != 0,
                  .used = {slot.used.load(std::memory_order_relaxed)}};
  std::memcpy(known.address.octets.data(), &address, sizeof address);
  return known;
}

// Only a slot at the end of its chain may be emptied without breaking the chain: going backwards over the
// table empties whole runs from their ends. A turn a slot, so that no worker waits for the whole table.
std::size_t Hops::reclaim(Tick before) noexcept {
  std::size_t freed = 0;
  for (std::size_t index = kSlots; index-- > 0;) {
    const auto known = neighbour(static_cast<HopIndex>(index));
    if (!known || known->resolved || known->used.since(before) >= 0) continue;
    const Turn turn(claiming_, Turn::Patience::endless);
    if (free_slot(index, before)) ++freed;
  }
  return freed;
}

bool Hops::free_slot(std::size_t index, Tick before) noexcept {
  Slot& slot = slots_[index];
  if (slots_[(index + 1) & (kSlots - 1)].tag.load(std::memory_order_relaxed) != 0) return false;
  const std::uint64_t tag = slot.tag.load(std::memory_order_relaxed);
  slot.tag.store(tag | kBusy, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const bool idle = Tick{slot.used.load(std::memory_order_relaxed)}.since(before) < 0;
  slot.tag.store(idle ? 0 : tag, std::memory_order_release);
  if (idle) --claimed_;
  return idle;
}

}  // namespace headgate::core
