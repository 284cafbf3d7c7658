// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/selection.h"

#include <algorithm>
#include <cassert>
#include <optional>

namespace headgate::core {
namespace {

bool by_turns(forwarding::Metric metric) noexcept {
  return metric != forwarding::HASH && metric != forwarding::PHASH && metric != forwarding::MINMISSES;
}

bool opens(const Service& service, const Shared& shared, std::uint16_t member) noexcept {
  return shared.state(service.members[member].binding).opens();
}

// Who would take the turn of a place by the states alone, whatever the limits.
std::optional<std::uint16_t> holder(const Service& service, const Shared& shared, const Place& place) {
  if (opens(service, shared, place.member)) return place.member;
  for (const std::uint16_t backup : place.backups)
    if (opens(service, shared, backup)) return backup;
  return std::nullopt;
}

// Whether a place has nobody but its taker to offer, whatever becomes of limits.
bool offers_one(const Service& service, const Shared& shared, const Place& place) {
  const bool open = opens(service, shared, place.member);
  const auto stand_ins = std::ranges::count_if(
      place.backups, [&](std::uint16_t backup) { return opens(service, shared, backup); });
  return open ? !place.overflow || stand_ins == 0 : stand_ins == 1;
}

std::uint64_t identity(const Member& member) {
  return stable_hash(member.rip, member.rport);
}

std::shared_ptr<const Maglev> table_of(const Service& service, std::size_t tier, const Selection* before) {
  if (service.metric != forwarding::MINMISSES || service.tiers[tier].empty()) return nullptr;
  std::vector<std::uint64_t> identities;
  for (const Place& place : service.tiers[tier])
    identities.push_back(identity(service.members[place.member]));
  const bool known = before != nullptr && tier < before->tiers.size() &&
                     before->tiers[tier].table != nullptr &&
                     before->tiers[tier].table->identities() == identities;
  return known ? before->tiers[tier].table : std::make_shared<const Maglev>(std::move(identities));
}

std::uint32_t fine_weight(const Service& service, const SelectionTerms& terms, std::uint16_t member) {
  return terms.weights.empty() ? service.members[member].weight * kWeightUnit : terms.weights[member];
}

// Fills in the open places. One server that alone can take the turns of several places takes them as one,
// with the sum of their weights: by leastconns it would have the share of a single one otherwise.
void open_places(const Service& service, const Shared& shared, const SelectionTerms& terms,
                 std::size_t number, Selection::Tier& tier) {
  const std::vector<Place>& places = service.tiers[number];
  constexpr std::size_t kNone = ~std::size_t{0};
  std::vector<std::size_t> seats(by_turns(service.metric) ? service.members.size() : 0, kNone);  // by member
  for (std::size_t p = 0; p < places.size(); ++p) {
    const auto taker = holder(service, shared, places[p]);
    if (!taker) continue;
    const std::uint32_t weight = fine_weight(service, terms, places[p].member);
    const bool alone = !seats.empty() && offers_one(service, shared, places[p]);
    if (alone && seats[*taker] != kNone) {
      tier.weights[seats[*taker]] += weight;
      continue;
    }
    if (alone) seats[*taker] = tier.open.size();
    tier.open.push_back(static_cast<std::uint16_t>(p));
    tier.weights.push_back(weight);
  }
}

// What a place offers at a moment.
struct Offer {
  const Member* member = nullptr;  // null: nothing
  std::uint32_t sessions = 0;      // those that its metric counts
};

std::uint64_t load_of(const Offer& offer, std::uint32_t weight) noexcept {
  return offer.member == nullptr ? Turns::kFull : (std::uint64_t{offer.sessions} << 24) / weight;
}

/// What the places of a service offer, by the states and counts as they are now.
struct Offers {
  const Service& service;
  const Shared& shared;

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
  [[nodiscard]] Offer stand_in(const Place& place) const noexcept;
  [[nodiscard]] Offer of(const Place& place) const noexcept;
  /// Whether a member is one of those who take a place's sessions in its stead.
  [[nodiscard]] bool stands_in(const Place& place, std::uint16_t member) const noexcept;
  [[nodiscard]] Selection::View::Seen seen(const Place& place, const Offer& offer) const noexcept {
    if (offer.member != &service.members[place.member]) return {};
    return {&sessions(*offer.member), offer.sessions};
  }
};

// The least loaded by weight of those that have room, whatever the metric: there is one as a rule.
Offer Offers::stand_in(const Place& place) const noexcept {
  const Member* best = nullptr;
  std::uint64_t least = 0;
  for (const std::uint16_t backup : place.backups) {
    const Member& member = service.members[backup];
    if (!shared.state(member.binding).opens() || !has_room(member)) continue;
    const std::uint64_t load = sessions(member).load(std::memory_order_relaxed);
    if (best != nullptr && load * best->weight >= least * member.weight) continue;
    best = &member;
    least = load;
  }
  return best == nullptr ? Offer{} : by(*best);
}

Offer Offers::of(const Place& place) const noexcept {
  const Member& own = service.members[place.member];
  if (shared.state(own.binding).opens()) {
    if (has_room(own)) return by(own);
    if (!place.overflow) return {};
  }
  return stand_in(place);
}

bool Offers::stands_in(const Place& place, std::uint16_t member) const noexcept {
  const Member& own = service.members[place.member];
  const bool needed = !shared.state(own.binding).opens() || (place.overflow && !has_room(own));
  return needed && std::ranges::find(place.backups, member) != place.backups.end();
}

// Workers begin apart, spread over all places, and each goes on after the place it was at.
std::size_t first_turn(const Selection::Tier& tier, unsigned worker, unsigned workers,
                       const Selection::Tier* before) {
  const std::size_t apart = std::size_t{worker} * tier.open.size() / workers;
  if (before == nullptr || worker >= before->views.size()) return apart;
  const std::uint32_t last = std::atomic_ref(before->views[worker].last).load(std::memory_order_relaxed);
  const auto next = std::ranges::upper_bound(tier.open, last);
  return last == Selection::kNoPlace ? apart : static_cast<std::size_t>(next - tier.open.begin());
}

// What every worker knows of the open places when it begins.
Selection::View first_view(const Offers& offers, const std::vector<Place>& places,
                           const Selection::Tier& tier, std::vector<std::uint64_t>& loads) {
  Selection::View view;
  for (std::size_t seat = 0; seat < tier.open.size(); ++seat) {
    const Place& place = places[tier.open[seat]];
    const Offer offer = offers.of(place);
    loads.push_back(load_of(offer, tier.weights[seat]));
    view.seen.push_back(offers.seen(place, offer));
    view.others += view.seen.back().sessions == nullptr ? 1 : 0;
  }
  return view;
}

Selection::Tier tier_of(const Service& service, const Shared& shared, const SelectionTerms& terms,
                        std::size_t number) {
  Selection::Tier tier{.table = table_of(service, number, terms.before)};
  if (number == 0 && terms.group_closed) return tier;
  open_places(service, shared, terms, number, tier);
  if (!by_turns(service.metric)) return tier;
  const bool known = terms.before != nullptr && number < terms.before->tiers.size();
  std::vector<std::uint64_t> loads;
  tier.views.assign(terms.workers, first_view({service, shared}, service.tiers[number], tier, loads));
  for (unsigned worker = 0; worker < terms.workers; ++worker) {
    const auto* before = known ? &terms.before->tiers[number] : nullptr;
    tier.views[worker].turns = Turns(tier.weights, loads, first_turn(tier, worker, terms.workers, before));
  }
  return tier;
}

std::vector<BindingSlot> members_stood_in_for(const Service& service, const Shared& shared) {
  std::vector<BindingSlot> closed;
  for (const auto& places : service.tiers) {
    for (const Place& place : places) {
      const auto taker = holder(service, shared, place);
      if (taker && *taker != place.member) closed.push_back(service.members[place.member].binding);
    }
  }
  std::ranges::sort(closed);
  return closed;
}

// ---- Choosing

struct Picking : Offers {
  Shared& changed;  // the same, for reserving
  const Selection& selection;
  const Asking& asking;

