// SPDX-License-Identifier: Apache-2.0
#include "controlplane/daemon/monitor.h"

#include "controlplane/daemon/engine_fixture.h"

// A target whose check reads numbers that have bounds. Mission B.3 and B.4.
namespace headgate::daemon {
namespace {

using health::Health;
using std::chrono::seconds;

class MonitorMeasures : public testing::Test {
 protected:
  MonitorMeasures() {
    monitor_.begin();
    configure(monitor_);
    time_.pass(milliseconds(1999));
  }
  void configure(Monitor& monitor) const {
    monitor.configure({{key_, {.address = Ipv4{kServer1}, .policy = policy_, .enabled = true}}}, false);
  }
  void check(health::Measure backlog, health::Measure age = 0) {
    prober_.measured[{kServer1, 80}] = {{"missing-changes", backlog}, {"age", age}};
    time_.pass(seconds(2));
  }
  const Watched& watched() const { return monitor_.targets().at(key_); }
  Health health() const { return watched().state.health; }

  const TargetKey key_{1, 80, Protocol::tcp, "ldap"};
  health::Policy policy_{.inter = seconds(2),
                         .retry = 2,
                         .restr = 2,
                         .measures = {{"missing-changes", {.degrade_above = 1000, .restore_below = 500}},
                                      {"age", {.degrade_above = 60, .fail_above = 300}}}};
  FakeTime time_;
  FakeProber prober_{time_};
  int verdicts_ = 0;
  Monitor monitor_{prober_, time_, time_, [this](const TargetKey&) { ++verdicts_; }};
};

TEST_F(MonitorMeasures, ABacklogDegradesAndIsNamed) {
  check(1200);
  EXPECT_EQ(health(), Health::degraded);
  EXPECT_EQ(watched().reason, "answered in 1 ms, missing-changes 1200, more than 1000");
  check(700);
  EXPECT_EQ(health(), Health::degraded);
  EXPECT_EQ(watched().reason, "answered in 1 ms, missing-changes 700, not yet less than 500");
  check(499);
  EXPECT_EQ(health(), Health::up);
  EXPECT_EQ(watched().reason, "answered in 1 ms");
}

TEST_F(MonitorMeasures, ThatFailIsAFailureThatCountsLikeAnyOther) {
  check(0);
  check(0, 301);
  EXPECT_EQ(health(), Health::up) << "retry is 2";
  check(0, 301);
  EXPECT_EQ(health(), Health::down);
  EXPECT_EQ(watched().reason, "answered in 1 ms, age 301, more than 300");
}

TEST_F(MonitorMeasures, AFailureInBetweenForgetsNoGrade) {
  check(1200);
  prober_.down = {{kServer1, 80}};
  check(0);
  prober_.down.clear();
  check(700);
  EXPECT_EQ(health(), Health::degraded);
}

TEST_F(MonitorMeasures, KeepTheirGradeThroughARestart) {
  check(1200);
  const forwarding::States known = monitor_.whole();
  monitor_.configure({}, false);
  Monitor next(prober_, time_, time_, [](const TargetKey&) {});
  configure(next);
  next.adopt(known);
  next.begin();
  check(700);
  EXPECT_EQ(next.targets().at(key_).state.health, Health::degraded);
}

// Mission B.3, over everything that decides.
TEST_F(MonitorMeasures, AServerNearABoundFlipsOnlyAsOftenAsItCrossesBoth) {
  bool over = false;
  int crossings = 0;
  std::uint64_t random = 1;
  int value = 750;
  verdicts_ = 0;
  for (int i = 0; i < 100'000; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    value = std::clamp(value + static_cast<int>(random >> 33U) % 81 - 40, 0, 2000);
    check(static_cast<health::Measure>(value));
    if (over ? value >= 500 : value <= 1000) continue;
    over = !over;
    ++crossings;
  }
  EXPECT_EQ(verdicts_, crossings);
  EXPECT_GT(crossings, 10);
  EXPECT_LT(crossings, 1000);
}

}  // namespace
}  // namespace headgate::daemon
