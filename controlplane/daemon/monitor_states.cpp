// SPDX-License-Identifier: Apache-2.0
// The monitor's states as messages: told to the dataplane, stored, and taken back from either.
#include <algorithm>

#include "controlplane/daemon/monitor.h"
#include "controlplane/health/response.h"

namespace headgate::daemon {
namespace {

using health::Health;

Health health_of(forwarding::Verdict verdict) {
  switch (verdict) {
    case forwarding::UP:
      return Health::up;
    case forwarding::DOWN:
      return Health::down;
    case forwarding::DEGRADED:
      return Health::degraded;
    default:
      return Health::unknown;
  }
}

/// What is down has to come under the inner bound, in case it was the time that took it down.
health::Grade grade_of(Health health) {
  if (health == Health::down) return health::Grade::unavailable;
  return health == Health::degraded ? health::Grade::degraded : health::Grade::available;
}

Change from_message(const forwarding::Change& change) {
  return {change.unix_ms(), health_of(change.from()), health_of(change.to()), change.reason()};
}

/// Visits `count` targets, the first of them `from` or the one behind; with whom it goes on.
template <class All, class Visit>
std::optional<TargetKey> for_some(All& targets, const TargetKey& from, std::size_t count,
                                  const Visit& visit) {
  auto at = targets.lower_bound(from);
  for (; at != targets.end() && count > 0; ++at, --count) visit(at->first, at->second);
  return at == targets.end() ? std::nullopt : std::optional(at->first);
}

}  // namespace

forwarding::Verdict verdict_of(Health health) {
  constexpr forwarding::Verdict kVerdicts[] = {forwarding::UNKNOWN, forwarding::UP, forwarding::DOWN,
                                               forwarding::DEGRADED};
  return kVerdicts[static_cast<std::size_t>(health)];
}

forwarding::Change to_message(const Change& change) {
  forwarding::Change out;
  out.set_unix_ms(change.unix_ms);
  out.set_from(verdict_of(change.from));
  out.set_to(verdict_of(change.to));
  out.set_reason(change.reason);
  return out;
}

// ---- Taken back

void Monitor::adopt(const forwarding::States& states) {
  for (const forwarding::RealOperation& known : states.operation()) adopt(known);
  for (const forwarding::TargetState& known : states.target()) adopt(known);
  settle_buddies();
  settle_holds();
}

void Monitor::adopt(const forwarding::RealOperation& known) {
  operations_.try_emplace(known.real(), Setting{known.operation(), known.since_unix_ms()});
  const auto disabled = disabled_.find(known.real());
  if (disabled != disabled_.end() && known.disabled_since_unix_ms() != 0)
    disabled->second = known.disabled_since_unix_ms();
}

void Monitor::adopt(const forwarding::TargetState& known) {
  const auto found = targets_.find(config::from_message(known.target()));
  if (found == targets_.end() || found->second.last_check_unix_ms != 0) return;
  Watched& watched = found->second;
  watched.state.health = health_of(known.verdict());
  watched.state.score = watched.score_told = static_cast<health::Score>(known.score());
  watched.share = watched.share_told = known.share();
  watched.response_grade = grade_of(watched.state.health);
  for (const health::NamedBands& bounds : watched.target.policy.measures)
    watched.grades[bounds.name] = watched.response_grade;
  watched.since_unix_ms = known.since_unix_ms();
  watched.reason = known.reason();
  watched.response_us = watched.response_told_us = known.response_us();
  if (known.change_size() != 0) watched.changes.clear();
  for (const forwarding::Change& change : known.change()) watched.changes.push_back(from_message(change));
  adopt_deeds(known, watched);
  if (known.admission() >= forwarding::OPEN) watched.lacks.reset();
  // Serving and not drained by an operator, only its yielding can have kept it from taking sessions; or a
  // buddy, but what lacks one yields, too.
  watched.held = !watched.target.yields_to.empty() && health::serves(watched.state.health) &&
                 known.admission() == forwarding::DRAINING &&
                 operation(known.target().real()) == forwarding::ENABLED;
}

// ---- Told

void Monitor::put(const TargetKey& key, const Watched& watched, forwarding::States& states) const {
  forwarding::TargetState& state = *states.add_target();
  *state.mutable_target() = config::to_message(key);
  state.set_admission(static_cast<forwarding::Admission>(admission(watched, key)));
  state.set_verdict(verdict_of(watched.state.health));
  state.set_since_unix_ms(watched.since_unix_ms);
  state.set_reason(watched.reason);
  state.set_response_us(watched.response_us);
  state.set_score(watched.state.score);
  state.set_share(watched.share);
  state.set_persistent(state.admission() == forwarding::DRAINING && !watched.held && !watched.lacks &&
                       health::serves(watched.state.health) &&
                       operation(key.real) == forwarding::DRAIN_PERSISTENT);
}

void Monitor::put_operation(std::uint32_t real, forwarding::States& states) const {
  forwarding::RealOperation& kept = *states.add_operation();
  kept.set_real(real);
  kept.set_operation(operation(real));
  if (const auto set = operations_.find(real); set != operations_.end())
    kept.set_since_unix_ms(set->second.since_unix_ms);
  if (const auto disabled = disabled_.find(real); disabled != disabled_.end())
    kept.set_disabled_since_unix_ms(disabled->second);
}

Monitor::Some Monitor::measured_news(const TargetKey& from, std::size_t count) {
  Some some;
  some.next = for_some(targets_, from, count, [&](const TargetKey& key, Watched& watched) {
    const bool news = health::response_is_news(watched.response_told_us, watched.response_us) ||
                      watched.score_told != watched.state.score || watched.share_told != watched.share;
    if (!news) return;
    watched.response_told_us = watched.response_us;
    watched.score_told = watched.state.score;
    watched.share_told = watched.share;
    put(key, watched, some.states);
  });
  return some;
}

Monitor::Some Monitor::remembered(const TargetKey& from, std::size_t count) const {
  Some some;
  some.next = for_some(targets_, from, count, [&](const TargetKey& key, const Watched& watched) {
    put(key, watched, some.states);
    forwarding::TargetState& state = *some.states.mutable_target()->rbegin();
    for (const Change& change : watched.changes) *state.add_change() = to_message(change);
    for (const Deed& deed : watched.deeds) *state.add_deed() = to_message(deed);
  });
  return some;
}

forwarding::States Monitor::whole() const {
  forwarding::States states = operations();
  states.set_whole(true);
  for (const auto& [key, watched] : targets_) put(key, watched, states);
  return states;
}

forwarding::States Monitor::operations() const {
  forwarding::States states;
  std::set<std::uint32_t> reals;
  for (const auto& [real, setting] : operations_) reals.insert(real);
  for (const auto& [real, since] : disabled_) reals.insert(real);
  for (const std::uint32_t real : reals) put_operation(real, states);
  return states;
}

forwarding::States Monitor::state_of(const TargetKey& key) const {
  forwarding::States states;
  if (const auto found = targets_.find(key); found != targets_.end()) put(key, found->second, states);
  return states;
}

forwarding::States Monitor::states_of_real(std::uint32_t real) const {
  forwarding::States states;
  for (const auto& [key, watched] : targets_)
    if (key.real == real) put(key, watched, states);
  put_operation(real, states);
  return states;
}

forwarding::States Monitor::preview(const std::map<TargetKey, config::Target>& targets, bool grace) const {
  forwarding::States states;
  Monitor next(prober_, timers_, clock_, [](const TargetKey&) {});
  next.operations_ = operations_;
  next.grace_ = grace;
  for (const auto& [key, target] : targets) {
    if (targets_.contains(key)) continue;
    Watched watched = fresh(key, target, targets);
    watched.lacks = lacked_buddy(watched);
    next.put(key, watched, states);
  }
  return states;
}

}  // namespace headgate::daemon
