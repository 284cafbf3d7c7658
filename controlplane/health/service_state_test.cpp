// SPDX-License-Identifier: Apache-2.0
#include "controlplane/health/service_state.h"

#include "controlplane/health/admission.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace headgate::health {
namespace {

using std::chrono::seconds;

State run(const Policy& policy, State state, std::initializer_list<Event> events) {
  for (const Event& event : events) state = step(policy, state, event).state;
  return state;
}

/// One regular probe and its answer.
State probed(const Policy& policy, State state, bool pass) {
  state = step(policy, state, Due{}).state;
  return pass ? step(policy, state, Passed{state.attempt}).state
              : step(policy, state, Failed{state.attempt}).state;
}

TEST(Service, FirstSuccessBringsANewTargetUp) {
  const Step first = step({}, State{}, PolicyChanged{});
  EXPECT_EQ(first, (Step{{.attempt = 1, .awaiting = true}, {Send{1}, Wake{seconds(2)}}}));
  EXPECT_EQ(step({}, first.state, Passed{1}),
            (Step{{.health = Health::up, .score = kBestScore, .successes = 1, .attempt = 1},
                  {Report{Health::up}}}));
}

TEST(Service, RetryFailuresInARowTakeItDown) {
  State state{.health = Health::up};
  for (int i = 0; i < 3; ++i) state = probed({}, state, false);
  EXPECT_EQ(state.health, Health::up);
  EXPECT_EQ(probed({}, state, false).health, Health::down);
}

TEST(Service, ASuccessInBetweenStartsTheCountAnew) {
  State state{.health = Health::up};
  for (const bool pass : {false, false, false, true, false, false, false}) state = probed({}, state, pass);
  EXPECT_EQ(state.health, Health::up);
}

TEST(Service, ComesBackAfterRestrSuccessesInARow) {
  State state{.health = Health::down};
  for (int i = 0; i < 7; ++i) state = probed({}, state, true);
  EXPECT_EQ(state.health, Health::down);
  EXPECT_EQ(probed({}, state, true).health, Health::up);
}

TEST(Service, AProbeUnansweredWhenTheNextIsDueHasFailed) {
  const Policy policy{.retry = 1};
  const State waiting{.health = Health::up, .attempt = 5, .awaiting = true};
  EXPECT_EQ(
      step(policy, waiting, Due{}),
      (Step{{.health = Health::down, .failures = 1, .failed = kComplete, .attempt = 6, .awaiting = true},
            {Report{Health::down}, Send{6}, Wake{seconds(2)}}}));
}

TEST(Service, ALateAnswerChangesNothing) {
  const State state{.health = Health::up, .attempt = 5, .awaiting = true};
  EXPECT_EQ(step({}, state, Failed{4}), (Step{state, {}}));
  EXPECT_EQ(step({}, state, Passed{4}), (Step{state, {}}));
}

TEST(Service, ASecondAnswerToOneProbeChangesNothing) {
  const State once = run({}, {.health = Health::up}, {Due{}, Failed{1}});
  EXPECT_EQ(step({}, once, Failed{1}), (Step{once, {}}));
}

TEST(Service, WithoutAnIntervalItIsUpAndNeverProbed) {
  const Policy never{.inter = seconds(0)};
  EXPECT_EQ(step(never, State{.health = Health::down, .attempt = 3, .awaiting = true}, PolicyChanged{}),
            (Step{{.health = Health::up, .attempt = 3}, {Rest{}, Report{Health::up}}}));
  EXPECT_TRUE(step(never, State{.health = Health::up}, Due{}).actions.empty());
  EXPECT_TRUE(step(never, State{.health = Health::up}, TrafficFailed{}).actions.empty());
}

TEST(Service, ANewPolicyKeepsTheVerdictAndDoesNotFailTheProbeInFlight) {
  const State waiting{.health = Health::degraded,
                      .score = 3,
                      .failures = 1,
                      .failed = 50,
                      .attempt = 5,
                      .awaiting = true,
                      .partials = {{{.at = seconds(9), .part = 50}}}};
  State after = waiting;
  after.attempt = 6;
  const Step next = step({.inter = seconds(1), .retry = 2, .window = seconds(60)}, waiting, PolicyChanged{});
  EXPECT_EQ(next, (Step{after, {Send{6}, Wake{seconds(1)}}}));
}

TEST(Service, TrafficFailureProbesAtOnceButNeverDecides) {
  const State idle{.health = Health::up, .attempt = 5};
  const Step next = step({.retry = 1}, idle, TrafficFailed{});
  EXPECT_EQ(next, (Step{{.health = Health::up, .attempt = 6, .awaiting = true, .early = true},
                        {Send{6}, Wake{seconds(2)}}}));
}

TEST(Service, TrafficFailuresCannotFloodATarget) {
  State state = run({}, {.health = Health::up}, {TrafficFailed{}});
  EXPECT_TRUE(step({}, state, TrafficFailed{}).actions.empty()) << "one is in flight";
  state = step({}, state, Passed{state.attempt}).state;
  EXPECT_TRUE(step({}, state, TrafficFailed{}).actions.empty()) << "one early probe for each regular one";
  state = run({}, state, {Due{}, Passed{2}});
  EXPECT_FALSE(step({}, state, TrafficFailed{}).actions.empty());
}

// ---- Grades

constexpr Reading kDegraded{Grade::degraded, 4};
constexpr Reading kUnavailable{Grade::unavailable, 1};

State read(const Policy& policy, State state, const Reading& reading) {
  state = step(policy, state, Due{}).state;
  return step(policy, state, Passed{state.attempt, reading}).state;
}

TEST(Service, AReadingChangesBetweenUpAndDegradedAtOnceAndIsReported) {
  const State waiting{.health = Health::up, .attempt = 5, .awaiting = true};
  const Step worse = step({}, waiting, Passed{5, kDegraded});
  EXPECT_EQ(worse, (Step{{.health = Health::degraded, .score = 4, .successes = 1, .attempt = 5},
                         {Report{Health::degraded}}}));
  EXPECT_TRUE(step({}, step({}, worse.state, Due{}).state, Passed{6, kDegraded}).actions.empty());
  const State better = read({}, worse.state, {Grade::available, 7});
  EXPECT_EQ(better.health, Health::up);
  EXPECT_EQ(better.score, 7);
}

TEST(Service, AnUnavailableReadingIsAFailureAndKeepsTheScore) {
  State state = read({.retry = 2}, {.health = Health::up}, kDegraded);
  state = read({.retry = 2}, state, kUnavailable);
  EXPECT_EQ(state.health, Health::degraded);
  EXPECT_EQ(state.score, 4);
  EXPECT_EQ(state.failures, 1u);
  EXPECT_EQ(read({.retry = 2}, state, kUnavailable).health, Health::down);
}

TEST(Service, ADegradedServerFailsAndComesBackByTheSameCounts) {
  State state{.health = Health::degraded};
  for (int i = 0; i < 4; ++i) state = probed({}, state, false);
  EXPECT_EQ(state.health, Health::down);
  for (int i = 0; i < 7; ++i) state = read({}, state, kDegraded);
  EXPECT_EQ(state.health, Health::down);
  EXPECT_EQ(read({}, state, kDegraded).health, Health::degraded) << "as the last reading says";
}

// ---- Parts of failures

/// One probe that fails in part, so late.
State failed_in_part(const Policy& policy, State state, Part part, seconds at = {}) {
  state = step(policy, state, Due{}).state;
  return step(policy, state, Failed{state.attempt, part, at}).state;
}

TEST(Service, PartsOfFailuresInARowAddUp) {
  State state{.health = Health::up};
  for (int i = 0; i < 7; ++i) state = failed_in_part({}, state, 50);
  EXPECT_EQ(state.health, Health::up);
  EXPECT_EQ(failed_in_part({}, state, 50).health, Health::down) << "eight halves are retry 4";
  EXPECT_EQ(failed_in_part({}, probed({}, state, true), 50).health, Health::up);
}

TEST(Service, WithAWindowACompleteFailureActsAtOnce) {
  EXPECT_EQ(probed({.window = seconds(60)}, {.health = Health::up}, false).health, Health::down);
}

TEST(Service, WithAWindowHalvesAddUpWhateverPassesInBetween) {
  const Policy policy{.window = seconds(60)};
  State state = failed_in_part(policy, {.health = Health::degraded}, 50, seconds(100));
  state = probed(policy, state, true);
  EXPECT_EQ(failed_in_part(policy, state, 50, seconds(159)).health, Health::down);
  EXPECT_EQ(failed_in_part(policy, state, 50, seconds(160)).health, Health::up) << "forgotten";
}

TEST(Service, AWindowRemembersNothingOfBeforeTheServerWasDown) {
  const Policy policy{.restr = 1, .window = seconds(60)};
  State state = failed_in_part(policy, {.health = Health::up}, 90, seconds(1));
  state = probed(policy, state, false);
  state = failed_in_part(policy, state, 90, seconds(2));
  state = probed(policy, state, true);
  EXPECT_EQ(failed_in_part(policy, state, 90, seconds(3)).health, Health::up);
}

TEST(Service, NoRowOfFailuresOfAnySizeFindsTheWindowWithoutRoom) {
  const Policy policy{.window = seconds(60)};
  for (Part part = 0; part <= 2 * kComplete; ++part) {
    const Part worth = std::max(part, kLeastPart);
    State state{.health = Health::up};
    for (Part sum = worth; sum < kComplete; sum += worth) {
      state = failed_in_part(policy, state, part);
      ASSERT_EQ(state.health, Health::up) << part << " after " << sum;
    }
    ASSERT_EQ(failed_in_part(policy, state, part).health, Health::down) << part;
  }
}

TEST(Service, WhatThisMachineCouldNotAskIsNeitherFailureNorSuccess) {
  const State once = run({.retry = 2}, {.health = Health::up}, {Due{}, Failed{1}, Due{}, Unasked{2}});
  EXPECT_EQ(once.health, Health::up);
  EXPECT_FALSE(once.awaiting);
  EXPECT_EQ(run({.retry = 2}, once, {Due{}}).health, Health::up) << "and its silence is none";
  EXPECT_EQ(run({.retry = 2}, once, {Due{}, Failed{3}}).health, Health::down) << "the row goes on";
  EXPECT_EQ(step({}, once, Unasked{1}), (Step{once, {}}));
}

// ---- Against a reference model, written from the prose of the reference and of mission A without looking at
// step(): it remembers what happened to each probe as text and derives the verdict from that history.

struct Model {
  enum class Operator { ena, dis } oper = Operator::ena;
  std::string verdict = "none";
  std::string
      results;  // of settled probes since the last change of verdict: 'p', 'd' degraded, 'f', 'h' half
  std::vector<std::pair<seconds, int>> halves;  // when each of them failed, and how many halves that was
  std::uint64_t last_sent = 0;
  bool open_question = false;
  bool hinted = false;

