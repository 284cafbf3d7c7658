// SPDX-License-Identifier: Apache-2.0
#include "controlplane/control/service.h"
#include "controlplane/daemon/engine_fixture.h"

// Buddies: a server takes new sessions only while services of other servers are up. Reference 2.1, 4.4.
namespace headgate::daemon {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// Server 2 has server 3's application as its buddy, which no enabled virtual server offers.
constexpr std::string_view kBuddy =
    "/c/slb/real 3/ena/rip 10.10.2.13\n/c/slb/group 3/add 3\n/c/slb/virt 2/vip 10.10.1.102\n"
    "/c/slb/virt 2/service 9000/group 3\n/c/slb/real 2/buddyhc/addbd 3 3 9000\n";

class BuddyTest : public EngineTest {
 protected:
  [[nodiscard]] static config::Config configured(const std::string& more = "") {
    return config::with(config::lab(), std::string(kBuddy) + more);
  }
  void start_with(const std::string& more = "") { start_lab(std::string(kBuddy) + more); }
  std::vector<std::string> refused(const std::string& more) {
    std::vector<std::string> errors = apply(config::with(config::lab(), more)).errors;
    return errors;
  }
  control::RealStatus real(std::uint32_t number) {
    control::Service service(*engine_);
    control::Conversation user{{1000, config::USER}, {}};
    control::Request request;
    request.mutable_status();
    control::StatusReply status;
    service.handle(user, request, [&](control::Reply reply, bool) { status = reply.status(); });
    return *std::ranges::find(status.real(), number, &control::RealStatus::number);
  }
};

TEST_F(BuddyTest, AServerDrainsWhileItsBuddyIsDown) {
  start_with();
  EXPECT_EQ(dataplane_.admission(2, 8080), forwarding::OPEN);
  fail(kServer3, 9000);
  EXPECT_EQ(dataplane_.admission(2, 8080), forwarding::DRAINING);
  EXPECT_EQ(dataplane_.admission(1, 8080), forwarding::OPEN) << "it has no buddy";
  heal(kServer3, 9000);
  EXPECT_EQ(dataplane_.admission(2, 8080), forwarding::OPEN);
  EXPECT_THAT(dataplane_.changes,
              ElementsAre("3:9000 CLOSED", "2:8080 DRAINING", "3:9000 OPEN", "2:8080 OPEN"));
}

TEST_F(BuddyTest, EachChangeIsOneLine) {
  start_with();
  fail(kServer3, 9000);
  EXPECT_THAT(lines_,
              ElementsAre("slb: cannot contact real server 10.10.2.13",
                          "slb: cannot contact real service 10.10.2.13:9000 (real server 3): refused",
                          "slb: real server 10.10.2.12 takes no new sessions: its buddy real server 3 "
                          "port 9000 is not up"));
  lines_.clear();
  heal(kServer3, 9000);
  EXPECT_THAT(lines_, ElementsAre("slb: real server 10.10.2.13 operational",
                                  "slb: real service 10.10.2.13:9000 operational",
                                  "slb: buddies of real server 10.10.2.12 are up again"));
}

TEST_F(BuddyTest, AStartIsWithoutAWordAboutBuddiesThatAreUp) {
  start();
  EXPECT_THAT(apply(configured()).errors, IsEmpty());
  time_->pass(milliseconds(3000));
  EXPECT_THAT(lines_, Not(Contains(HasSubstr("budd"))));
}

TEST_F(BuddyTest, ScreensNameTheBuddyThatIsMissed) {
  start_with();
  EXPECT_EQ(real(2).target(0).buddy(), "");
  fail(kServer3, 9000);
  EXPECT_EQ(real(2).target(0).buddy(), "real server 3 port 9000");
  EXPECT_EQ(real(2).target(0).state(), control::BLOCKED);
  EXPECT_EQ(real(2).state(), control::BLOCKED);
  fail(kServer2, 8080);
  EXPECT_EQ(real(2).target(0).state(), control::FAILED) << "its own failure says more";
}

TEST_F(BuddyTest, AServerThatIsProvenBeforeItsBuddyWaitsForIt) {
  start();
  prober_->silent.insert({kServer3, 9000});
  EXPECT_THAT(apply(configured()).errors, IsEmpty());
  time_->pass(milliseconds(3000));
  EXPECT_EQ(dataplane_.admission(2, 8080), forwarding::DRAINING);
  prober_->silent.clear();
  time_->pass(milliseconds(2000));
  EXPECT_EQ(dataplane_.admission(2, 8080), forwarding::OPEN);
}

TEST_F(BuddyTest, AServerThatServesGoesOnUntilItsNewBuddyIsJudged) {
  start_lab();
  prober_->down.insert({kServer3, 9000});
  EXPECT_THAT(apply(configured()).errors, IsEmpty());
  EXPECT_EQ(dataplane_.admission(2, 8080), forwarding::OPEN);
  time_->pass(milliseconds(9000));
  EXPECT_EQ(dataplane_.admission(2, 8080), forwarding::DRAINING);
}

TEST_F(BuddyTest, ARestartChangesNothing) {
  start_with();
  start();
  time_->pass(milliseconds(5000));
  EXPECT_THAT(dataplane_.changes, IsEmpty());
  fail(kServer3, 9000);
  start();
  time_->pass(milliseconds(5000));
  EXPECT_THAT(dataplane_.changes, IsEmpty());
  EXPECT_EQ(dataplane_.admission(2, 8080), forwarding::DRAINING);
}

TEST_F(BuddyTest, ABuddyThatHasNeverBeenProvenStaysSoOverARestart) {
  start();
  prober_->silent.insert({kServer3, 9000});
  EXPECT_THAT(apply(configured("/c/slb/real 2/backup 1/preempt dis\n")).errors, IsEmpty());
  time_->pass(milliseconds(1000));
  start();
  EXPECT_EQ(dataplane_.admission(2, 8080), forwarding::DRAINING);
  prober_->silent.clear();
  time_->pass(milliseconds(4000));
  EXPECT_EQ(dataplane_.admission(2, 8080), forwarding::OPEN) << "it has not failed, so it is not held back";
}

TEST_F(BuddyTest, ABuddyThatIsNotJudgedYetIsNotMissedAfterARestart) {
  start_lab();
  prober_->silent.insert({kServer3, 9000});
  EXPECT_THAT(apply(configured()).errors, IsEmpty());
  time_->pass(milliseconds(1000));
  dataplane_.changes.clear();
  start();
  time_->pass(milliseconds(3000));
  EXPECT_THAT(dataplane_.changes, IsEmpty());
  EXPECT_EQ(dataplane_.admission(2, 8080), forwarding::OPEN);
}

TEST_F(BuddyTest, AnotherCheckOfTheServerOpensNothingBetweenTwoGenerations) {
  start_with();
  fail(kServer3, 9000);
  dataplane_.changes.clear();
  EXPECT_THAT(apply(configured("/c/slb/group 1/health icmp\n")).errors, IsEmpty());
  EXPECT_THAT(dataplane_.changes, Not(Contains("2:8080 OPEN")));
  EXPECT_THAT(dataplane_.changes, Contains("1:8080 OPEN")) << "which has no buddy";
}

TEST_F(BuddyTest, BuddiesOfEachOtherAreJudgedByTheirOwnChecks) {
  start_with("/c/slb/real 3/buddyhc/addbd 2 1 80\n");
  fail(kServer3, 9000);
  EXPECT_EQ(dataplane_.admission(2, 8080), forwarding::DRAINING);
  heal(kServer3, 9000);
  EXPECT_EQ(dataplane_.admission(2, 8080), forwarding::OPEN);
  EXPECT_EQ(dataplane_.admission(3, 9000), forwarding::OPEN);
}

TEST_F(BuddyTest, AllBuddiesMustBeUp) {
  start_with("/c/slb/real 2/buddyhc/addbd 1 1 http\n");
  fail(kServer1, 8080);
  EXPECT_EQ(dataplane_.admission(2, 8080), forwarding::DRAINING);
  fail(kServer3, 9000);
  heal(kServer1, 8080);
  EXPECT_EQ(dataplane_.admission(2, 8080), forwarding::DRAINING);
  EXPECT_EQ(real(2).target(0).buddy(), "real server 3 port 9000");
}

TEST_F(BuddyTest, ADegradedBuddyIsUpAndADrainedOneToo) {
  start_with();
  prober_->readings[{kServer3, 9000}] = {health::Grade::degraded, 4};
  EXPECT_TRUE(engine_->set_operation(3, forwarding::DRAIN).ok());
  time_->pass(milliseconds(3000));
  EXPECT_EQ(dataplane_.states.at({3, 9000, Protocol::tcp, "tcp"}).verdict(), forwarding::DEGRADED);
  EXPECT_EQ(dataplane_.admission(2, 8080), forwarding::OPEN);
}

TEST_F(BuddyTest, ABackupStandsInForAServerWhoseBuddyFailed) {
  start_with("/c/slb/real 2/backup 3\n");
  fail(kServer3, 9000);
  EXPECT_THAT(lines_, Contains("slb: backup server 10.10.2.13 activated for real server 10.10.2.12"));
}

TEST_F(BuddyTest, WithoutPreemptionAServerWhoseBuddyFailedWaitsForItsBackup) {
  start_with("/c/slb/real 2/backup 1/preempt dis\n");
  fail(kServer3, 9000);
  heal(kServer3, 9000);
  EXPECT_EQ(dataplane_.admission(2, 8080), forwarding::DRAINING);
  start();
  time_->pass(milliseconds(5000));
  EXPECT_EQ(dataplane_.admission(2, 8080), forwarding::DRAINING);
  fail(kServer1, 8080);
  EXPECT_EQ(dataplane_.admission(2, 8080), forwarding::OPEN);
}

TEST_F(BuddyTest, ABackupWithoutItsBuddyIsNobodyToWaitFor) {
  start_with("/c/slb/real 1/backup 2/preempt dis\n");
  fail(kServer1, 8080);
  heal(kServer1, 8080);
  EXPECT_EQ(dataplane_.admission(1, 8080), forwarding::DRAINING);
  fail(kServer3, 9000);
  EXPECT_EQ(dataplane_.admission(1, 8080), forwarding::OPEN);
}

TEST_F(BuddyTest, BoundClientsOfADrainedServerNeedItsBuddyToo) {
  start_with();
  EXPECT_TRUE(engine_->set_operation(2, forwarding::DRAIN_PERSISTENT).ok());
  EXPECT_TRUE(dataplane_.states.at({2, 8080, Protocol::tcp, "tcp"}).persistent());
  fail(kServer3, 9000);
  EXPECT_FALSE(dataplane_.states.at({2, 8080, Protocol::tcp, "tcp"}).persistent());
}

TEST_F(BuddyTest, RemovingTheBuddyOpensTheServerAgain) {
  start_with();
  fail(kServer3, 9000);
  EXPECT_THAT(apply(configured("/c/slb/real 2/buddyhc/rembd 3 3 9000\n")).errors, IsEmpty());
  EXPECT_EQ(dataplane_.admission(2, 8080), forwarding::OPEN);
}

TEST_F(BuddyTest, ABuddyThatIsNoneIsRefused) {
  start_lab();
  const std::string add = "/c/slb/real 2/buddyhc/addbd ";
  const std::string at = "/cfg/slb/real 2/buddyhc: buddy ";
  EXPECT_THAT(refused(add + "2 1 80"), ElementsAre(at + "2 1 http: a server can't be its own buddy"));
  EXPECT_THAT(refused(add + "7 1 80"), ElementsAre(at + "7 1 http: real server 7 does not exist"));
  EXPECT_THAT(refused(add + "1 9 80"), ElementsAre(at + "1 9 http: group 9 does not exist"));
  EXPECT_THAT(refused("/c/slb/real 1/buddyhc/addbd 2 2 ftp"),
              ElementsAre("/cfg/slb/real 1/buddyhc: buddy 2 2 ftp: real server 2 is no member of group 2"));
  EXPECT_THAT(refused(add + "1 1 443"),
              ElementsAre(at + "1 1 https: no virtual server has a service https with group 1"));
}

}  // namespace
}  // namespace headgate::daemon
