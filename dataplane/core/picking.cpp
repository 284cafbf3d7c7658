// SPDX-License-Identifier: Apache-2.0
// Choosing the server of a new session.
#include <algorithm>
#include <atomic>
#include <cassert>
#include <span>

#include "dataplane/core/offers.h"

namespace headgate::core {
namespace {

struct Picking : Offers {
  Shared& changed;  // the same, for reserving
  const Asking& asking;

  [[nodiscard]] const Member* take(const Place& place) const noexcept;
  [[nodiscard]] const Member* reserve(const Place& place, const Member& member) const noexcept;
  [[nodiscard]] std::uint64_t key() const noexcept;
  [[nodiscard]] const Member* pick(const std::vector<Place>& places,
                                   const Selection::Tier& tier) const noexcept;
};

// Reserves a session and keeps book of overflows. Null when another worker was faster.
const Member* Picking::reserve(const Place& place, const Member& member) const noexcept {
  if (!changed.tallies[member.real].reserve(member.maxcon)) return nullptr;
  if (place.overflow && !place.backups.empty()) {
    const Member& own = service.members[place.member];
    const bool overflows = &member != &own && shared.state(own.binding).opens();
    changed.note_overflow(own.binding, Shared::kServerOverflows, overflows);
  }
  return &member;
}

// A place that loses a race has one session less to give: it comes to an end.
const Member* Picking::take(const Place& place) const noexcept {
  for (Offer now = of(place); now.member != nullptr; now = of(place)) {
    if (const Member* member = reserve(place, *now.member); member != nullptr) return member;
  }
  return nullptr;
}

std::uint64_t Picking::key() const noexcept {
  const Ip client = service.hash_bits == 0 ? asking.client : prefix_of(asking.client, service.hash_bits);
  return stable_hash(client, service.hash_port ? asking.port : L4Port{0});
}

// ---- Metrics by turns

/// Turns of one worker in one tier.
struct ByTurns {
  const Picking& picking;
  const std::vector<Place>& places;
  const Selection::Tier& tier;
  Selection::View& view;