  int successes() const {
    const auto failure = results.find_last_of("fh");
    return static_cast<int>(results.size() - (failure == std::string::npos ? 0 : failure + 1));
  }
  int halves_in_a_row() const {
    int sum = 0;
    for (auto it = results.rbegin(); it != results.rend() && (*it == 'f' || *it == 'h'); ++it)
      sum += *it == 'f' ? 2 : 1;
    return sum;
  }
  int halves_within(seconds window, seconds now) const {
    int sum = 0;
    for (const auto& [at, count] : halves) sum += now < at + window ? count : 0;
    return sum;
  }
  void settle(const Policy& policy, char result, seconds now = {}) {
    open_question = false;
    results.push_back(result);
    const bool pass = result == 'p' || result == 'd';
    const bool windowed = policy.window != seconds(0);
    if (!pass && windowed && verdict != "down") halves.emplace_back(now, result == 'f' ? 2 : 1);
    if (pass && (verdict != "down" || successes() >= static_cast<int>(policy.restr)))
      verdict = result == 'p' ? "up" : "degraded";
    const bool fails = windowed ? halves_within(policy.window, now) >= 2
                                : halves_in_a_row() >= 2 * static_cast<int>(policy.retry);
    if (!pass && verdict != "down" && fails) verdict = "down", halves.clear();
  }
  void ask() {
    ++last_sent;
    open_question = true;
  }
  std::string admitted(bool grace) const {
    if (verdict == "down") return grace ? "old" : "nobody";
    if (verdict == "none" || oper == Operator::dis) return "old";
    return verdict == "degraded" ? "all at last" : "all";
  }
};

enum class Happening { due, pass, fail, late, hint, operate, policy, degrade, unfit, half, wait, unasked };
using enum Happening;
constexpr Happening kPlain[] = {due, pass, fail, late, hint, operate, policy};
constexpr Happening kGraded[] = {due, pass, degrade, unfit, fail, half, wait, policy, unasked};
const std::string kNames[] = {"none", "up", "down", "degraded"};

struct Walk {
  const Policy* policies;  // the second is what `policy` changes to, and back
  std::span<const Happening> happenings = kPlain;
  std::uint64_t checked = 0;

