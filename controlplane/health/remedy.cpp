// SPDX-License-Identifier: Apache-2.0
#include "controlplane/health/remedy.h"

#include <algorithm>
#include <ostream>

namespace headgate::health {
namespace {

void forget_failures(RemedyState& state) {
  state.failed = 0;
  state.partials = {};
}

/// Whether a failure of a service that is down is one more whole one, by the measure of its verdict.
bool fails_again(const Policy& policy, RemedyState& state, const Partial& fresh) {
  if (policy.window.count() != 0) return whole(state.partials, fresh, policy.window);
  state.failed += fresh.part;
  return state.failed / kComplete >= policy.retry;
}

/// A demand that can't be met, for want of a failover, is a failure like others.
bool demands_failover(const Remedies& remedies, const Checked& event) {
  return event.demands_failover && !remedies.failover.empty();
}

/// What there is left to do.
std::optional<Remedy> choose(const Remedies& remedies, RemedyState& state, const Checked& event) {
  std::erase_if(state.restarts, [&](Moment then) { return event.at - then >= remedies.window; });
  if (state.failed_over) return std::nullopt;
  if (!demands_failover(remedies, event) && !remedies.restart.empty() &&
      state.restarts.size() < remedies.rcount)
    return Remedy::restart;
  if (!remedies.failover.empty()) return Remedy::failover;
  return std::nullopt;
}

RemedyStep begin(RemedyState state, Moment at, std::optional<Remedy> remedy) {
  forget_failures(state);
  state.under_way = remedy.has_value();
  if (remedy == Remedy::restart) state.restarts.push_back(at);
  if (remedy == Remedy::failover) state.failed_over = true;
  return {std::move(state), remedy};
}

}  // namespace

RemedyStep checked(const Policy& policy, const Remedies& remedies, RemedyState state, const Checked& event) {
  const bool was_down = state.down;
  state.down = event.health == Health::down && event.ours;
  if (!state.down) {
    if (event.health != Health::unknown) state.failed_over = false;
    forget_failures(state);
    return {std::move(state), std::nullopt};
  }
  if (event.failed == 0) state.failed = 0;
  if (event.failed == 0 || state.under_way) return {std::move(state), std::nullopt};
  const bool acts = !was_down || demands_failover(remedies, event) ||
                    fails_again(policy, state, {event.at, std::clamp(event.failed, kLeastPart, kComplete)});
  if (!acts) return {std::move(state), std::nullopt};
  const auto remedy = choose(remedies, state, event);
  return begin(std::move(state), event.at, remedy);
}

RemedyState ended(RemedyState state) {
  state.under_way = false;
  return state;
}

RemedyState withdrawn(RemedyState state, Remedy remedy) {
  state.under_way = false;
  if (remedy == Remedy::failover) state.failed_over = false;
  if (remedy == Remedy::restart && !state.restarts.empty()) state.restarts.pop_back();
  return state;
}

std::ostream& operator<<(std::ostream& out, const RemedyState& state) {
  out << (state.down ? "down" : "serving") << (state.failed_over ? ", failed over" : "")
      << (state.under_way ? ", under way" : "") << ", " << state.failed << "%";
  for (const Partial& partial : state.partials)
    if (partial.part != 0) out << " " << partial.part << "% at " << partial.at.count();
  out << ", restarts";
  for (const Moment then : state.restarts) out << " " << then.count();
  return out;
}

std::ostream& operator<<(std::ostream& out, const RemedyStep& step) {
  return out << step.state << " [" << (step.remedy ? word_of(*step.remedy) : "nothing") << "]";
}

}  // namespace headgate::health
