// SPDX-License-Identifier: Apache-2.0
#include "controlplane/health/remedy.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace headgate::health {
namespace {

using std::chrono::seconds;
using Done = std::vector<std::optional<Remedy>>;

constexpr auto kNothing = std::nullopt;
constexpr std::optional<Remedy> kRestart = Remedy::restart;
constexpr std::optional<Remedy> kFailover = Remedy::failover;

const Policy kWindowed{.inter = seconds(1), .window = seconds(10)};
const Policy kRow{.inter = seconds(1), .retry = 2};
const Remedies kBoth{.restart = "r", .failover = "f", .rcount = 2, .window = seconds(10)};

/// A service whose checks come once a second.
class Story {
 public:
  explicit Story(Policy policy = kWindowed, Remedies remedies = kBoth)
      : policy_(policy), remedies_(std::move(remedies)) {}

  std::optional<Remedy> fails(Part part = kComplete) {
    return checked({.failed = part, .health = Health::down});
  }
  std::optional<Remedy> demands() {
    return checked({.failed = kComplete, .health = Health::down, .demands_failover = true});
  }
  std::optional<Remedy> passes_while_down() { return checked({.health = Health::down}); }
  std::optional<Remedy> is_back() { return checked({}); }
  std::optional<Remedy> checked(Checked event) {
    event.at = now_ += seconds(1);
    RemedyStep step = health::checked(policy_, remedies_, state_, event);
    state_ = std::move(step.state);
    return step.remedy;
  }
  Story& ends() {
    state_ = ended(state_);
    return *this;
  }
  Story& wait(seconds span) {
    now_ += span;
    return *this;
  }

