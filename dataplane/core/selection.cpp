// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/selection.h"

#include <algorithm>
#include <optional>

#include "dataplane/core/offers.h"

namespace headgate::core {
namespace {

bool by_turns(forwarding::Metric metric) noexcept {
  return metric != forwarding::HASH && metric != forwarding::PHASH && metric != forwarding::MINMISSES;
}

// Who would take the turn of a place by the states alone, whatever the limits.
std::optional<std::uint16_t> holder(const Offers& offers, const Place& place) {
  const BindingState own = offers.state(place.member);
  if (own.admission == offers.turn) return place.member;
  if (own.opens() && !place.overflow) return std::nullopt;
  for (const std::uint16_t backup : place.backups)
    if (offers.round_of(own, backup) == offers.turn) return backup;
  return std::nullopt;
}

// Whether a place has nobody but its taker to offer, whatever becomes of limits.
bool offers_one(const Offers& offers, const Place& place) {
  const BindingState own = offers.state(place.member);
  const bool alone = own.opens() && !place.overflow;
  const auto stand_ins = std::ranges::count_if(
      place.backups, [&](std::uint16_t backup) { return offers.round_of(own, backup) == offers.turn; });
  return (own.admission == offers.turn ? 1 : 0) + (alone ? 0 : stand_ins) == 1;
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
void open_places(const Offers& offers, const SelectionTerms& terms, const std::vector<Place>& places,
                 Selection::Tier& tier) {
  const Service& service = offers.service;
  constexpr std::size_t kNone = ~std::size_t{0};
  std::vector<std::size_t> seats(by_turns(service.metric) ? service.members.size() : 0, kNone);  // by member
  for (std::size_t p = 0; p < places.size(); ++p) {
    const auto taker = holder(offers, places[p]);
    if (!taker) continue;
    const std::uint32_t weight = fine_weight(service, terms, places[p].member);
    const bool alone = !seats.empty() && offers_one(offers, places[p]);
    if (alone && seats[*taker] != kNone) {
      tier.weights[seats[*taker]] += weight;
      continue;
    }
    if (alone) seats[*taker] = tier.open.size();
    tier.open.push_back(static_cast<std::uint16_t>(p));
    tier.weights.push_back(weight);
  }
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
    view.others += view.seen.back().by_another() ? 1 : 0;
  }
  return view;
}

// One tier in the round of `offers`; `before` is what it was in that round, or null.
Selection::Tier tier_of(const Offers& offers, const SelectionTerms& terms, std::size_t number,
                        const Selection::Tier* before) {
  Selection::Tier tier;
  if (number == 0 && terms.group_closed) return tier;
  const std::vector<Place>& places = offers.service.tiers[number];
  open_places(offers, terms, places, tier);
  if (!by_turns(offers.service.metric)) return tier;
  std::vector<std::uint64_t> loads;
  tier.views.assign(terms.workers, first_view(offers, places, tier, loads));
  for (unsigned worker = 0; worker < terms.workers; ++worker)
    tier.views[worker].turns = Turns(tier.weights, loads, first_turn(tier, worker, terms.workers, before));
  return tier;
}

std::vector<Selection::Tier> tiers_of(const Offers& offers, const SelectionTerms& terms,
                                      std::vector<Selection::Tier> Selection::*round) {
  std::vector<Selection::Tier> tiers;
  for (std::size_t number = 0; number < offers.service.tiers.size(); ++number) {
    const bool known = terms.before != nullptr && number < (terms.before->*round).size();
    tiers.push_back(tier_of(offers, terms, number, known ? &(terms.before->*round)[number] : nullptr));
  }
  return tiers;
}

std::vector<BindingSlot> members_stood_in_for(const Service& service, const Shared& shared) {
  const Offers offers{service, shared};
  const auto opens = [&](std::uint16_t member) { return offers.state(member).opens(); };
  std::vector<BindingSlot> closed;
  for (const auto& places : service.tiers) {
    for (const Place& place : places) {
      if (!opens(place.member) && std::ranges::any_of(place.backups, opens))
        closed.push_back(service.members[place.member].binding);
    }
  }
  std::ranges::sort(closed);
  return closed;
}

}  // namespace

std::size_t Selection::in_charge() const noexcept {
  std::size_t tier = 0;
  while (tier < tiers.size() && !has_open(tier)) ++tier;
  return tier;
}

std::shared_ptr<const Selection> select(const Service& service, const Shared& shared,
                                        const SelectionTerms& terms) {
  auto selection = std::make_shared<Selection>();
  selection->group_closed = terms.group_closed;
  selection->tiers = tiers_of({service, shared}, terms, &Selection::tiers);
  for (std::size_t tier = 0; tier < service.tiers.size(); ++tier)
    selection->tiers[tier].table = table_of(service, tier, terms.before);
  const auto is_last = [&](const Member& member) {
    return shared.state(member.binding).admission == forwarding::LAST;
  };
  if (std::ranges::any_of(service.members, is_last)) {
    selection->last = tiers_of({service, shared, forwarding::LAST}, terms, &Selection::last);
    for (std::size_t tier = 0; tier < selection->tiers.size(); ++tier)
      selection->last[tier].table = selection->tiers[tier].table;
  }
  selection->stood_in_for = members_stood_in_for(service, shared);
  return selection;
}

}  // namespace headgate::core
