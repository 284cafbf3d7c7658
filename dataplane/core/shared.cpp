// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/shared.h"

#include <cassert>
#include <cstring>
#include <new>
#include <utility>

#include "dataplane/core/checksum.h"

namespace headgate::core {
namespace {

constexpr std::uint32_t word(BindingState state) {
  return (state.persistent ? 1u << 24 : 0u) | static_cast<std::uint32_t>(state.admission) << 16 | state.epoch;
}

std::byte* zeroed(std::size_t bytes) {
  void* memory = ::operator new (bytes, std::align_val_t{alignof(Shared::Binding)});
  std::memset(memory, 0, bytes);
  return static_cast<std::byte*>(memory);
}

}  // namespace

void Shared::Binding::assign(const Ip& vip, L4Port vport, const Ip& rip, L4Port rport) noexcept {
  // Within one family only the addresses' own bits differ.
  const auto address_sum = [](const Ip& address) {
    return sum_of(address.octets.data(), address.octets.size());
  };
  const auto port_sum = [](L4Port number) { return __builtin_bswap16(number); };
  const std::uint16_t to_real = delta(address_sum(vip), address_sum(rip));
  const std::uint16_t with_port = add(to_real, delta(port_sum(vport), port_sum(rport)));
  const auto set = [](End& at, const Ip& address, L4Port port, std::uint16_t ip_delta,
                      std::uint16_t l4_delta) {
    at.address = address;
    at.port = port;
    at.ip_delta = ip_delta;
    at.l4_delta = l4_delta;
  };
  set(end[Side::client], vip, vport, add(to_real, kTtlDelta), with_port);
  set(end[Side::real], rip, rport, add(opposite(to_real), kTtlDelta), opposite(with_port));
}

bool Tally::reserve(std::uint32_t limit) noexcept {
  if (limit == 0) {
    current.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  std::uint32_t now = current.load(std::memory_order_relaxed);
  while (now < limit) {
    if (current.compare_exchange_weak(now, now + 1, std::memory_order_relaxed)) return true;
  }
  return false;
}

// ---- Memory

void Shared::Free::operator()(std::byte* memory) const noexcept {
  ::operator delete (memory, std::align_val_t{alignof(Binding)});
}

Shared::Shared() : Shared(std::unique_ptr<std::byte, Free>(zeroed(kBytes))) {}

Shared::Shared(std::unique_ptr<std::byte, Free> own) : Shared(std::span(own.get(), kBytes)) {
  own_ = std::move(own);
}

Shared::Shared(std::span<std::byte> memory)
    : bindings(reinterpret_cast<Binding*>(memory.data()), kMaxBindings + 1),
      tallies(reinterpret_cast<Tally*>(memory.data() + kTalliesAt), kMaxTallies),
      groups(reinterpret_cast<std::atomic<TallySlot>*>(memory.data() + kGroupsAt), kMaxBindings + 1),
      totals(*reinterpret_cast<Totals*>(memory.data() + kTotalsAt)),
      current(kMaxBindings),
      persist_seconds(kMaxBindings),
      overflows(kMaxBindings),
      closings(kClosings) {
  assert(memory.size() >= kBytes);
  for (Tally& tally : tallies) {
    if (tally.current.load(std::memory_order_relaxed) != 0) tally.current.store(0, std::memory_order_relaxed);
  }
}

void Shared::admit(BindingSlot slot, forwarding::Admission admission, bool persistent) noexcept {
  BindingState next = state(slot);
  const bool closes = next.admission != forwarding::CLOSED && admission == forwarding::CLOSED;
  next.admission = admission;
  next.persistent = persistent && admission == forwarding::DRAINING;
  if (closes) ++next.epoch;
  bindings[slot].state().store(word(next), std::memory_order_release);
  if (!closes) return;
  const std::uint64_t head = closings_head.load(std::memory_order_relaxed);
  closings[head % kClosings].store(slot, std::memory_order_relaxed);
  closings_head.store(head + 1, std::memory_order_release);
}

void Shared::note_overflow(BindingSlot slot, std::uint8_t kind, bool overflowed) noexcept {
  std::atomic<std::uint8_t>& known = overflows[slot];
  if (((known.load(std::memory_order_relaxed) & kind) != 0) == overflowed) return;
  if (!overflowed) {
    known.fetch_and(static_cast<std::uint8_t>(~kind), std::memory_order_relaxed);
  } else if ((known.fetch_or(kind, std::memory_order_relaxed) & kind) == 0) {
    totals.overflow_activations.fetch_add(1, std::memory_order_relaxed);
  }
}

void Shared::set_port(PortIndex port, const Mac& mac, std::uint16_t mtu) noexcept {
  ports[port].mac.store(MacWord(mac).value, std::memory_order_relaxed);
  ports[port].longest.store(std::uint32_t{mtu} + kEthernetHeader, std::memory_order_relaxed);
}

}  // namespace headgate::core
