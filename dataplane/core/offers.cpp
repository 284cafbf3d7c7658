// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/offers.h"

#include <algorithm>

namespace headgate::core {

// The least loaded by weight of those that have room, whatever the metric: there is one as a rule.
Offer Offers::stand_in(const Place& place, BindingState own) const noexcept {
  const Member* best = nullptr;
  std::uint64_t least = 0;
  for (const std::uint16_t backup : place.backups) {
    const Member& member = service.members[backup];
    if (!has_come(round_of(own, backup)) || !has_room(member)) continue;
    const std::uint64_t load = sessions(member).load(std::memory_order_relaxed);
    if (best != nullptr && load * best->weight >= least * member.weight) continue;
    best = &member;
    least = load;
  }
  return best == nullptr ? Offer{} : by(*best);
}

Offer Offers::of(const Place& place) const noexcept {
  const Member& own = service.members[place.member];
  const BindingState now = shared.state(own.binding);
  if (now.opens()) {
    if (has_room(own)) return has_come(now.admission) ? by(own) : Offer{};
    if (!place.overflow) return {};
  }
  return stand_in(place, now);
}

bool Offers::stands_in(const Place& place, std::uint16_t member) const noexcept {
  const Member& own = service.members[place.member];
  const bool needed = !shared.state(own.binding).opens() || (place.overflow && !has_room(own));
  return needed && std::ranges::find(place.backups, member) != place.backups.end();
}

forwarding::Admission Offers::round_of(const Place& place, std::uint16_t member) const noexcept {
  if (member != place.member && !stands_in(place, member)) return forwarding::CLOSED;
  const auto is_last = [&](std::uint16_t of) { return state(of).admission == forwarding::LAST; };
  return is_last(member) || is_last(place.member) ? forwarding::LAST : forwarding::OPEN;
}

}  // namespace headgate::core
