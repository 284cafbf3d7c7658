// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/choice.h"

#include <algorithm>
#include <span>
#include <utility>

namespace headgate::core {
namespace {

Persistence::Key key_of(const Choosing& choosing, const Ip& client) noexcept {
  const Layout& layout = choosing.layout;
  const unsigned bits = client.is_v4() ? layout.persist_bits4 : layout.persist_bits6;
  return {.client = prefix_of(client, bits), .vip = choosing.service.vip};
}

/// The members with the administrator's number: one as a rule, several when a server has several ports.
std::span<const std::pair<std::uint32_t, std::uint16_t>> members_of(const Service& service,
                                                                    std::uint32_t number) noexcept {
  const auto& all = service.by_number;
  const auto first = std::lower_bound(all.begin(), all.end(), std::pair{number, std::uint16_t{0}});
  const auto last = std::upper_bound(first, all.end(), std::pair{number, std::uint16_t{0xffff}});
  return {first, last};
}

// The bound server as a member that may have its clients back; null when there is none.
const Member* home(const Choosing& choosing, std::uint32_t number) noexcept {
  const Service& service = choosing.service;
  for (const auto& entry : members_of(service, number)) {
    const Member& member = service.members[entry.second];
    if (choosing.shared.state(member.binding).opens_for_bound() &&
        round_of(service, choosing.selection, choosing.shared, entry.second) != forwarding::CLOSED)
      return &member;
  }
  return nullptr;
}

bool reserve(const Choosing& choosing, const Member& member) noexcept {
  return choosing.shared.tallies[member.real].reserve(member.maxcon);
}

// The client's server is `real` now, whoever made it so. `member`, which is reserved, gives way to it.
const Member* settle(const Choosing& choosing, const Member* member, std::uint32_t real) noexcept {
  if (real == member->number) return member;
  const Member* bound = home(choosing, real);
  if (bound == nullptr || !reserve(choosing, *bound)) return member;
  choosing.shared.give_back(member->real);
  return bound;
}

Persistence::Held hold(const Choosing& choosing, Persistence::Key& key) noexcept {
  Persistence& table = *choosing.shared.persistence;
  const Persistence::Held held = table.hold(key);
  if (held.use == 0 || !members_of(choosing.service, held.real).empty()) return held;
  table.leave(held.use);
  key.group = choosing.service.group;
  return table.hold(key);
}

}  // namespace

forwarding::Admission round_of(const Choosing& choosing, const Member& member) noexcept {
  if (!choosing.shared.state(member.binding).opens()) return forwarding::CLOSED;
  const auto position = static_cast<std::uint16_t>(&member - choosing.service.members.data());
  return round_of(choosing.service, choosing.selection, choosing.shared, position);
}

Chosen choose(const Choosing& choosing, const Asking& asking, Tick now) noexcept {
  const auto any = [&] { return pick(choosing.service, choosing.selection, choosing.shared, asking); };
  Persistence* table = choosing.shared.persistence;
  if (table == nullptr || choosing.service.persist_seconds == 0) return {any()};

  Persistence::Key key = key_of(choosing, asking.client);
  Persistence::Held held = hold(choosing, key);
  const Member* bound = held.use == 0 ? nullptr : home(choosing, held.real);
  if (bound != nullptr && reserve(choosing, *bound)) return {bound, held.use};
  const Member* member = any();
  if (member == nullptr) {
    let_go({nullptr, held.use}, choosing.service, choosing.shared, now);
    return {};
  }
  if (held.use == 0) {
    held = table->bind(key, member->number);
    if (held.use == 0) choosing.shared.totals.bound_refused.fetch_add(1, std::memory_order_relaxed);
    return {settle(choosing, member, held.real), held.use};
  }
  if (bound != nullptr) return {member, held.use};  // at its maxcon
  return {settle(choosing, member, table->rebind(held.use, held.real, member->number)), held.use};
}

void let_go(const Chosen& chosen, const Service& service, const Shared& shared, Tick now) noexcept {
  if (chosen.use != 0) shared.persistence->release(chosen.use, now, service.persist_seconds);
}

}  // namespace headgate::core
