// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/shared.h"

#include "dataplane/core/checksum.h"

namespace headgate::core {
namespace {

constexpr std::uint32_t word(BindingState state) {
  return static_cast<std::uint32_t>(state.admission) << 16 | state.epoch;
}

}  // namespace

void Shared::Binding::assign(const Ip& new_vip, L4Port new_vport, const Ip& new_rip,
                             L4Port new_rport) noexcept {
  vip = new_vip;
  vport = new_vport;
  rip = new_rip;
  rport = new_rport;
  // Within one family only the addresses' own bits differ.
  const auto address_sum = [](const Ip& address) {
    return sum_of(address.octets.data(), address.octets.size());
  };
  const auto port_sum = [](L4Port port) { return __builtin_bswap16(port); };
  address_delta = delta(address_sum(vip), address_sum(rip));
  l4_delta = add(address_delta, delta(port_sum(vport), port_sum(rport)));
}

void Tally::open() noexcept {
  total.fetch_add(1, std::memory_order_relaxed);
  const std::uint32_t now = current.fetch_add(1, std::memory_order_relaxed) + 1;
  std::uint32_t most = highest.load(std::memory_order_relaxed);
  while (now > most && !highest.compare_exchange_weak(most, now, std::memory_order_relaxed)) {
  }
}

Shared::Shared() : bindings(kMaxBindings + 1), tallies(kMaxTallies), closings(kClosings) {}

void Shared::admit(BindingSlot slot, forwarding::Admission admission) noexcept {
  BindingState next = state(slot);
  const bool closes = next.admission != forwarding::CLOSED && admission == forwarding::CLOSED;
  next.admission = admission;
  if (closes) ++next.epoch;
  bindings[slot].state.store(word(next), std::memory_order_release);
  if (!closes) return;
  const std::uint64_t head = closings_head.load(std::memory_order_relaxed);
  closings[head % kClosings].store(slot, std::memory_order_relaxed);
  closings_head.store(head + 1, std::memory_order_release);
}

void Shared::set_port(PortIndex port, const Mac& mac, std::uint16_t mtu) noexcept {
  ports[port].mac.store(MacWord(mac).value, std::memory_order_relaxed);
  ports[port].mtu.store(mtu, std::memory_order_relaxed);
}

}  // namespace headgate::core
