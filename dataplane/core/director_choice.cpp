// SPDX-License-Identifier: Apache-2.0
// The director's part of choosing: whom a selection offers, and with which weights.
#include <algorithm>

#include "dataplane/core/director.h"
#include "dataplane/core/director_parts.h"
#include "dataplane/core/selection.h"
#include "dataplane/core/weights.h"

namespace headgate::core {
namespace {

/// How often weights by response and bandwidth are made anew when nothing is configured (reference 2.7,
/// metrci: 10 x 10 s).
constexpr std::uint32_t kMetricSeconds = 100;

bool elapsed(std::optional<Tick> since, Tick now, std::uint32_t seconds) {
  return !since || now.since(*since) >= static_cast<std::int32_t>(seconds * Tick::kPerSecond);
}

}  // namespace

// A member that rests in its group is drained there, whatever its target's state. True when something that
// selections depend on has changed.
bool Director::admit(BindingSlot slot, const forwarding::TargetState& state) {
  Bound& bound = bound_[slot];
  const bool rests = bound.resting && state.admission() >= forwarding::OPEN;
  const forwarding::Admission admission = rests ? forwarding::DRAINING : state.admission();
  const BindingState before = shared_.state(slot);
  if (before.admission == admission && before.persistent == state.persistent()) return false;
  // One that is LAST no more has few sessions, as one that comes back: it is on its way to its share again.
  if (admission == forwarding::OPEN || (admission == forwarding::LAST && !before.opens())) {
    bound.opened = now_;
    bound.reopened = std::exchange(bound.was_open, true);
  }
  shared_.admit(slot, admission, state.persistent());
  return before.admission != admission;
}

Director::SelectionsByService Director::selections_by_service() const {
  SelectionsByService found;
  for (std::size_t i = 0; i < selections_.size(); ++i) {
    const Service& service = layout_->services[i];
    found[{service.vip, service.vport, service.protocol}] = {&service, selections_[i]};
  }
  return found;
}

// A service that an apply left as it was keeps its selection, and with it the turns of its servers.
void Director::select_all(const SelectionsByService& before) {
  selections_.clear();
  for (std::size_t i = 0; i < layout_->services.size(); ++i) {
    const Service& service = layout_->services[i];
    const auto known = before.find({service.vip, service.vport, service.protocol});
    const bool same = known != before.end() && *known->second.first == service &&
                      !touched_.contains(static_cast<std::uint32_t>(i));
    const Selection* old = known == before.end() ? nullptr : known->second.second.get();
    selections_.push_back(same ? known->second.second : select_for(service, old));
  }
  touched_.clear();
  std::erase_if(closed_groups_, [&](const ServiceKey& key) {
    const auto& [vip, vport, protocol] = key;
    return !layout_->service(vip, vport, protocol);
  });
}

void Director::select_again(std::uint32_t index) {
  selections_[index] = select_for(layout_->services[index], selections_[index].get());
}

std::shared_ptr<const Selection> Director::select_for(const Service& service, const Selection* before) {
  const std::vector<std::uint32_t> fine = weights(service);
  const auto workers = static_cast<unsigned>(std::max<std::size_t>(workers_.size(), 1));
  const SelectionTerms terms{
      .weights = fine, .workers = workers, .group_closed = group_closed(service), .before = before};
  auto selection = select(service, shared_, terms);
  count_activations(service, *selection, before);
  return selection;
}

bool Director::group_closed(const Service& service) {
  const bool few = too_few(service);  // which remembers, so it is asked in any case
  return few || !formula_holds(service);
}

// A server is true while it takes new sessions itself, be it as the last and whatever its limit: what stands
// in for it does not count, as it does not for minthrsh.
bool Director::formula_holds(const Service& service) const {
  const auto takes = [&](std::uint32_t real) {
    return std::ranges::any_of(service.tiers[0], [&](const Place& place) {
      const Member& member = service.members[place.member];
      return member.number == real && shared_.state(member.binding).opens();
    });
  };
  std::vector<bool> values;
  for (const FormulaTerm& term : service.formula) {
    if (term.join == forwarding::Term::MEMBER) {
      values.push_back(takes(term.real));
      continue;
    }
    const bool last = values.back();
    values.pop_back();
    values.back() = term.join == forwarding::Term::AND ? values.back() && last : values.back() || last;
  }
  return values.empty() || values.back();
}

// Below minthrsh a group is closed for new sessions, and opens again at maxthrsh (reference 2.2).
bool Director::too_few(const Service& service) {
  const ServiceKey key{service.vip, service.vport, service.protocol};
  if (service.min_available == 0) {
    closed_groups_.erase(key);
    return false;
  }
  const auto available = std::ranges::count_if(service.tiers[0], [&](const Place& place) {
    return shared_.state(service.members[place.member].binding).opens();
  });
  const auto known = closed_groups_.find(key);
  const std::uint32_t needed = known == closed_groups_.end()
                                   ? service.min_available
                                   : std::max(service.max_available, service.min_available);
  const bool closed = static_cast<std::uint32_t>(available) < needed;
  if (closed)
    closed_groups_.insert(key);
  else if (known != closed_groups_.end())
    closed_groups_.erase(known);
  return closed;
}

// ---- Weights

std::uint32_t Director::ramp_seconds(const Service& service, const Bound& bound) const {
  if (!bound.opened || !now_ || !weighted(service)) return 0;
  if (service.slow_start_seconds != 0) return service.slow_start_seconds;
  const bool by_connections =
      service.metric == forwarding::LEASTCONNS || service.metric == forwarding::SVCLEAST;
  return by_connections && bound.reopened ? kRecoverySeconds : 0;
}

bool Director::ramping(const Service& service) const {
  return std::ranges::any_of(service.members, [&](const Member& member) {
    const Bound& bound = bound_[member.binding];
    const std::uint32_t seconds = ramp_seconds(service, bound);
    // One second longer than the ramp, so that its end is seen.
    return seconds != 0 && !elapsed(bound.opened, *now_, seconds + 2);
  });
}

std::vector<std::uint32_t> Director::measured_weights(const Service& service) const {
  std::vector<std::uint64_t> costs;
  for (const Member& member : service.members) {
    if (service.metric == forwarding::RESPONSE) {
      const auto target = targets_.find(bound_[member.binding].target);
      costs.push_back(
          target == targets_.end() || !target->second.state ? 0 : target->second.state->response_us());
    } else {
      const auto octets = octets_.find(member.number);
      costs.push_back(octets == octets_.end() ? 0 : octets->second);
    }
  }
  if (service.metric == forwarding::RESPONSE) costs = with_unknown_times(std::move(costs));
  return inverse_weights(costs);
}

std::uint32_t Director::score_of(const Bound& bound) const {
  const auto target = targets_.find(bound.target);
  const bool known = target != targets_.end() && target->second.state && target->second.state->score() != 0;
  return known ? target->second.state->score() : kBestScore;
}

std::uint32_t Director::share_of(const Bound& bound) const {
  const auto target = targets_.find(bound.target);
  return target == targets_.end() ? 0 : target->second.share;
}

std::vector<std::uint32_t> Director::weights(const Service& service) const {
  std::vector<std::uint32_t> fine;
  if (measured(service)) {
    fine = measured_weights(service);
  } else {
    for (const Member& member : service.members) fine.push_back(member.weight * kWeightUnit);
  }
  for (std::size_t i = 0; i < service.members.size(); ++i) {
    const Bound& bound = bound_[service.members[i].binding];
    if (weighted(service)) fine[i] = by_share(fine[i], share_of(bound));
    if (service.metric == forwarding::HEALTH) fine[i] = by_score(fine[i], score_of(bound));
    const std::uint32_t seconds = ramp_seconds(service, bound);
    if (seconds == 0) continue;
    fine[i] = ramped(fine[i], static_cast<std::uint32_t>(std::max(now_->since(*bound.opened), 0)), seconds);
  }
  return fine;
}

// Octets of each real server since the last time, averaged with those of the intervals before: by the last
// interval alone two equal servers would take turns in having all.
void Director::renew_octets() {
  std::map<std::uint32_t, std::uint64_t> fresh;
  for (const Service& service : layout_->services) {
    if (service.metric != forwarding::BANDWIDTH) continue;
    for (const Member& member : service.members) fresh[member.number] = 0;
  }
  if (fresh.empty()) return;
  for (const auto& [key, slot] : slots_) {
    const auto real = fresh.find(key.real);
    if (real == fresh.end()) continue;
    const std::uint64_t octets = sums(slot).octets;
    real->second += octets - std::exchange(bound_[slot].octets_told, octets);
  }
  for (auto& [real, octets] : fresh) {
    const auto known = octets_.find(real);
    if (known != octets_.end()) octets = (octets + known->second) / 2;
  }
  octets_ = std::move(fresh);
}

bool Director::tick(Tick now) {
  now_ = now;
  if (!elapsed(selected_, now, 1)) return false;
  selected_ = now;
  const std::uint32_t configured = published_.settings().metric_seconds();
  const bool weigh = elapsed(weighed_, now, configured == 0 ? kMetricSeconds : configured);
  if (weigh) {
    weighed_ = now;
    renew_octets();
  }
  bool changed = false;
  for (std::uint32_t i = 0; i < layout_->services.size(); ++i) {
    const Service& service = layout_->services[i];
    if (!(weigh && measured(service)) && !ramping(service)) continue;
    select_again(i);
    changed = true;
  }
  return changed;
}

// ---- Counts

// Activations are transitions (reference 3.2): a closed server's stand-in begins, or a group that steps in.
// What has never been open is not stood in for but not there yet.
void Director::count_activations(const Service& service, const Selection& selection,
                                 const Selection* before) {
  if (before == nullptr) return;
  for (const BindingSlot slot : selection.stood_in_for) {
    const bool known = std::ranges::binary_search(before->stood_in_for, slot);
    if (!known && bound_[slot].was_open)
      shared_.totals.backup_activations.fetch_add(1, std::memory_order_relaxed);
  }
  const std::size_t tier = selection.in_charge();
  if (tier < service.tiers.size() && tier > before->in_charge())
    shared_.totals.backup_activations.fetch_add(1, std::memory_order_relaxed);
}

// ---- Bound clients

BoundFilter Director::bound_filter(const forwarding::SessionFilter& asked) const {
  const SessionFilter terms = filter(asked);
  BoundFilter out{.none = asked.client_port() != 0 || asked.vport() != 0 || asked.port() != 0,
                  .vip = terms.vip,
                  .real = asked.real()};
  if (!terms.client.none()) {
    const unsigned bits = terms.client.is_v4() ? layout_->persist_bits4 : layout_->persist_bits6;
    out.client = prefix_of(terms.client, bits);
  }
  if (asked.virt() == 0) return out;
  out.vips.emplace();
  for (const auto& [key, slot] : slots_)
    if (key.virt == asked.virt()) out.vips->insert(shared_.bindings[slot].vip());
  return out;
}

forwarding::Session Director::describe(const Persistence::View& view) const {
  forwarding::Session out;
  out.set_client(view.key.client.wire());
  out.set_vip(view.key.vip.wire());
  out.set_real(view.real);
  out.set_left_seconds(view.left_seconds);
  out.set_persistent(true);
  out.set_users(view.users);
  for (const Service& service : layout_->services) {
    if (service.vip != view.key.vip) continue;
    const auto member = std::ranges::find(service.members, view.real, &Member::number);
    if (member == service.members.end()) continue;
    out.set_rip(member->rip.wire());
    out.set_virt(bound_[member->binding].key.virt);
    break;
  }
  return out;
}

}  // namespace headgate::core