 private:
  Policy policy_;
  Remedies remedies_;
  RemedyState state_;
  Moment now_{0};
};

TEST(Remedy, RestartsAServiceThatGoesDownThenFailsItOverOnce) {
  Story story;
  EXPECT_EQ(story.fails(), kRestart);
  EXPECT_EQ(story.ends().fails(), kRestart);
  EXPECT_EQ(story.ends().fails(), kFailover);
  EXPECT_EQ(story.ends().fails(), kNothing);
  EXPECT_EQ(story.wait(seconds(100)).fails(), kNothing) << "it has gone elsewhere";
}

TEST(Remedy, IsOneAtATime) {
  Story story;
  EXPECT_EQ(story.fails(), kRestart);
  EXPECT_EQ(story.fails(), kNothing);
  EXPECT_EQ(story.demands(), kNothing);
  EXPECT_EQ(story.ends().fails(), kRestart);
}

TEST(Remedy, FollowsAServiceThatIsBackOnlyWhenItFailsAnew) {
  Story story;
  EXPECT_EQ(story.fails(), kRestart);
  EXPECT_EQ(story.ends().is_back(), kNothing);
  EXPECT_EQ(story.fails(), kRestart);
  EXPECT_EQ(story.ends().is_back(), kNothing);
  EXPECT_EQ(story.fails(), kFailover) << "it was restarted twice within the window";
  EXPECT_EQ(story.ends().is_back(), kNothing);
  EXPECT_EQ(story.fails(), kFailover) << "once for each time that it is down";
  EXPECT_EQ(story.ends().is_back(), kNothing);
  EXPECT_EQ(story.wait(seconds(10)).fails(), kRestart) << "the window is over";
}

TEST(Remedy, OfAServiceThatStaysDownTakesAsMuchAsItsVerdictDid) {
  Story story;
  EXPECT_EQ(story.fails(), kRestart);
  EXPECT_EQ(story.ends().fails(50), kNothing);
  EXPECT_EQ(story.fails(50), kRestart);
  EXPECT_EQ(story.ends().fails(50), kNothing);
  EXPECT_EQ(story.wait(seconds(10)).fails(50), kNothing) << "the first has left the window";
  EXPECT_EQ(story.fails(50), kRestart) << "and so have the restarts";
}

TEST(Remedy, WithoutAWindowCountsFailuresInARow) {
  Story story(kRow);
  EXPECT_EQ(story.fails(), kRestart);
  EXPECT_EQ(story.ends().fails(), kNothing);
  EXPECT_EQ(story.passes_while_down(), kNothing);
  EXPECT_EQ(story.fails(), kNothing);
  EXPECT_EQ(story.fails(), kRestart);
}

TEST(Remedy, IsTheFailoverAtOnceWhenThatIsDemandedOrNothingElseIsLeft) {
  EXPECT_EQ(Story().demands(), kFailover);
  Story later;
  EXPECT_EQ(later.fails(), kRestart);
  EXPECT_EQ(later.ends().demands(), kFailover);
  EXPECT_EQ(Story(kWindowed, {.restart = "r", .failover = "f", .rcount = 0}).fails(), kFailover);
  EXPECT_EQ(Story(kWindowed, {.failover = "f"}).fails(), kFailover);
  EXPECT_EQ(Story(kWindowed, {.restart = "r"}).demands(), kRestart) << "there is no failover";
  EXPECT_EQ(Story(kWindowed, {}).fails(), kNothing);
}

TEST(Remedy, OfAServiceThatIsDisabledIsNoneUntilItIsEnabledAndFails) {
  Story story;
  EXPECT_EQ(story.checked({.failed = kComplete, .health = Health::down, .ours = false}), kNothing);
  EXPECT_EQ(story.passes_while_down(), kNothing);
  EXPECT_EQ(story.fails(50), kNothing);
  EXPECT_EQ(story.fails(50), kRestart);
}

TEST(Remedy, ThatWasNotBegunDoesNotCount) {
  const Checked down{.at = Moment(1), .failed = kComplete, .health = Health::down};
  const Remedies once{.restart = "r", .failover = "f", .rcount = 1};
  const RemedyStep restart = checked({.retry = 1}, once, {}, down);
  EXPECT_EQ(withdrawn(restart.state, Remedy::restart), (RemedyState{.down = true}));
  const RemedyStep failover = checked({.retry = 1}, {.failover = "f"}, {}, down);
  EXPECT_EQ(withdrawn(failover.state, Remedy::failover), (RemedyState{.down = true}));
}

// ---- All there is, some steps deep

/// What has happened, by which each step is judged.
struct Past {
  std::vector<Moment> restarts;
  std::vector<Partial> failures;  ///< that count
  bool down = false;
  bool under_way = false;
  bool failed_over = false;  ///< since it is down
};

class Walk {
 public:
  Walk(Policy policy, Remedies remedies) : policy_(policy), remedies_(std::move(remedies)) {}

  void from(const RemedyState& state, const Past& past, Moment at, int steps) {
    if (steps == 0) return;
    if (past.under_way) end(state, past, at, steps);
    for (const Checked& kind : kinds()) {
      Checked event = kind;
      event.at = at + seconds(1);
      check(state, past, event, steps);
    }
  }

  std::size_t steps_taken = 0;

 private:
  static std::vector<Checked> kinds() {
    std::vector<Checked> all{{}, {.health = Health::down}, {.health = Health::degraded}};
    for (const Part part : {50u, 100u}) all.push_back({.failed = part, .health = Health::down});
    all.push_back({.failed = 50, .health = Health::up});
    all.push_back({.failed = 100, .health = Health::unknown});
    all.push_back({.failed = 100, .health = Health::down, .demands_failover = true});
    all.push_back({.failed = 100, .health = Health::down, .ours = false});
    return all;
  }

  void end(const RemedyState& state, Past past, Moment at, int steps) {
    past.under_way = false;
    past.failures.clear();
    const RemedyState after = ended(state);
    ASSERT_FALSE(after.under_way);
    from(after, past, at, steps - 1);
  }

