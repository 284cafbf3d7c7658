// SPDX-License-Identifier: Apache-2.0
#include "controlplane/daemon/monitor.h"

#include "controlplane/daemon/engine_fixture.h"

// One target and what its probes find. Mission B, reference 9.
namespace headgate::daemon {
namespace {

using health::Health;
using std::chrono::microseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::Field;

constexpr health::Bands kBands{.degrade_above = 1'000'000,
                               .restore_below = 500'000,
                               .fail_above = 1'800'000,
                               .recover_below = 1'500'000};

class MonitorTest : public testing::Test {
 protected:
  MonitorTest() {
    monitor_.begin();
    watch();
  }
  /// With the policy as it is now; the first probe is answered, and each check() has one of its own.
  void watch() {
    monitor_.configure({{key_, {.address = Ipv4{kServer1}, .policy = policy_, .enabled = true}}}, false);
    time_.pass(milliseconds(1999));
  }
  /// One more probe, answered after so long.
  void check(milliseconds took) {
    prober_.took[{kServer1, 80}] = took;
    time_.pass(seconds(2));
  }
  const Watched& watched() const { return monitor_.targets().at(key_); }
  Health health() const { return watched().state.health; }

  const TargetKey key_{1, 80, Protocol::tcp, "tcp"};
  health::Policy policy_{.inter = seconds(2), .retry = 2, .restr = 2, .response = kBands};
  FakeTime time_;
  FakeProber prober_{time_};
  int verdicts_ = 0;
  Monitor monitor_{prober_, time_, time_, [this](const TargetKey&) { ++verdicts_; }};
};

TEST_F(MonitorTest, AFaultOfThisMachineTakesNobodyDown) {
  prober_.exhausted = true;
  for (int i = 0; i < 10; ++i) check(milliseconds(1));
  EXPECT_EQ(health(), Health::up);
  prober_.exhausted = false;
  prober_.down.insert({kServer1, 80});
  check(milliseconds(1));
  check(milliseconds(1));
  EXPECT_EQ(health(), Health::down);
}

TEST_F(MonitorTest, ASlowServerIsDegradedAndRestoredByTheTighterBound) {
  check(milliseconds(900));
  EXPECT_EQ(health(), Health::up);
  check(milliseconds(1100));
  EXPECT_EQ(health(), Health::degraded);
  EXPECT_EQ(watched().reason, "answered in 1100 ms, slower than 1000 ms");
  check(milliseconds(700));
  EXPECT_EQ(health(), Health::degraded);
  EXPECT_EQ(watched().reason, "answered in 700 ms, not yet faster than 500 ms");
  check(milliseconds(400));
  EXPECT_EQ(health(), Health::up);
  EXPECT_EQ(watched().reason, "answered in 400 ms");
  EXPECT_EQ(verdicts_, 3);
}

TEST_F(MonitorTest, ScoresFollowTheTimeWithinTheGrade) {
  check(milliseconds(1));
  EXPECT_EQ(watched().state.score, 10);
  check(milliseconds(500));
  EXPECT_EQ(watched().state.score, 6);
  check(milliseconds(1001));
  EXPECT_EQ(watched().state.score, 7) << "of the range from 500 to 1800 ms";
}

TEST_F(MonitorTest, TooSlowIsAFailureThatCountsLikeAnyOther) {
  check(milliseconds(1));
  check(milliseconds(1900));
  EXPECT_EQ(health(), Health::up) << "retry is 2";
  check(milliseconds(1900));
  EXPECT_EQ(health(), Health::down);
  EXPECT_EQ(watched().reason, "answered in 1900 ms, slower than 1800 ms");
  for (int i = 0; i < 3; ++i) check(milliseconds(1600));
  EXPECT_EQ(health(), Health::down);
  EXPECT_EQ(watched().reason, "answered in 1600 ms, not yet faster than 1500 ms");
  for (int i = 0; i < 2; ++i) check(milliseconds(600));
  EXPECT_EQ(health(), Health::degraded);
}

TEST_F(MonitorTest, TheWorseOfTimeAndTheChecksOwnReadingDecides) {
  prober_.readings[{kServer1, 80}] = {health::Grade::degraded, 4};
  check(milliseconds(1));
  EXPECT_EQ(health(), Health::degraded);
  EXPECT_EQ(watched().state.score, 4);
}

TEST_F(MonitorTest, PartsOfFailuresAddUpWithinTheWindow) {
  policy_.window = seconds(60);
  watch();
  prober_.failure = 50;
  prober_.down = {{kServer1, 80}};
  check(milliseconds(1));
  EXPECT_EQ(health(), Health::up);
  prober_.down.clear();
  check(milliseconds(1));
  prober_.down = {{kServer1, 80}};
  check(milliseconds(1));
  EXPECT_EQ(health(), Health::down) << "two halves, whatever passed in between";
}

TEST_F(MonitorTest, PartsOfFailuresOutsideTheWindowAreForgotten) {
  policy_.window = seconds(6);
  watch();
  prober_.failure = 50;
  for (int i = 0; i < 5; ++i) {
    prober_.down = {{kServer1, 80}};
    check(milliseconds(1));
    EXPECT_EQ(health(), Health::up);
    prober_.down.clear();
    for (int pass = 0; pass < 3; ++pass) check(milliseconds(1));
  }
}

TEST_F(MonitorTest, TheLastTwentyChangesAreKeptWithTheirReasons) {
  for (int i = 0; i < 30; ++i) check(milliseconds(i % 2 == 0 ? 1 : 1200));
  const auto& changes = watched().changes;
  ASSERT_EQ(changes.size(), Watched::kChanges);
  EXPECT_EQ(changes.back(), (Change{time_.unix_ms() - 1999 + 1200, Health::up, Health::degraded,
                                    "answered in 1200 ms, slower than 1000 ms"}));
  for (std::size_t i = 1; i < changes.size(); ++i) {
    EXPECT_EQ(changes[i].from, changes[i - 1].to);
    EXPECT_GT(changes[i].unix_ms, changes[i - 1].unix_ms);
  }
}

TEST_F(MonitorTest, KnowsHowLongTheLastCheckTookAndWhenTheNextOneIsDue) {
  prober_.took[{kServer1, 80}] = milliseconds(300);
  time_.pass(milliseconds(1000));
  EXPECT_EQ(watched().took, milliseconds(300));
  EXPECT_EQ(monitor_.next_check_unix_ms(watched()), time_.unix_ms() + 1001);
  policy_.inter = seconds(0);
  watch();
  EXPECT_EQ(monitor_.next_check_unix_ms(watched()), 0u) << "it is never checked";
}

TEST_F(MonitorTest, BandsThatAreGoneDegradeNobody) {
  check(milliseconds(1200));
  EXPECT_EQ(health(), Health::degraded);
  policy_.response = {};
  watch();
  check(milliseconds(1200));
  EXPECT_EQ(health(), Health::up);
}

TEST_F(MonitorTest, AScoreIsToldWhenItHasChanged) {
  check(milliseconds(1));
  (void)monitor_.measured_news({}, 9).states;
  EXPECT_EQ(monitor_.measured_news({}, 9).states.target_size(), 0);
  prober_.readings[{kServer1, 80}] = {health::Grade::available, 9};
  check(milliseconds(1));
  const forwarding::States news = monitor_.measured_news({}, 9).states;
  ASSERT_EQ(news.target_size(), 1);
  EXPECT_EQ(news.target(0).score(), 9u);
  EXPECT_EQ(monitor_.measured_news({}, 9).states.target_size(), 0);
}

// Reports 5: the time that we were stopped for is not the server's.
TEST_F(MonitorTest, AnAnswerThatWasReadLateDegradesNobody) {
  prober_.took[{kServer1, 80}] = milliseconds(10);
  time_.pass(milliseconds(2));  // the next probe is under way
  time_.stall(milliseconds(1500));
  EXPECT_EQ(health(), Health::up);
  check(milliseconds(1200));
  EXPECT_EQ(health(), Health::degraded) << "but one that is slow does";
  prober_.took[{kServer1, 80}] = milliseconds(10);
  time_.pass(milliseconds(2));
  time_.stall(milliseconds(1500));
  EXPECT_EQ(health(), Health::degraded) << "nor does it restore anybody";
}

}  // namespace
}  // namespace headgate::daemon
