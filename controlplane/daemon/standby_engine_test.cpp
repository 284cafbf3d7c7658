// SPDX-License-Identifier: Apache-2.0
#include "controlplane/daemon/engine_fixture.h"

// Backups, limits, thresholds and what is told about them. Reference 3.2, 4.7.
namespace headgate::daemon {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kSpare = "/c/slb/real 3/ena/rip 10.10.2.13\n";

class StandbyTest : public EngineTest {
 protected:
  /// The lab and a third server, with more settings.
  void start_with(const std::string& lines) { start_lab(std::string(kSpare) + lines); }
  void count(std::uint32_t real, std::uint64_t current) {
    dataplane_.stats.clear_real();
    forwarding::RealStats& row = *dataplane_.stats.add_real();
    row.set_real(real);
    row.mutable_counts()->set_current(current);
    time_->pass(milliseconds(1000));
  }
};

TEST_F(StandbyTest, ABackupIsToldOnceWhenItStepsInAndOnceWhenItStepsBack) {
  start_with("/c/slb/real 1/backup 3");
  fail(kServer1);
  EXPECT_THAT(lines_,
              Contains("slb: backup server 10.10.2.13 activated for real server 10.10.2.11").Times(1));
  lines_.clear();
  heal(kServer1);
  EXPECT_THAT(lines_, ElementsAre("slb: real service 10.10.2.11:8080 operational",
                                  "slb: backup server 10.10.2.13 deactivated for real server 10.10.2.11"));
  EXPECT_EQ(dataplane_.admission(1, 8080), forwarding::OPEN);
}

TEST_F(StandbyTest, AStartProvesServersInAnyOrderWithoutAWordAboutBackups) {
  start();
  EXPECT_THAT(apply(config::with(config::lab(), std::string(kSpare) + "/c/slb/real 1/backup 3")).errors,
              IsEmpty());
  time_->pass(milliseconds(3000));
  EXPECT_THAT(lines_, Not(Contains(HasSubstr("backup"))));
}

TEST_F(StandbyTest, AGroupThatStepsInIsTold) {
  start_with("/c/slb/group 3/add 3\n/c/slb/group 1/backup g3");
  fail(kServer1);
  EXPECT_THAT(lines_, Not(Contains(HasSubstr("backup"))));
  fail(kServer2);
  EXPECT_THAT(lines_, Contains("slb: backup group 3 activated for real server group 1"));
  EXPECT_THAT(lines_, Not(Contains(HasSubstr("available")))) << "the virtual server serves";
}

TEST_F(StandbyTest, WithoutPreemptionThePrimaryWaitsUntilItsBackupFails) {
  start_with("/c/slb/real 1/backup 3/preempt dis");
  fail(kServer1);
  heal(kServer1);
  EXPECT_EQ(dataplane_.admission(1, 8080), forwarding::DRAINING);
  EXPECT_THAT(lines_, Not(Contains(HasSubstr("deactivated"))));
  fail(kServer3);
  EXPECT_EQ(dataplane_.admission(1, 8080), forwarding::OPEN);
  heal(kServer3);
  EXPECT_EQ(dataplane_.admission(1, 8080), forwarding::OPEN);
}

TEST_F(StandbyTest, AnOperatorEndsTheWaitingAndARestartDoesNot) {
  start_with("/c/slb/real 1/backup 3/preempt dis");
  fail(kServer1);
  heal(kServer1);
  start();
  time_->pass(milliseconds(5000));
  EXPECT_EQ(dataplane_.admission(1, 8080), forwarding::DRAINING);
  EXPECT_TRUE(engine_->set_operation(1, forwarding::ENABLED).ok());
  EXPECT_EQ(dataplane_.admission(1, 8080), forwarding::OPEN);
}

TEST_F(StandbyTest, DrainingTheBackupBringsThePrimaryBack) {
  start_with("/c/slb/real 1/backup 3/preempt dis");
  fail(kServer1);
  heal(kServer1);
  EXPECT_TRUE(engine_->set_operation(3, forwarding::DRAIN).ok());
  EXPECT_EQ(dataplane_.admission(1, 8080), forwarding::OPEN);
}

TEST_F(StandbyTest, AFullServerIsAlertedOnceAndItsOverflowTold) {
  start_with("/c/slb/real 1/backup 3/maxcon 10");
  count(1, 9);
  EXPECT_THAT(lines_, IsEmpty());
  count(1, 10);
  EXPECT_THAT(lines_, ElementsAre("slb: real server 10.10.2.11 has reached its maximum of 10 sessions",
                                  "slb: overflow server 10.10.2.13 activated for real server 10.10.2.11"));
  count(1, 10);
  EXPECT_EQ(lines_.size(), 2u);
  count(1, 8);
  EXPECT_EQ(lines_.back(), "slb: overflow server 10.10.2.13 deactivated for real server 10.10.2.11");
}

TEST_F(StandbyTest, AServerFullWithoutBackupIsStillAvailable) {
  start_with("/c/slb/real 1/maxcon 10\n/c/slb/real 2/maxcon 10");
  count(1, 10);
  EXPECT_THAT(lines_, ElementsAre("slb: real server 10.10.2.11 has reached its maximum of 10 sessions"));
}

TEST_F(StandbyTest, WithoutTheDataplaneNobodyIsFull) {
  start_with("/c/slb/real 1/backup 3/maxcon 10");
  count(1, 10);
  EXPECT_THAT(lines_, Contains("slb: overflow server 10.10.2.13 activated for real server 10.10.2.11"));
  lines_.clear();
  dataplane_.there = false;
  engine_->dataplane_lost();
  time_->pass(milliseconds(500));
  EXPECT_THAT(lines_, Contains("slb: overflow server 10.10.2.13 deactivated for real server 10.10.2.11"));
  EXPECT_THAT(engine_->announcer().full(), IsEmpty());
}

TEST_F(StandbyTest, RealthrAlertsOnceForEachFall) {
  start_with("/c/slb/group 1/add 3/realthr 2");
  const std::string alert = "slb: real server group 1 has 2 available servers left (realthr 2)";
  fail(kServer1);
  EXPECT_THAT(lines_, Contains(alert).Times(1));
  fail(kServer2);
  EXPECT_THAT(lines_, Not(Contains(HasSubstr("1 available server left")))) << "it had fallen already";
  heal(kServer1);
  heal(kServer2);
  time_->pass(milliseconds(120'000));
  fail(kServer3);
  EXPECT_THAT(lines_, Contains(alert).Times(2));
}

TEST_F(StandbyTest, PersistentDrainIsToldToTheDataplane) {
  start_with("");
  EXPECT_TRUE(engine_->set_operation(1, forwarding::DRAIN_PERSISTENT).ok());
  const TargetKey key{1, 8080, Protocol::tcp, "tcp"};
  EXPECT_TRUE(dataplane_.states.at(key).persistent());
  EXPECT_EQ(dataplane_.admission(1, 8080), forwarding::DRAINING);
  fail(kServer1);
  EXPECT_FALSE(dataplane_.states.at(key).persistent()) << "failure wins over persistence";
  EXPECT_TRUE(engine_->set_operation(2, forwarding::DRAIN).ok());
  EXPECT_FALSE(dataplane_.states.at({2, 8080, Protocol::tcp, "tcp"}).persistent());
}

TEST_F(StandbyTest, ResponseTimesAreToldEveryTenSecondsAndOnlyWhenTheyChange) {
  start_with("");
  const TargetKey key{1, 8080, Protocol::tcp, "tcp"};
  time_->pass(milliseconds(10'000));
  EXPECT_EQ(dataplane_.states.at(key).response_us(), 1000u);
  const int before = dataplane_.orders_of_states;
  time_->pass(milliseconds(60'000));
  EXPECT_EQ(dataplane_.orders_of_states, before) << "30 probes of each target, and no news";
}

TEST_F(StandbyTest, BalancingOffAndOnRefusesNobody) {
  start_with("");
  const config::Config on = engine_->running();
  EXPECT_THAT(apply(config::with(on, "/c/slb/off")).errors, IsEmpty());
  time_->pass(milliseconds(60'000));
  prober_->down.insert({kServer2, 8080});
  lines_.clear();
  EXPECT_THAT(apply(on).errors, IsEmpty());
  EXPECT_EQ(dataplane_.admission(1, 8080), forwarding::OPEN);
  EXPECT_EQ(dataplane_.admission(2, 8080), forwarding::OPEN);
  time_->pass(milliseconds(1000));
  EXPECT_EQ(dataplane_.admission(1, 8080), forwarding::OPEN);
  EXPECT_EQ(dataplane_.admission(2, 8080), forwarding::CLOSED) << "one failed check is enough after a pause";
}

TEST_F(StandbyTest, AServerThatWasDownBeforeAPauseProvesItself) {
  start_with("");
  fail(kServer1);
  const config::Config on = engine_->running();
  EXPECT_THAT(apply(config::with(on, "/c/slb/off")).errors, IsEmpty());
  EXPECT_THAT(apply(on).errors, IsEmpty());
  EXPECT_EQ(dataplane_.admission(1, 8080), forwarding::DRAINING);
}

TEST_F(StandbyTest, AnOperatorSettingThatCantBeStoredSaysSo) {
  start_with("");
  std::filesystem::rename(directory_, directory_ + ".gone");
  const auto warning = engine_->set_operation(2, forwarding::DRAIN);
  std::filesystem::rename(directory_ + ".gone", directory_);
  ASSERT_TRUE(warning.ok());
  EXPECT_THAT(*warning, HasSubstr("the setting of real server 2 holds, but can't be stored: "));
  EXPECT_EQ(dataplane_.admission(2, 8080), forwarding::DRAINING);
  EXPECT_THAT(lines_, Contains(HasSubstr("can't be stored")));
}

TEST_F(StandbyTest, ASynAttackIsAlertedOnceAndItsEndTold) {
  start_with("/c/slb/adv/synatk/thrsh 100");
  const auto flood = [&](std::uint64_t syns, std::uint64_t handshakes) {
    dataplane_.stats.set_opened_tcp_sessions(dataplane_.stats.opened_tcp_sessions() + syns + handshakes);
    dataplane_.stats.set_answered_tcp_sessions(dataplane_.stats.answered_tcp_sessions() + handshakes);
    time_->pass(milliseconds(2000));
  };
  flood(0, 50'000);
  EXPECT_THAT(lines_, IsEmpty()) << "many clients are no attack";
  flood(500, 1000);
  flood(500, 1000);
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("slb: SYN attack: ")));
  EXPECT_EQ(engine_->syn_attack().warnings(), 1u);
  flood(0, 1000);
  flood(0, 1000);
  EXPECT_EQ(lines_.back(), "slb: SYN attack has ended");
}

TEST_F(StandbyTest, ASessionAttackIsAlertedOnceAndItsEndTold) {
  start_with("/c/slb/adv/intrval 2\n/c/slb/adv/allowlim 1000");
  const auto open = [&](std::uint64_t sessions) {
    dataplane_.stats.set_opened_sessions(dataplane_.stats.opened_sessions() + sessions);
    time_->pass(milliseconds(2000));
  };
  open(1000);
  EXPECT_THAT(lines_, IsEmpty()) << "so many are allowed";
  open(2000);
  open(3000);
  EXPECT_THAT(lines_, ElementsAre("slb: session attack: 2000 new sessions in 2 seconds, allowed 1000"));
  EXPECT_TRUE(engine_->session_attack().active());
  EXPECT_EQ(engine_->session_attack().warnings(), 1u);
  open(1000);
  open(0);
  EXPECT_EQ(lines_.size(), 2u);
  EXPECT_EQ(lines_.back(), "slb: session attack has ended");
  EXPECT_FALSE(engine_->session_attack().active());
}

}  // namespace
}  // namespace headgate::daemon