  void check(const RemedyState& state, Past past, const Checked& event, int steps) {
    ++steps_taken;
    const RemedyStep step = checked(policy_, remedies_, state, event);
    const std::optional<Remedy> expected = judge(past, event);
    ASSERT_EQ(step.remedy, expected) << state << " -> " << step;
    ASSERT_EQ(step.state.under_way, past.under_way) << step;
    ASSERT_LE(step.state.restarts.size(), std::size_t{remedies_.rcount});
    from(step.state, past, event.at, steps - 1);
  }

  /// What has to be done, from all that has happened.
  std::optional<Remedy> judge(Past& past, const Checked& event) const {
    const bool fell = !past.down;
    past.down = event.health == Health::down && event.ours;
    if (!past.down) {
      past.failures.clear();
      if (event.health != Health::unknown) past.failed_over = false;
      return std::nullopt;
    }
    if (event.failed == 0 && policy_.window.count() == 0) past.failures.clear();
    if (event.failed == 0 || past.under_way) return std::nullopt;
    past.failures.push_back({event.at, event.failed});
    if (!fell && !demanded(event) && !enough(past.failures, event.at)) return std::nullopt;
    past.failures.clear();
    const auto remedy = past.failed_over ? std::nullopt : allowed(past, event);
    past.under_way = remedy.has_value();
    past.failed_over |= remedy == Remedy::failover;
    if (remedy == Remedy::restart) past.restarts.push_back(event.at);
    return remedy;
  }

  bool demanded(const Checked& event) const { return event.demands_failover && !remedies_.failover.empty(); }

  bool enough(const std::vector<Partial>& failures, Moment now) const {
    Part sum = 0;
    for (const Partial& failure : failures)
      if (policy_.window.count() == 0 || now - failure.at < policy_.window) sum += failure.part;
    return sum >= (policy_.window.count() == 0 ? policy_.retry * kComplete : kComplete);
  }

  std::optional<Remedy> allowed(const Past& past, const Checked& event) const {
    const auto recent =
        std::ranges::count_if(past.restarts, [&](Moment then) { return event.at - then < remedies_.window; });
    const bool may_restart = !remedies_.restart.empty() && recent < std::ptrdiff_t{remedies_.rcount};
    if (may_restart && !demanded(event)) return Remedy::restart;
    return remedies_.failover.empty() ? std::nullopt : std::optional(Remedy::failover);
  }

  Policy policy_;
  Remedies remedies_;
};

TEST(Remedy, IsWhatThePastDemandsInAllThatCanHappen) {
  constexpr int kSteps = 6;
  std::size_t taken = 0;
  for (const Policy& policy : {Policy{.inter = seconds(1), .window = seconds(3)}, kRow})
    for (const Remedies& remedies :
         {Remedies{.restart = "r", .failover = "f", .rcount = 1, .window = seconds(3)},
          Remedies{.restart = "r", .rcount = 2, .window = seconds(4)},
          Remedies{.failover = "f", .rcount = 2, .window = seconds(3)}}) {
      Walk walk(policy, remedies);
      walk.from({}, {}, Moment(0), kSteps);
      taken += walk.steps_taken;
      if (HasFatalFailure()) return;
    }
  EXPECT_GT(taken, 1'000'000u);
}

// ---- What the screens say that counts

TEST(Counted, IsWhatTheVerdictRestsOn) {
  State state{.health = Health::up, .failed = 150};
  state.partials[0] = {Moment(1000), 50};
  state.partials[1] = {Moment(5000), 25};
  EXPECT_EQ(counted(kRow, state, Moment(6000)), 150u);
  EXPECT_EQ(counted(kWindowed, state, Moment(6000)), 75u);
  EXPECT_EQ(counted(kWindowed, state, Moment(11000)), 25u);
  state.health = Health::down;
  EXPECT_EQ(counted(kWindowed, state, Moment(11000)), kComplete);
}

}  // namespace
}  // namespace headgate::health