  [[nodiscard]] const Member* take(const Place& place) const noexcept;
  [[nodiscard]] const Member* reserve(const Place& place, const Member& member) const noexcept;
  [[nodiscard]] std::uint64_t key() const noexcept;
  [[nodiscard]] const Member* pick(std::size_t tier) const noexcept;
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
  view.others -= seen.sessions == nullptr ? 1 : 0;
  seen = picking.seen(place, offer);
  view.others += seen.sessions == nullptr ? 1 : 0;
  return offer;
}

// Looks at the next few again, so that what other workers opened and what ended is known before long.
void ByTurns::look_again(std::size_t count) noexcept {
  const bool counts = picking.counts();
  if (!counts && view.others == 0) return;
  const std::span seen(view.seen);
  std::size_t seat = view.look_at;
  for (count = std::min(count, seen.size()); count > 0; --count) {
    const auto [sessions, known] = seen[seat];
    if (sessions == nullptr || (counts && sessions->load(std::memory_order_relaxed) != known)) look(seat);
    seat = seat + 1 == seen.size() ? 0 : seat + 1;
  }
  view.look_at = seat;
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

const Member* Picking::pick(std::size_t number) const noexcept {
  const std::vector<Place>& places = service.tiers[number];
  const Selection::Tier& tier = selection.tiers[number];
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

std::size_t Selection::in_charge() const noexcept {
  return static_cast<std::size_t>(
      std::ranges::find_if(tiers, [](const Tier& tier) { return !tier.open.empty(); }) - tiers.begin());
}

std::shared_ptr<const Selection> select(const Service& service, const Shared& shared,
                                        const SelectionTerms& terms) {
  auto selection = std::make_shared<Selection>();
  for (std::size_t tier = 0; tier < service.tiers.size(); ++tier)
    selection->tiers.push_back(tier_of(service, shared, terms, tier));
  selection->stood_in_for = members_stood_in_for(service, shared);
  return selection;
}

const Member* pick(const Service& service, const Selection& selection, Shared& shared,
                   const Asking& asking) noexcept {
  assert(selection.tiers.empty() || selection.tiers[0].views.empty() ||
         asking.worker < selection.tiers[0].views.size());
  const Picking picking{{service, shared}, shared, selection, asking};
  for (std::size_t tier = 0; tier < selection.tiers.size(); ++tier) {
    const Member* member = picking.pick(tier);
    if (member == nullptr) continue;
    if (selection.tiers.size() > 1 && !service.tiers[1].empty()) {
      const BindingSlot first = service.members[service.tiers[1].front().member].binding;
      shared.note_overflow(first, Shared::kGroupOverflows, tier > selection.in_charge());
    }
    return member;
  }
  return nullptr;
}

bool takes_part(const Service& service, const Selection& selection, const Shared& shared,
                std::uint16_t member) noexcept {
  if (service.tiers.empty()) return false;
  const bool in_group = member < service.tiers[0].size() && service.tiers[0][member].member == member;
  if (in_group) return true;
  const Offers offers{service, shared};
  for (std::size_t tier = 0; tier < service.tiers.size(); ++tier) {
    if (selection.tiers[tier].open.empty()) continue;
    bool takes = false;
    for (const Place& place : service.tiers[tier]) {
      if (place.member == member || offers.stands_in(place, member)) return true;
      takes = takes || offers.of(place).member != nullptr;
    }
    if (takes) return false;  // it is in charge
  }
  return false;
}

}  // namespace headgate::core