  struct Place {
    Model model;
    State state;
    bool operating = true;
    int policy = 0;
    seconds now{0};
  };

  static void model_step(Place& place, const Policy& policy, Happening happening) {
    Model& model = place.model;
    const auto answer = [&](char result) {
      if (model.open_question) model.settle(policy, result, place.now);
    };
    switch (happening) {
      case Happening::due:
        answer('f');
        model.hinted = false;
        return model.ask();
      case Happening::pass:
        return answer('p');
      case Happening::degrade:
        return answer('d');
      case Happening::fail:
      case Happening::unfit:
        return answer('f');
      case Happening::half:
        return answer('h');
      case Happening::hint:
        if (model.open_question || model.hinted) return;
        model.hinted = true;
        return model.ask();
      case Happening::operate:  // /oper/slb/dis and ena in turn
        model.oper = model.oper == Model::Operator::ena ? Model::Operator::dis : Model::Operator::ena;
        return;
      case Happening::policy:  // the probe in flight is given up without a result
        model.hinted = false;
        if (policy.window == seconds(0)) model.halves.clear();  // a window that begins anew knows nothing
        return model.ask();
      case Happening::unasked:  // the question was never put
        model.open_question = false;
        return;
      case Happening::late:
      case Happening::wait:
        return;
    }
  }

