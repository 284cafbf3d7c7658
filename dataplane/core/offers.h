// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "dataplane/core/selection.h"

// What building a selection (selection.cpp) and choosing from it (picking.cpp) have in common.
namespace headgate::core {

/// What a place offers at a moment.
struct Offer {
  const Member* member = nullptr;  ///< null: nothing
  std::uint32_t sessions = 0;      ///< those that its metric counts
};

/// By weight, as turns compare it; Turns::kFull of nothing.
[[nodiscard]] inline std::uint64_t load_of(const Offer& offer, std::uint32_t weight) noexcept {
  return offer.member == nullptr ? Turns::kFull : (std::uint64_t{offer.sessions} << 24) / weight;
}

/// What the places of a service offer in one round, by the states and counts as they are now. Whoever has an
/// earlier round than this one is offered too: it may have come to that just now.
struct Offers {
  const Service& service;
  const Shared& shared;
  forwarding::Admission turn = forwarding::OPEN;  ///< whose round it is: of those that are OPEN, or LAST

  /// Whether the metric goes by numbers of sessions.
  [[nodiscard]] bool counts() const noexcept {
    return service.metric == forwarding::LEASTCONNS || service.metric == forwarding::SVCLEAST;
  }
  [[nodiscard]] const std::atomic<std::uint32_t>& sessions(const Member& member) const noexcept {
    if (service.metric == forwarding::SVCLEAST) return shared.current[member.binding];
    return shared.tallies[member.real].current;
  }
  [[nodiscard]] Offer by(const Member& member) const noexcept {
    return {&member, counts() ? sessions(member).load(std::memory_order_relaxed) : 0};
  }
  [[nodiscard]] bool has_room(const Member& member) const noexcept {
    return member.maxcon == 0 ||
           shared.tallies[member.real].current.load(std::memory_order_relaxed) < member.maxcon;
  }
  [[nodiscard]] BindingState state(std::uint16_t member) const noexcept {
    return shared.state(service.members[member].binding);
  }
  /// The round in which a backup may stand in for a member in this state: not before that one's own. CLOSED:
  /// in none.
  [[nodiscard]] forwarding::Admission round_of(BindingState own, std::uint16_t backup) const noexcept {
    const BindingState other = state(backup);
    if (!other.opens()) return forwarding::CLOSED;
    return own.opens() ? std::max(own.admission, other.admission) : other.admission;
  }
  /// Whether it has come, for whoever has this one.
  [[nodiscard]] bool has_come(forwarding::Admission round) const noexcept {
    return round >= forwarding::OPEN && round <= turn;
  }
  /// Of those who stand in for a place, whose own member is in this state.
  [[nodiscard]] Offer stand_in(const Place& place, BindingState own) const noexcept;
  /// Of its own member, or of a stand-in where that is needed.
  [[nodiscard]] Offer of(const Place& place) const noexcept;
  /// Whether a member is one of those who take a place's sessions in its stead, in whatever round.
  [[nodiscard]] bool stands_in(const Place& place, std::uint16_t member) const noexcept;
  /// The round in which a place hands its sessions to a member, itself or in its stead; CLOSED: in none.
  [[nodiscard]] forwarding::Admission round_of(const Place& place, std::uint16_t member) const noexcept;
  /// What a worker remembers of an offer: by_another() unless the place's own member makes it.
  [[nodiscard]] Selection::View::Seen seen(const Place& place, const Offer& offer) const noexcept {
    if (offer.member != &service.members[place.member]) return {};
    return {counts() ? &sessions(*offer.member) : &Selection::View::kAlike, offer.sessions};
  }
};

}  // namespace headgate::core
