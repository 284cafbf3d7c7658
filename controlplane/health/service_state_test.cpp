// SPDX-License-Identifier: Apache-2.0
#include "controlplane/health/service_state.h"

#include "controlplane/health/admission.h"

#include <string>

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
            (Step{{.health = Health::up, .successes = 1, .attempt = 1}, {Report{Health::up}}}));
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
  EXPECT_EQ(step(policy, waiting, Due{}),
            (Step{{.health = Health::down, .failures = 1, .attempt = 6, .awaiting = true},
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
  const State waiting{.health = Health::up, .failures = 1, .attempt = 5, .awaiting = true};
  const Step next = step({.inter = seconds(1), .retry = 2}, waiting, PolicyChanged{});
  EXPECT_EQ(next, (Step{{.health = Health::up, .failures = 1, .attempt = 6, .awaiting = true},
                        {Send{6}, Wake{seconds(1)}}}));
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

// ---- Against a reference model, written from the prose of the reference and of mission A without looking at
// step(): it remembers what happened to each probe as text and derives the verdict from that history.

struct Model {
  enum class Operator { ena, dis } oper = Operator::ena;
  std::string verdict = "none";
  std::string results;  // of settled probes since the last change of verdict: 'p' or 'f'
  std::uint64_t last_sent = 0;
  bool open_question = false;
  bool hinted = false;

  bool ends_with(char result, std::size_t times) const {
    if (results.size() < times) return false;
    for (std::size_t i = 0; i < times; ++i)
      if (results[results.size() - 1 - i] != result) return false;
    return true;
  }
  void settle(const Policy& policy, char result) {
    open_question = false;
    results.push_back(result);
    if (verdict == "none" && result == 'p') verdict = "up";
    if (verdict == "down" && ends_with('p', policy.restr)) verdict = "up";
    if (verdict != "down" && ends_with('f', policy.retry)) verdict = "down";
  }
  void ask() {
    ++last_sent;
    open_question = true;
  }
  std::string admitted(bool grace) const {
    if (verdict == "down") return grace ? "old" : "nobody";
    if (verdict == "none" || oper == Operator::dis) return "old";
    return "all";
  }
};

enum class Happening { due, pass, fail, late, hint, operate, policy };
constexpr Happening kHappenings[] = {Happening::due,  Happening::pass,    Happening::fail,  Happening::late,
                                     Happening::hint, Happening::operate, Happening::policy};

struct Walk {
  const Policy* policies;  // the second is what `policy` changes to, and back
  std::uint64_t checked = 0;

  struct Place {
    Model model;
    State state;
    bool operating = true;
    int policy = 0;
  };

  static void model_step(Model& model, const Policy& policy, Happening happening) {
    switch (happening) {
      case Happening::due:
        if (model.open_question) model.settle(policy, 'f');
        model.hinted = false;
        return model.ask();
      case Happening::pass:
        if (model.open_question) model.settle(policy, 'p');
        return;
      case Happening::fail:
        if (model.open_question) model.settle(policy, 'f');
        return;
      case Happening::hint:
        if (model.open_question || model.hinted) return;
        model.hinted = true;
        return model.ask();
      case Happening::operate:  // /oper/slb/dis and ena in turn
        model.oper = model.oper == Model::Operator::ena ? Model::Operator::dis : Model::Operator::ena;
        return;
      case Happening::policy:  // the probe in flight is given up without a result
        model.hinted = false;
        return model.ask();
      case Happening::late:
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
      case Happening::fail:
        return feed(Failed{now});
      case Happening::late:
        feed(Passed{now - 1});
        return feed(Failed{now - 1});
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
    const std::string names[] = {"none", "up", "down"};
    ASSERT_EQ(place.model.verdict, names[static_cast<int>(place.state.health)]) << place.state;
    ASSERT_EQ(place.model.open_question, place.state.awaiting) << place.state;
    ASSERT_EQ(place.model.last_sent, place.state.attempt) << place.state;
    const std::string admits[] = {"nobody", "old", "all"};
    for (const bool grace : {false, true})
      ASSERT_EQ(place.model.admitted(grace),
                admits[static_cast<int>(admission(
                    {.health = place.state.health, .operating = place.operating, .grace = grace}))]);
  }

  void go(const Place& place, int left) {
    compare(place);
    if (left == 0 || testing::Test::HasFatalFailure()) return;
    for (const Happening happening : kHappenings) {
      Place next = place;
      if (happening == Happening::policy) next.policy ^= 1;
      model_step(next.model, policies[next.policy], happening);
      real_step(next, policies[next.policy], happening);
      go(next, left - 1);
    }
  }
};

constexpr int kDepth = 8;       // of arbitrary events: 7^8 sequences from each start
constexpr int kDeepDepth = 14;  // of answers only, see below

void walk_from(Health start, const Policy (&policies)[2]) {
  const std::string names[] = {"none", "up", "down"};
  Walk walk{.policies = policies};
  Walk::Place place;
  place.state.health = start;
  place.model.verdict = names[static_cast<int>(start)];
  walk.go(place, kDepth);
  EXPECT_EQ(walk.checked, 6'725'601u);  // 7^0 + ... + 7^8: nothing was skipped
}

TEST(ServiceModel, AgreesOnEverySequenceOfEightEventsFromEveryHealth) {
  for (const Health start : {Health::unknown, Health::up, Health::down})
    walk_from(start, {{seconds(2), 1, 2}, {seconds(1), 2, 1}});
}

TEST(ServiceModel, AgreesOnEverySequenceOfEightEventsWithLongRows) {
  walk_from(Health::up, {{seconds(2), 2, 3}, {seconds(2), 3, 2}});
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
      const std::string names[] = {"none", "up", "down"};
      ASSERT_EQ(model.verdict, names[static_cast<int>(state.health)]) << answers << " " << i;
    }
  }
}

}  // namespace
}  // namespace headgate::health