  static void real_step(Place& place, const Policy& policy, Happening happening) {
    const auto feed = [&](const Event& event) { place.state = step(policy, place.state, event).state; };
    const Attempt now = place.state.attempt;
    switch (happening) {
      case Happening::due:
        return feed(Due{});
      case Happening::pass:
        return feed(Passed{now});
      case Happening::degrade:
        return feed(Passed{now, kDegraded});
      case Happening::unfit:
        return feed(Passed{now, kUnavailable});
      case Happening::fail:
        return feed(Failed{now, kComplete, place.now});
      case Happening::half:
        return feed(Failed{now, kComplete / 2, place.now});
      case Happening::wait:
        place.now += seconds(1);
        return;
      case Happening::late:
        feed(Passed{now - 1});
        return feed(Failed{now - 1});
      case Happening::unasked:
        return feed(Unasked{now});
      case Happening::hint:
        return feed(TrafficFailed{});
      case Happening::operate:
        place.operating = !place.operating;
        return;
      case Happening::policy:
        return feed(PolicyChanged{});
    }
  }

  void compare(const Place& place) {
    ++checked;
    ASSERT_EQ(place.model.verdict, kNames[static_cast<int>(place.state.health)]) << place.state;
    ASSERT_EQ(place.model.open_question, place.state.awaiting) << place.state;
    ASSERT_EQ(place.model.last_sent, place.state.attempt) << place.state;
    const std::string admits[] = {"nobody", "old", "all", "all at last"};
    for (const bool grace : {false, true})
      ASSERT_EQ(place.model.admitted(grace),
                admits[static_cast<int>(admission(
                    {.health = place.state.health, .operating = place.operating, .grace = grace}))]);
  }