  Offer look(std::size_t seat) noexcept;
  void look_again(std::size_t count) noexcept;
  const Member* take(std::size_t seat, const Offer& offer) noexcept;
  const Member* first_that_takes() noexcept;
  const Member* pick() noexcept;
};

// Learns what a seat offers now.
Offer ByTurns::look(std::size_t seat) noexcept {
  const Place& place = places[tier.open[seat]];
  const Offer offer = picking.of(place);
  const std::uint64_t load = load_of(offer, tier.weights[seat]);
  if (load != view.turns.load(seat)) view.turns.set_load(seat, load);
  Selection::View::Seen& seen = view.seen[seat];
  view.others -= seen.by_another() ? 1 : 0;
  seen = picking.seen(place, offer);
  view.others += seen.by_another() ? 1 : 0;
  return offer;
}

// Looks at the next few again, so that what other workers opened and what ended is known before long.
void ByTurns::look_again(std::size_t count) noexcept {
  if (!picking.counts() && view.others == 0) return;
  const std::span seen(view.seen);
  const auto look_from = [&](std::size_t first, std::size_t most) {
    const std::size_t end = std::min(first + most, seen.size());
    for (std::size_t seat = first; seat < end; ++seat) {
      if (seen[seat].stale()) look(seat);
    }
    return end;
  };
  const std::size_t before = view.look_at;
  count = std::min(count, seen.size());
  view.look_at = look_from(before, count);
  if (view.look_at == seen.size()) view.look_at = look_from(0, count - (seen.size() - before));
}

const Member* ByTurns::take(std::size_t seat, const Offer& offer) noexcept {
  const Place& place = places[tier.open[seat]];
  const Member* member = picking.reserve(place, *offer.member);
  if (member == nullptr) return nullptr;
  const Offer after{member, offer.sessions + (picking.counts() ? 1 : 0)};
  view.turns.take(seat, load_of(after, tier.weights[seat]));
  view.seen[seat].count = after.sessions;
  std::atomic_ref(view.last).store(tier.open[seat], std::memory_order_relaxed);
  return member;
}

// The first seat may have more sessions than was known; then another is first. After a few such corrections
// the least loaded of those that were looked at is good enough, or many workers that choose at the same
// moment would spend their time on looking.
const Member* ByTurns::first_that_takes() noexcept {
  constexpr unsigned kMostCorrections = 4;
  unsigned corrections = 0;
  std::size_t best = 0;
  while (view.turns.load(view.turns.first()) != Turns::kFull) {
    std::size_t seat = view.turns.first();
    const std::uint64_t expected = view.turns.load(seat);
    Offer offer = look(seat);
    const std::uint64_t load = view.turns.load(seat);
    if (load == Turns::kFull) continue;
    if (corrections == 0 || load < view.turns.load(best)) best = seat;
    if (load > expected && corrections++ < kMostCorrections) continue;
    if (best != seat) offer = look(seat = best);
    if (offer.member == nullptr) continue;
    if (const Member* member = take(seat, offer); member != nullptr) return member;
    look(seat);
    corrections = 0;
  }
  return nullptr;
}

const Member* ByTurns::pick() noexcept {
  if (view.seen.empty()) return nullptr;
  look_again(kLooks);
  if (const Member* member = first_that_takes(); member != nullptr) return member;
  look_again(view.seen.size());  // before it says no, each was looked at
  return first_that_takes();
}

// ---- Metrics by hash

// The first place from `start` on, in the order of the open ones, that takes the session.
const Member* from(const Picking& picking, const std::vector<Place>& places,
                   const std::vector<std::uint16_t>& open, std::uint64_t start) noexcept {
  for (std::size_t tries = 0; tries < open.size(); ++tries) {
    const Member* member = picking.take(places[open[(start + tries) % open.size()]]);
    if (member != nullptr) return member;
  }
  return nullptr;
}

std::uint64_t again(std::uint64_t key, std::uint64_t time) noexcept {
  return mix(key ^ (time * 0x9e3779b97f4a7c15u), 0xd6e8feb86659fd93u);
}

// A client whose server takes no session is hashed again, over the same table, until it finds one that does:
// whoever has a server that does stays there, and when a server comes back, so do its own clients and no
// others. Where hardly any server is open, the highest random weight of those decides, with the same effect.
const Member* by_table(const Picking& picking, const std::vector<Place>& places, const Selection::Tier& tier,
                       std::uint64_t key) noexcept {
  constexpr unsigned kTries = 64;
  for (unsigned time = 0; time < kTries; ++time) {
    const Member* member = picking.take(places[tier.table->at(again(key, time))]);
    if (member != nullptr) return member;
  }
  const auto score = [&](std::uint16_t place) {
    return mix(key ^ tier.table->identities()[place], 0x9e3779b97f4a7c15u);
  };
  const auto best = std::ranges::max_element(tier.open, {}, score);
  return from(picking, places, tier.open, static_cast<std::uint64_t>(best - tier.open.begin()));
}

const Member* Picking::pick(const std::vector<Place>& places, const Selection::Tier& tier) const noexcept {
  if (tier.open.empty()) return nullptr;
  switch (service.metric) {
    case forwarding::HASH:
      return from(*this, places, tier.open, key());
    case forwarding::PHASH: {
      const Member* member = take(places[key() % places.size()]);
      return member != nullptr ? member : from(*this, places, tier.open, again(key(), 1));
    }
    case forwarding::MINMISSES:
      return by_table(*this, places, tier, key());
    default:
      return ByTurns{*this, places, tier, tier.views[asking.worker]}.pick();
  }
}

}  // namespace

const Member* pick(const Service& service, const Selection& selection, Shared& shared,
                   const Asking& asking) noexcept {
  assert(selection.tiers.empty() || selection.tiers[0].views.empty() ||
         asking.worker < selection.tiers[0].views.size());
  const Picking picking{{service, shared}, shared, asking};
  const Picking last{{service, shared, forwarding::LAST}, shared, asking};
  for (std::size_t tier = 0; tier < selection.tiers.size(); ++tier) {
    const Member* member = picking.pick(service.tiers[tier], selection.tiers[tier]);
    if (member == nullptr) member = last.pick(service.tiers[tier], selection.last_round(tier));
    if (member == nullptr) continue;
    if (selection.tiers.size() > 1 && !service.tiers[1].empty()) {
      const BindingSlot first = service.members[service.tiers[1].front().member].binding;
      shared.note_overflow(first, Shared::kGroupOverflows, tier > selection.in_charge());
    }
    return member;
  }
  return nullptr;
}

forwarding::Admission round_of(const Service& service, const Selection& selection, const Shared& shared,
                               std::uint16_t member) noexcept {
  if (service.tiers.empty()) return forwarding::CLOSED;
  const Offers open{service, shared};
  const Offers last{service, shared, forwarding::LAST};
  const bool in_group = member < service.tiers[0].size() && service.tiers[0][member].member == member;
  if (in_group && !selection.group_closed) return open.round_of(service.tiers[0][member], member);
  for (std::size_t tier = 0; tier < service.tiers.size(); ++tier) {
    if (!selection.has_open(tier)) continue;
    auto round = forwarding::CLOSED;
    bool takes = false;
    for (const Place& place : service.tiers[tier]) {
      const forwarding::Admission here = open.round_of(place, member);
      if (round != forwarding::OPEN && here != forwarding::CLOSED) round = here;
      takes = takes || open.of(place).member != nullptr || last.of(place).member != nullptr;
    }
    if (round != forwarding::CLOSED || takes) return round;  // it is in charge
  }
  return forwarding::CLOSED;
}

}  // namespace headgate::core
