// SPDX-License-Identifier: Apache-2.0
#include "controlplane/daemon/engine_fixture.h"

// Degraded servers, and what outlasts applies and restarts. Mission B.
namespace headgate::daemon {
namespace {

using health::Health;
using testing::Contains;
using testing::ElementsAre;

const TargetKey kWeb{1, 8080, Protocol::tcp, "tcp"};
const TargetKey kOther{2, 8080, Protocol::tcp, "tcp"};

class GradedTest : public EngineTest {
 protected:
  void degrade(std::uint32_t server) {
    prober_->readings[{server, 8080}] = {health::Grade::degraded, 4};
    time_->pass(milliseconds(2000));
  }
  void restore(std::uint32_t server) {
    prober_->readings.erase({server, 8080});
    time_->pass(milliseconds(2000));
  }
  const Watched& watched(const TargetKey& key) const { return engine_->monitor().targets().at(key); }
};

TEST_F(GradedTest, ADegradedServiceIsTheLastChoiceAndSaysSo) {
  start_lab();
  degrade(kServer1);
  EXPECT_THAT(dataplane_.changes, ElementsAre("1:8080 LAST"));
  EXPECT_THAT(lines_,
              ElementsAre("slb: real service 10.10.2.11:8080 degraded (real server 1): answered in 1 ms"));
  EXPECT_EQ(dataplane_.states.at(kWeb).verdict(), forwarding::DEGRADED);
  EXPECT_EQ(dataplane_.states.at(kWeb).score(), 4u);
  restore(kServer1);
  EXPECT_THAT(dataplane_.changes, ElementsAre("1:8080 LAST", "1:8080 OPEN"));
  EXPECT_THAT(lines_, Contains("slb: real service 10.10.2.11:8080 operational"));
}

TEST_F(GradedTest, AServiceOfDegradedServersOnlyIsAvailable) {
  start_lab();
  degrade(kServer1);
  degrade(kServer2);
  EXPECT_THAT(lines_, Not(Contains(testing::HasSubstr("No "))));
  EXPECT_EQ(engine_->announcer().taking().at({1, 80, Protocol::tcp}), (std::set<std::uint32_t>{1, 2}));
}

TEST_F(GradedTest, ARestartOfHeadgatedKeepsWhatIsDegraded) {
  start_lab();
  degrade(kServer1);
  const std::uint64_t since = watched(kWeb).since_unix_ms;
  start();
  EXPECT_EQ(watched(kWeb).state.health, Health::degraded);
  EXPECT_EQ(watched(kWeb).state.score, 4);
  EXPECT_EQ(watched(kWeb).since_unix_ms, since);
  time_->pass(milliseconds(6000));
  EXPECT_THAT(dataplane_.changes, IsEmpty());
  EXPECT_THAT(lines_, Not(Contains(testing::HasSubstr("slb:"))));
}

TEST_F(GradedTest, ARestartKeepsTheHistory) {
  start_lab();
  degrade(kServer1);
  restore(kServer1);
  time_->pass(milliseconds(1000));  // when it is stored
  const auto changes = watched(kWeb).changes;
  ASSERT_EQ(changes.size(), 3u);
  start();
  EXPECT_EQ(watched(kWeb).changes, changes);
}

TEST_F(GradedTest, TheDataplaneIsToldNoHistory) {
  start_lab();
  degrade(kServer1);
  EXPECT_THAT(apply(config::with(config::lab(), "/c/slb/real 1/name x")).errors, IsEmpty());
  for (const auto& [key, state] : dataplane_.states) EXPECT_EQ(state.change_size(), 0);
}

TEST_F(GradedTest, AppliesThatRenameAndReorderKeepStateAndHistory) {
  start_lab();
  degrade(kServer1);
  const auto changes = watched(kWeb).changes;
  const std::uint64_t since = watched(kWeb).since_unix_ms;
  dataplane_.changes.clear();
  config::Config next = config::lab();
  for (const char* change :
       {"/c/slb/real 1/name x", "/c/slb/group 1/rem 1\n/c/slb/group 1/add 1", "/c/slb/group 1/metric hash",
        "/c/slb/real 1/restr 3", "/c/slb/real 3/rip 10.10.2.13"}) {
    next = config::with(next, change);
    EXPECT_THAT(apply(next).errors, IsEmpty());
    EXPECT_EQ(watched(kWeb).state.health, Health::degraded) << change;
    EXPECT_EQ(watched(kWeb).state.score, 4) << change;
    EXPECT_EQ(watched(kWeb).changes, changes) << change;
    EXPECT_EQ(watched(kWeb).since_unix_ms, since) << change;
  }
  time_->pass(milliseconds(4000));
  EXPECT_THAT(dataplane_.changes, IsEmpty());
}

TEST_F(GradedTest, AChangedCheckStartsAnewForItsTargetsOnly) {
  start_lab();
  degrade(kServer1);
  const TargetKey ftp{1, 21, Protocol::tcp, "tcp"};
  const auto ftp_changes = watched(ftp).changes;
  EXPECT_THAT(apply(config::with(config::lab(), "/c/slb/group 1/health icmp")).errors, IsEmpty());
  const TargetKey icmp{1, 8080, Protocol::tcp, "icmp"};
  EXPECT_EQ(watched(icmp).changes.back().to, Health::degraded) << "its past is not forgotten";
  EXPECT_EQ(watched(icmp).state.score, 0);
  EXPECT_EQ(watched(icmp).state.health, Health::degraded) << "it serves as it did until its own verdict";
  EXPECT_EQ(watched(ftp).changes, ftp_changes);
}

TEST_F(GradedTest, ADegradedServerThatWasDrainedIsDegradedWhenItIsBack) {
  start_lab();
  degrade(kServer1);
  EXPECT_TRUE(engine_->set_operation(1, forwarding::DRAIN).ok());
  EXPECT_EQ(dataplane_.admission(1, 8080), forwarding::DRAINING);
  start();
  EXPECT_FALSE(watched(kWeb).held);
  EXPECT_TRUE(engine_->set_operation(1, forwarding::ENABLED).ok());
  EXPECT_EQ(dataplane_.admission(1, 8080), forwarding::LAST);
}

TEST_F(GradedTest, ADegradedServerIsNoReasonForItsBackup) {
  start();
  EXPECT_THAT(apply(config::with(config::lab(),
                                 "/c/slb/real 3/ena/rip 10.10.2.13\n/c/slb/real 1/backup 3/preempt dis"))
                  .errors,
              IsEmpty());
  time_->pass(milliseconds(3000));
  lines_.clear();
  degrade(kServer1);
  EXPECT_FALSE(watched(kWeb).held);
  EXPECT_THAT(lines_,
              ElementsAre("slb: real service 10.10.2.11:8080 degraded (real server 1): answered in 1 ms"));
}

// ---- Since when a server is disabled

TEST_F(GradedTest, WhenAnOperatorDisabledAServerOutlastsChangesOfHealthAndARestart) {
  start_lab();
  const std::uint64_t then = time_->unix_ms();
  EXPECT_TRUE(engine_->set_operation(1, forwarding::DRAIN).ok());
  degrade(kServer1);
  EXPECT_TRUE(engine_->set_operation(1, forwarding::DRAIN).ok()) << "it was so already";
  EXPECT_EQ(engine_->monitor().disabled_since_unix_ms(1), then);
  start();
  EXPECT_EQ(engine_->monitor().disabled_since_unix_ms(1), then);
  EXPECT_TRUE(engine_->set_operation(1, forwarding::ENABLED).ok());
  EXPECT_EQ(engine_->monitor().disabled_since_unix_ms(1), 0u);
}

TEST_F(GradedTest, WhenAServerWasDisabledByConfigurationOutlastsAppliesAndARestart) {
  start_lab();
  const std::uint64_t then = time_->unix_ms();
  const config::Config disabled = config::with(config::lab(), "/c/slb/real 1/dis");
  EXPECT_THAT(apply(disabled).errors, IsEmpty());
  time_->pass(milliseconds(5000));
  EXPECT_THAT(apply(config::with(disabled, "/c/slb/real 1/name x")).errors, IsEmpty());
  EXPECT_EQ(engine_->monitor().disabled_since_unix_ms(1), then);
  EXPECT_EQ(engine_->monitor().disabled_since_unix_ms(2), 0u);
  start();
  EXPECT_EQ(engine_->monitor().disabled_since_unix_ms(1), then);
  EXPECT_THAT(apply(config::lab()).errors, IsEmpty());
  EXPECT_EQ(engine_->monitor().disabled_since_unix_ms(1), 0u);
}

}  // namespace
}  // namespace headgate::daemon
