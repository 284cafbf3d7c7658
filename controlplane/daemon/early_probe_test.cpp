// SPDX-License-Identifier: Apache-2.0
#include "controlplane/daemon/engine_fixture.h"

// Probes that failures of traffic bring forward. Mission B.2.
namespace headgate::daemon {
namespace {

using std::chrono::seconds;

constexpr std::pair<std::uint32_t, L4Port> kWeb{kServer1, 8080};
constexpr milliseconds kInter{2000};

class EarlyProbeTest : public EngineTest {
 protected:
  void traffic_fails(std::uint32_t real = 1) {
    forwarding::Report report;
    *report.mutable_traffic_failure()->mutable_target() =
        config::to_message({real, 8080, Protocol::tcp, "tcp"});
    report.mutable_traffic_failure()->set_refused(1);
    engine_->dataplane_report(report);
  }
  /// So many failures, so far apart; the dataplane would tell no more than one a second.
  void storm(int failures, milliseconds apart) {
    for (int i = 0; i < failures; ++i) {
      traffic_fails();
      time_->pass(apart);
    }
  }
  /// The most probes of a service within any span of one interval.
  std::size_t busiest_interval() const {
    const auto& sent = prober_->sent.at(kWeb);
    std::size_t most = 0;
    for (auto first = sent.begin(); first != sent.end(); ++first) {
      const auto end = std::lower_bound(first, sent.end(), *first + kInter);
      most = std::max(most, static_cast<std::size_t>(end - first));
    }
    return most;
  }
};

TEST_F(EarlyProbeTest, AFailureIsFollowedByAProbeOfItsTargetAtOnce) {
  start_lab();
  const int before = prober_->probes;
  traffic_fails();
  EXPECT_EQ(prober_->probes, before + 1) << "no time has passed";
  EXPECT_EQ(prober_->sent.at(kWeb).back(), time_->now());
}

TEST_F(EarlyProbeTest, AnyFirstFailureAfterARegularProbeIsFollowedAtOnce) {
  start_lab();
  for (int i = 0; i < 50; ++i) {
    time_->pass(milliseconds(2000 + 37 * i % 1900));
    const auto before = prober_->sent.at(kWeb).size();
    traffic_fails();
    EXPECT_EQ(prober_->sent.at(kWeb).size(), before + 1) << i;
  }
}

TEST_F(EarlyProbeTest, AStormNoMoreThanDoublesTheRate) {
  start_lab();
  prober_->sent.clear();
  storm(1200, milliseconds(50));
  EXPECT_EQ(busiest_interval(), 2u);
  EXPECT_GE(prober_->sent.at(kWeb).size(), 50u) << "a minute's worth, and some early ones";
  EXPECT_LE(prober_->sent.at(kWeb).size(), 60u);
}

TEST_F(EarlyProbeTest, AStormNeverDelaysDetection) {
  start_lab();
  prober_->down = {kWeb};
  storm(160, milliseconds(50));
  EXPECT_EQ(dataplane_.admission(1, 8080), forwarding::CLOSED) << "retry 4, inter 2: eight seconds";
}

TEST_F(EarlyProbeTest, ThereIsNeverMoreThanOneProbeOfATargetInFlight) {
  start_lab();
  prober_->silent = {kWeb};
  time_->pass(kInter);  // one is in flight
  const auto before = prober_->sent.at(kWeb).size();
  storm(10, milliseconds(10));
  EXPECT_EQ(prober_->sent.at(kWeb).size(), before);
  prober_->given_up = 0;
  storm(200, milliseconds(50));
  EXPECT_LE(prober_->given_up, 5) << "only a regular one takes the place of one that had its whole interval";
}

TEST_F(EarlyProbeTest, AFailureOfOneTargetProbesNoOther) {
  start_lab();
  const int before = prober_->probes;
  const auto others = prober_->sent.at({kServer1, 21}).size() + prober_->sent.at({kServer2, 8080}).size();
  traffic_fails();
  EXPECT_EQ(prober_->probes, before + 1);
  EXPECT_EQ(prober_->sent.at({kServer1, 21}).size() + prober_->sent.at({kServer2, 8080}).size(), others);
}

TEST_F(EarlyProbeTest, WhatIsNotCheckedOrNotKnownIsNotProbed) {
  start_lab();
  EXPECT_THAT(apply(config::with(config::lab(), "/c/slb/real 1/inter 0")).errors, IsEmpty());
  const int before = prober_->probes;
  traffic_fails(1);
  traffic_fails(77);
  EXPECT_EQ(prober_->probes, before);
}

TEST_F(EarlyProbeTest, AnEarlyProbeThatIsTooSlowDegradesAsARegularOneDoes) {
  start_lab();
  prober_->readings[kWeb] = {health::Grade::degraded, 3};
  traffic_fails();
  time_->pass(milliseconds(2));
  EXPECT_EQ(dataplane_.admission(1, 8080), forwarding::LAST);
}

}  // namespace
}  // namespace headgate::daemon
