// SPDX-License-Identifier: Apache-2.0
#include "controlplane/health/service_state.h"

#include <limits>
#include <ostream>

namespace headgate::health {
namespace {

template <class... Handlers>
struct overloaded : Handlers... {
  using Handlers::operator()...;
};
template <class... Handlers>
overloaded(Handlers...) -> overloaded<Handlers...>;

void count(unsigned& row) {
  if (row < std::numeric_limits<unsigned>::max()) ++row;
}

Step passed(const Policy& policy, State state) {
  state.awaiting = false;
  state.failures = 0;
  count(state.successes);
  const unsigned needed = state.health == Health::down ? policy.restr : 1;
  if (state.health == Health::up || state.successes < needed) return {state, {}};
  state.health = Health::up;
  return {state, {Report{Health::up}}};
}

Step failed(const Policy& policy, State state) {
  state.awaiting = false;
  state.successes = 0;
  count(state.failures);
  if (state.health == Health::down || state.failures < policy.retry) return {state, {}};
  state.health = Health::down;
  return {state, {Report{Health::down}}};
}

bool stale(const State& state, Attempt attempt) {
  return !state.awaiting || attempt != state.attempt;
}

/// Sends the next probe and plans the one after it.
Step probe(const Policy& policy, Step step) {
  step.state.awaiting = true;
  step.actions.push_back(Send{++step.state.attempt});
  step.actions.push_back(Wake{policy.inter});
  return step;
}

Step due(const Policy& policy, const State& state) {
  if (policy.inter.count() == 0) return {state, {}};
  Step next = state.awaiting ? failed(policy, state) : Step{state, {}};
  next.state.early = false;
  return probe(policy, std::move(next));
}

Step traffic_failed(const Policy& policy, State state) {
  if (policy.inter.count() == 0 || state.awaiting || state.early) return {state, {}};
  state.early = true;
  return probe(policy, {state, {}});
}

Step policy_changed(const Policy& policy, State state) {
  if (policy.inter.count() != 0)
    return due(policy, {.health = state.health,
                        .failures = state.failures,
                        .successes = state.successes,
                        .attempt = state.attempt});
  const bool changed = state.health != Health::up;
  Step next{{.health = Health::up, .attempt = state.attempt}, {Rest{}}};
  if (changed) next.actions.push_back(Report{Health::up});
  return next;
}

}  // namespace

Step step(const Policy& policy, const State& state, const Event& event) {
  const Step ignored{state, {}};
  return std::visit(overloaded{
                        [&](Due) { return due(policy, state); },
                        [&](Passed e) { return stale(state, e.attempt) ? ignored : passed(policy, state); },
                        [&](Failed e) { return stale(state, e.attempt) ? ignored : failed(policy, state); },
                        [&](TrafficFailed) { return traffic_failed(policy, state); },
                        [&](PolicyChanged) { return policy_changed(policy, state); },
                    },
                    event);
}

std::ostream& operator<<(std::ostream& out, Health health) {
  constexpr const char* kNames[] = {"unknown", "up", "down"};
  return out << kNames[static_cast<std::size_t>(health)];
}

std::ostream& operator<<(std::ostream& out, const State& state) {
  out << state.health << " (" << state.failures << " failed, " << state.successes << " passed) attempt "
      << state.attempt;
  return out << (state.awaiting ? " awaited" : "") << (state.early ? " early" : "");
}

std::ostream& operator<<(std::ostream& out, const Event& event) {
  std::visit(overloaded{
                 [&](Due) { out << "due"; },
                 [&](Passed e) { out << "passed " << e.attempt; },
                 [&](Failed e) { out << "failed " << e.attempt; },
                 [&](TrafficFailed) { out << "traffic failed"; },
                 [&](PolicyChanged) { out << "policy changed"; },
             },
             event);
  return out;
}

std::ostream& operator<<(std::ostream& out, const Action& action) {
  std::visit(overloaded{
                 [&](Send a) { out << "send " << a.attempt; },
                 [&](Wake a) { out << "wake in " << a.after.count() << " s"; },
                 [&](Rest) { out << "rest"; },
                 [&](Report a) { out << "report " << a.health; },
             },
             action);
  return out;
}

std::ostream& operator<<(std::ostream& out, const Step& step) {
  out << step.state << " [";
  for (const Action& action : step.actions) out << action << "; ";
  return out << "]";
}

}  // namespace headgate::health
