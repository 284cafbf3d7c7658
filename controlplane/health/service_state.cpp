// SPDX-License-Identifier: Apache-2.0
#include "controlplane/health/service_state.h"

#include <algorithm>
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

void add(unsigned& row, unsigned more) {
  row += std::min(more, std::numeric_limits<unsigned>::max() - row);
}

/// With a report when that is news.
Step settled(State state, Health health) {
  if (state.health == health) return {state, {}};
  state.health = health;
  return {state, {Report{health}}};
}

Step failed(const Policy& policy, State state, const Partial& fresh) {
  state.awaiting = false;
  state.successes = 0;
  add(state.failures, 1);
  add(state.failed, fresh.part);
  if (state.health == Health::down) return {state, {}};
  const bool fails = policy.window.count() == 0 ? state.failed / kComplete >= policy.retry
                                                : whole(state.partials, fresh, policy.window);
  if (!fails) return {state, {}};
  state.partials = {};
  return settled(state, Health::down);
}

Step failed(const Policy& policy, const State& state) {
  return failed(policy, state, Partial{.part = kComplete});
}

Partial partial(const Failed& event) {
  return {event.at, std::clamp(event.part, kLeastPart, kComplete)};
}

Step passed(const Policy& policy, State state, const Reading& reading) {
  if (reading.grade == Grade::unavailable) return failed(policy, state);
  state.awaiting = false;
  state.failures = 0;
  state.failed = 0;
  state.score = reading.score;
  add(state.successes, 1);
  if (state.health == Health::down && state.successes < policy.restr) return {state, {}};
  return settled(state, reading.grade == Grade::degraded ? Health::degraded : Health::up);
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

/// Neither a failure nor a success; the next regular probe asks again.
Step unasked(State state) {
  state.awaiting = false;
  return {state, {}};
}

Step policy_changed(const Policy& policy, State state) {
  const bool windowed = policy.window.count() != 0;
  if (policy.inter.count() != 0)
    return due(policy, {.health = state.health,
                        .score = state.score,
                        .failures = state.failures,
                        .failed = state.failed,
                        .successes = state.successes,
                        .attempt = state.attempt,
                        .partials = windowed ? state.partials : decltype(state.partials){}});
  Step next = settled({.health = state.health, .attempt = state.attempt}, Health::up);
  next.actions.insert(next.actions.begin(), Rest{});
  return next;
}

}  // namespace

bool whole(Partials& partials, const Partial& fresh, std::chrono::seconds window) {
  Partials kept{};
  std::size_t count = 0;
  Part sum = fresh.part;
  for (const Partial& old : partials) {
    if (old.part == 0 || fresh.at - old.at >= window) continue;
    kept[count++] = old;
    sum += old.part;
  }
  if (sum >= kComplete) return true;
  kept[count] = fresh;
  partials = kept;
  return false;
}

Part counted(const Policy& policy, const State& state, Moment now) {
  if (policy.window.count() == 0) return state.failed;
  if (state.health == Health::down) return kComplete;
  Part sum = 0;
  for (const Partial& old : state.partials)
    if (now - old.at < policy.window) sum += old.part;
  return sum;
}

Step step(const Policy& policy, const State& state, const Event& event) {
  const Step ignored{state, {}};
  return std::visit(
      overloaded{
          [&](Due) { return due(policy, state); },
          [&](Passed e) { return stale(state, e.attempt) ? ignored : passed(policy, state, e.reading); },
          [&](Failed e) { return stale(state, e.attempt) ? ignored : failed(policy, state, partial(e)); },
          [&](Unasked e) { return stale(state, e.attempt) ? ignored : unasked(state); },
          [&](TrafficFailed) { return traffic_failed(policy, state); },
          [&](PolicyChanged) { return policy_changed(policy, state); },
      },
      event);
}

std::ostream& operator<<(std::ostream& out, Health health) {
  constexpr const char* kNames[] = {"unknown", "up", "down", "degraded"};
  return out << kNames[static_cast<std::size_t>(health)];
}

std::ostream& operator<<(std::ostream& out, const State& state) {
  out << state.health << " score " << int{state.score} << " (" << state.failures << " failed by "
      << state.failed << "%, " << state.successes << " passed) attempt " << state.attempt;
  for (const Partial& partial : state.partials)
    if (partial.part != 0) out << " " << partial.part << "% at " << partial.at.count();
  return out << (state.awaiting ? " awaited" : "") << (state.early ? " early" : "");
}

std::ostream& operator<<(std::ostream& out, const Event& event) {
  std::visit(overloaded{
                 [&](Due) { out << "due"; },
                 [&](Passed e) {
                   out << "passed " << e.attempt << " grade " << static_cast<int>(e.reading.grade)
                       << " score " << int{e.reading.score};
                 },
                 [&](Failed e) { out << "failed " << e.attempt << " by " << e.part << "%"; },
                 [&](Unasked e) { out << "unasked " << e.attempt; },
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