  void go(const Place& place, int left) {
    compare(place);
    if (left == 0 || testing::Test::HasFatalFailure()) return;
    for (const Happening happening : happenings) {
      Place next = place;
      if (happening == Happening::policy) next.policy ^= 1;
      model_step(next, policies[next.policy], happening);
      real_step(next, policies[next.policy], happening);
      go(next, left - 1);
    }
  }
};

constexpr int kDepth = 8;        // of arbitrary events: 7^8 sequences from each start
constexpr int kGradedDepth = 7;  // 9^0 + ... + 9^7
constexpr int kDeepDepth = 14;   // of answers only, see below

std::uint64_t walk_from(Health start, Walk walk, int depth) {
  Walk::Place place;
  place.state.health = start;
  place.model.verdict = kNames[static_cast<int>(start)];
  walk.go(place, depth);
  return walk.checked;
}

void walk_plain(Health start, const Policy (&policies)[2]) {
  EXPECT_EQ(walk_from(start, {.policies = policies}, kDepth), 6'725'601u);  // 7^0 + ... + 7^8
}

void walk_graded(Health start, const Policy (&policies)[2]) {
  EXPECT_EQ(walk_from(start, {.policies = policies, .happenings = kGraded}, kGradedDepth), 5'380'840u);
}

constexpr Health kStarts[] = {Health::unknown, Health::up, Health::down, Health::degraded};

TEST(ServiceModel, AgreesOnEverySequenceOfEightEventsFromEveryHealth) {
  for (const Health start : {Health::unknown, Health::up, Health::down})
    walk_plain(start, {{seconds(2), 1, 2}, {seconds(1), 2, 1}});
}

TEST(ServiceModel, AgreesOnEverySequenceOfEightEventsWithLongRows) {
  walk_plain(Health::up, {{seconds(2), 2, 3}, {seconds(2), 3, 2}});
}

TEST(ServiceModel, AgreesOnEverySequenceOfSevenGradedEvents) {
  for (const Health start : kStarts) walk_graded(start, {{.retry = 2, .restr = 2}, {.retry = 1, .restr = 1}});
}

TEST(ServiceModel, AgreesOnEverySequenceOfSevenGradedEventsWithAWindow) {
  for (const Health start : kStarts)
    walk_graded(start, {{.restr = 1, .window = seconds(2)}, {.restr = 2, .window = seconds(1)}});
}

TEST(ServiceModel, AgreesWhereAWindowComesAndGoes) {
  walk_graded(Health::up, {{.retry = 2, .restr = 1, .window = seconds(2)}, {.retry = 2, .restr = 1}});
}

/// Every sequence of answers to fourteen probes in a row: pass, fail.
TEST(ServiceModel, AgreesOnEverySequenceOfFourteenAnswers) {
  const Policy policy{seconds(2), 3, 4};
  for (unsigned answers = 0; answers < 1u << kDeepDepth; ++answers) {
    Model model;
    State state;
    for (int i = 0; i < kDeepDepth; ++i) {
      const bool pass = answers >> i & 1;
      model.settle(policy, pass ? 'p' : 'f');
      state = probed(policy, state, pass);
      ASSERT_EQ(model.verdict, kNames[static_cast<int>(state.health)]) << answers << " " << i;
    }
  }
}

}  // namespace
}  // namespace headgate::health
