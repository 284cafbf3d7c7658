// SPDX-License-Identifier: Apache-2.0
#include "controlplane/control/status.h"
#include "controlplane/daemon/engine_fixture.h"

// Application checks and what is done about services that fail. Mission C.
namespace headgate::daemon {
namespace {

using action::Ended;
using health::Health;
using health::Remedy;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kSite = R"(
/c/slb/advhc/health shop app/content "/ping"/restart "/bin/restart shop"/failover "http://10.0.0.9/f"/rcount 1/failnow 503
/c/slb/group 1/health shop
/c/slb/virt 1/service ftp/del
)";
const TargetKey kShop{1, 8080, Protocol::tcp, "app named shop /ping failnow 503"};
const std::pair<std::uint32_t, L4Port> kServer1Web{kServer1, 8080};

class RemedyTest : public EngineTest {
 protected:
  void start_shop(const std::string& more = "") {
    start();
    EXPECT_THAT(apply(config::with(config::lab(), kSite + more)).errors, IsEmpty());
    time_->pass(milliseconds(3000));
    lines_.clear();
  }
  /// The next check fails, and counts as much.
  void fail(health::Part part = health::kComplete) {
    prober_->failure = part;
    prober_->down.insert(kServer1Web);
    check();
  }
  void recover() {
    prober_->down.erase(kServer1Web);
    for (int i = 0; i < 8; ++i) check();
  }
  void check() { time_->pass(milliseconds(2000)); }
  const Watched& shop() const { return engine_->monitor().targets().at(kShop); }
  std::vector<std::string> begun() const {
    std::vector<std::string> words;
    for (const action::Act& act : actions_.begun) words.push_back(act.what);
    return words;
  }
};

TEST_F(RemedyTest, AServiceThatFailsIsRestartedThenFailedOver) {
  start_shop();
  fail();
  EXPECT_THAT(begun(), ElementsAre("/bin/restart shop"));
  EXPECT_EQ(actions_.begun[0].real, 1u);
  EXPECT_EQ(actions_.begun[0].address, Ip(Ipv4{kServer1}));
  EXPECT_EQ(actions_.begun[0].port, 8080);
  EXPECT_EQ(actions_.begun[0].reason, "refused");
  check();
  EXPECT_EQ(actions_.begun.size(), 1u) << "it is under way";
  actions_.end();
  check();
  EXPECT_THAT(begun(), ElementsAre("/bin/restart shop", "http://10.0.0.9/f"));
  EXPECT_EQ(actions_.begun[1].remedy, Remedy::failover);
  actions_.end({false, "status 500, wanted 200-299"});
  for (int i = 0; i < 20; ++i) check();
  EXPECT_EQ(actions_.begun.size(), 2u) << "once while it is down";
  recover();
  time_->pass(milliseconds(20'000));
  fail();
  EXPECT_EQ(actions_.begun.size(), 3u);
}

TEST_F(RemedyTest, TheLogHasALineForEachFailureEachActionAndItsOutcome) {
  start_shop();
  fail(50);
  EXPECT_THAT(lines_,
              ElementsAre("slb: real service 10.10.2.11:8080 fails its check in part, 50 of 100: refused"));
  lines_.clear();
  fail();
  EXPECT_THAT(lines_, ElementsAre("slb: real service 10.10.2.11:8080 fails its check: refused",
                                  "slb: cannot contact real server 10.10.2.11",
                                  "slb: cannot contact real service 10.10.2.11:8080 (real server 1): refused",
                                  "slb: real service 10.10.2.11:8080: restart begun: refused"));
  lines_.clear();
  actions_.end();
  EXPECT_THAT(lines_, ElementsAre("slb: real service 10.10.2.11:8080: restart done in 1.0 s"));
  lines_.clear();
  check();
  actions_.end({false, "no answer in 10.0 s"});
  EXPECT_THAT(
      lines_,
      ElementsAre(
          "slb: real service 10.10.2.11:8080: failover begun: refused",
          "slb: real service 10.10.2.11:8080: failover failed: http://10.0.0.9/f: no answer in 10.0 s"));
}

TEST_F(RemedyTest, PartsWithinTheWindowAddUpWhateverPassesInBetween) {
  start_shop();
  fail(50);
  prober_->down.clear();
  check();
  EXPECT_EQ(shop().state.health, Health::up);
  EXPECT_EQ(engine_->monitor().failed(shop()), 50u);
  fail(50);
  EXPECT_EQ(shop().state.health, Health::down);
  EXPECT_THAT(begun(), ElementsAre("/bin/restart shop"));
}

TEST_F(RemedyTest, PartsThatAreFurtherApartThanTheWindowDoNothing) {
  start_shop();
  for (int i = 0; i < 3; ++i) {
    fail(50);
    prober_->down.clear();
    time_->pass(milliseconds(20'000));
    EXPECT_EQ(engine_->monitor().failed(shop()), 0u);
  }
  EXPECT_EQ(shop().state.health, Health::up);
  EXPECT_THAT(begun(), IsEmpty());
}

TEST_F(RemedyTest, AStatusMayDemandFailoverAtOnce) {
  start_shop();
  prober_->failover = true;
  fail();
  EXPECT_THAT(begun(), ElementsAre("http://10.0.0.9/f"));
}

TEST_F(RemedyTest, ACommandThatCannotBeBegunIsOneLine) {
  start_shop();
  actions_.refusal = "/bin/restart: No such file or directory";
  fail();
  EXPECT_THAT(lines_,
              Contains("slb: real service 10.10.2.11:8080: restart failed: /bin/restart: No such file or "
                       "directory"));
  EXPECT_THAT(lines_, Not(Contains(HasSubstr("begun"))));
  ASSERT_EQ(shop().deeds.size(), 1u);
  EXPECT_EQ(shop().deeds[0].outcome, "failed: /bin/restart: No such file or directory");
  actions_.refusal.clear();
  check();
  EXPECT_THAT(begun(), ElementsAre("http://10.0.0.9/f")) << "it counts as a restart";
}

TEST_F(RemedyTest, NothingIsDoneAboutAServerThatIsDisabled) {
  start_shop();
  EXPECT_TRUE(engine_->set_operation(1, forwarding::DRAIN).ok());
  fail();
  check();
  EXPECT_THAT(begun(), IsEmpty());
  EXPECT_TRUE(engine_->set_operation(1, forwarding::ENABLED).ok());
  check();
  EXPECT_THAT(begun(), ElementsAre("/bin/restart shop"));
}

TEST_F(RemedyTest, ACheckThatIsNotAnsweredIsAFailureToo) {
  start_shop();
  prober_->silent.insert(kServer1Web);
  check();
  check();
  EXPECT_THAT(begun(), ElementsAre("/bin/restart shop"));
}

TEST_F(RemedyTest, AnyCheckMayHaveActionsAndCountsAsItsVerdictDoes) {
  start();
  EXPECT_THAT(apply(config::with(config::lab(),
                                 "/c/slb/advhc/health plain tcp/restart \"/bin/r\"/retry 2\n"
                                 "/c/slb/group 1/health plain\n"))
                  .errors,
              IsEmpty());
  time_->pass(milliseconds(3000));
  lines_.clear();
  fail();
  EXPECT_THAT(begun(), IsEmpty());
  fail();
  EXPECT_THAT(begun(), ElementsAre("/bin/r"));
  actions_.end();
  fail();
  EXPECT_EQ(actions_.begun.size(), 1u);
  fail();
  EXPECT_EQ(actions_.begun.size(), 2u);
  EXPECT_THAT(lines_, Not(Contains(HasSubstr("fails its check"))));
}

// ---- The history

TEST_F(RemedyTest, TheHistoryAndWhatCountsAreTold) {
  start_shop();
  fail(50);
  const auto target = [&](std::uint32_t changes_of) {
    const auto status = control::status_of(engine_->running(), engine_->monitor(),
                                           {.announcer = engine_->announcer(), .changes_of = changes_of});
    return status.real(0).target(0);
  };
  EXPECT_EQ(target(1).failed(), 50u);
  EXPECT_EQ(target(1).deed_size(), 0);
  fail(50);
  EXPECT_EQ(target(1).failed(), 100u);
  ASSERT_EQ(target(1).deed_size(), 1);
  EXPECT_EQ(target(1).deed(0).outcome(), "under way");
  EXPECT_FALSE(target(1).deed(0).failover());
  actions_.end();
  EXPECT_EQ(target(1).deed(0).outcome(), "done in 1.0 s");
  EXPECT_EQ(target(2).deed_size(), 0) << "only when asked for";
}

TEST_F(RemedyTest, TheHistoryHoldsTheLastTwenty) {
  start_shop("/c/slb/advhc/health shop/window 4/inter 2\n");
  for (int i = 0; i < 30; ++i) {
    fail();
    actions_.end({true, std::to_string(i)});
    recover();
  }
  ASSERT_EQ(shop().deeds.size(), 20u);
  EXPECT_EQ(shop().deeds.back().outcome, "29");
}

TEST_F(RemedyTest, AnApplyKeepsTheHistoryAndWhatIsUnderWay) {
  start_shop();
  fail();
  EXPECT_THAT(
      apply(config::with(engine_->running(), "/c/slb/real 1/name x\n/c/slb/advhc/health shop/rcount 5"))
          .errors,
      IsEmpty());
  actions_.end();
  EXPECT_EQ(shop().deeds.at(0).outcome, "done in 1.0 s");
  check();
  EXPECT_THAT(begun(), ElementsAre("/bin/restart shop", "/bin/restart shop"));
}

TEST_F(RemedyTest, WhatEndsAfterItsTargetIsGoneIsALineAndNoMore) {
  start_shop();
  fail();
  EXPECT_THAT(apply(config::lab()).errors, IsEmpty());
  lines_.clear();
  actions_.end();
  EXPECT_THAT(lines_, ElementsAre("slb: real service 10.10.2.11:8080: restart done in 1.0 s"));
}

TEST_F(RemedyTest, ARestartOfHeadgatedKeepsTheHistoryAndFailsOverNoSecondTime) {
  start_shop();
  fail();
  actions_.end();
  check();
  ASSERT_EQ(actions_.begun.size(), 2u);
  time_->pass(milliseconds(50));  // when it is stored
  start();
  ASSERT_EQ(shop().deeds.size(), 2u);
  EXPECT_EQ(shop().deeds[0].outcome, "done in 1.0 s");
  EXPECT_EQ(shop().deeds[1].remedy, Remedy::failover);
  EXPECT_EQ(shop().deeds[1].outcome, "unknown: headgated ended before");
  for (int i = 0; i < 5; ++i) check();
  EXPECT_EQ(actions_.begun.size(), 2u);
}

TEST_F(RemedyTest, RestartsCountAcrossARestartOfHeadgated) {
  start_shop();
  fail();
  actions_.end();
  time_->pass(milliseconds(50));
  start();
  EXPECT_EQ(shop().deeds.at(0).outcome, "done in 1.0 s") << "it was stored at once";
  check();
  EXPECT_THAT(begun(), ElementsAre("/bin/restart shop", "http://10.0.0.9/f"));
}

TEST_F(RemedyTest, TheDataplaneIsToldNoHistory) {
  start_shop();
  fail();
  EXPECT_THAT(apply(config::with(engine_->running(), "/c/slb/real 1/name x")).errors, IsEmpty());
  for (const auto& [key, state] : dataplane_.states) EXPECT_EQ(state.deed_size(), 0);
}

TEST_F(RemedyTest, AChangedCheckHasOneActionUnderWayAndItsRestartsCount) {
  start_shop();
  fail();
  EXPECT_THAT(begun(), ElementsAre("/bin/restart shop"));
  EXPECT_THAT(apply(config::with(engine_->running(), "/c/slb/advhc/health shop/content \"/pong\"")).errors,
              IsEmpty());
  for (int i = 0; i < 5; ++i) check();
  EXPECT_EQ(actions_.begun.size(), 1u) << "it is under way";
  const TargetKey changed{1, 8080, Protocol::tcp, "app named shop /pong failnow 503"};
  EXPECT_EQ(engine_->monitor().targets().at(changed).deeds.size(), 1u);
  actions_.end();
  EXPECT_EQ(engine_->monitor().targets().at(changed).deeds.front().outcome, "done in 1.0 s");
  check();
  EXPECT_THAT(begun(), ElementsAre("/bin/restart shop", "http://10.0.0.9/f"));
}

TEST_F(RemedyTest, WhatWaitsForItsTurnIsWantedWhileItsServiceIsDownAndOffered) {
  start_shop();
  fail();
  const auto wanted = [this] {
    return engine_->monitor().still_wanted(shop().id, Remedy::restart, "/bin/restart shop");
  };
  EXPECT_TRUE(wanted());
  EXPECT_TRUE(engine_->set_operation(1, forwarding::DRAIN).ok());
  EXPECT_FALSE(wanted()) << "an operator has taken it out";
  EXPECT_TRUE(engine_->set_operation(1, forwarding::ENABLED).ok());
  EXPECT_TRUE(wanted());
  EXPECT_THAT(
      apply(config::with(engine_->running(), "/c/slb/advhc/health shop/restart \"/bin/other\"")).errors,
      IsEmpty());
  EXPECT_FALSE(wanted()) << "something else is configured";
  EXPECT_THAT(
      apply(config::with(engine_->running(), "/c/slb/advhc/health shop/restart \"/bin/restart shop\""))
          .errors,
      IsEmpty());
  EXPECT_TRUE(wanted());
  recover();
  EXPECT_FALSE(wanted()) << "it is back";
}

TEST_F(RemedyTest, WhatIsBegunIsStoredBefore) {
  start_shop();
  actions_.on_begin = [this] {
    std::filesystem::copy_file(directory_ + "/states", directory_ + "/then",
                               std::filesystem::copy_options::overwrite_existing);
  };
  prober_->failover = true;
  fail();
  ASSERT_THAT(begun(), ElementsAre("http://10.0.0.9/f"));
  std::filesystem::rename(directory_ + "/then", directory_ + "/states");  // it is killed at that moment
  start();
  for (int i = 0; i < 5; ++i) check();
  EXPECT_EQ(actions_.begun.size(), 1u);
  EXPECT_EQ(shop().deeds.at(0).outcome, "unknown: headgated ended before");
}

TEST_F(RemedyTest, AServiceThatWasGoneForAWhileHasOneActionUnderWayAndOneFailover) {
  start_shop();
  const auto off_and_on = [this] {
    const config::Config on = engine_->running();
    EXPECT_THAT(apply(config::with(on, "/c/slb/off")).errors, IsEmpty());
    check();
    EXPECT_THAT(apply(on).errors, IsEmpty());
    for (int i = 0; i < 5; ++i) check();
  };
  fail();
  off_and_on();
  EXPECT_EQ(actions_.begun.size(), 1u) << "it is under way";
  const config::Config on = engine_->running();
  EXPECT_THAT(apply(config::with(on, "/c/slb/virt 1/dis")).errors, IsEmpty());
  actions_.end();
  EXPECT_THAT(apply(on).errors, IsEmpty());
  EXPECT_EQ(shop().deeds.at(0).outcome, "done in 1.0 s") << "it ended while the service was gone";
  check();
  EXPECT_THAT(begun(), ElementsAre("/bin/restart shop", "http://10.0.0.9/f"));
  actions_.end();
  off_and_on();
  EXPECT_EQ(actions_.begun.size(), 2u);
  EXPECT_EQ(shop().deeds.size(), 2u);
}

TEST_F(RemedyTest, AServerThatComesBackToItsAddressHasOneActionUnderWay) {
  start_shop();
  fail();
  const config::Config here = engine_->running();
  EXPECT_THAT(apply(config::with(here, "/c/slb/real 1/rip 10.10.2.99")).errors, IsEmpty());
  check();
  EXPECT_THAT(apply(here).errors, IsEmpty());
  for (int i = 0; i < 5; ++i) check();
  EXPECT_THAT(begun(), ElementsAre("/bin/restart shop"));
}

// ---- More than can be done at once

class ManyRemedies : public RemedyTest {
 protected:
  static constexpr std::size_t kAtOnce = 32;
  static constexpr L4Port kFirst = 2000, kEnd = 2040;

  void start_many() {
    std::string services = "/c/slb/advhc/health shop/failover \"\"/failnow \"\"\n";
    for (unsigned port = kFirst; port < kEnd; ++port)
      services += "/c/slb/virt 1/service " + std::to_string(port) + "/group 1\n";
    start_shop(services);
  }
  void fail_all() {
    for (L4Port port = kFirst; port < kEnd; ++port) prober_->down.insert({kServer1, port});
    check();
  }
  std::size_t deeds() const {
    std::size_t count = 0;
    for (const auto& [key, watched] : engine_->monitor().targets()) count += watched.deeds.size();
    return count;
  }
};

TEST_F(ManyRemedies, OthersWaitForTheirTurnAndAreBegunThen) {
  start_many();
  fail_all();
  EXPECT_EQ(actions_.begun.size(), kAtOnce);
  actions_.end();
  time_->pass(milliseconds(200));
  EXPECT_EQ(actions_.begun.size(), kAtOnce + 1);
}

TEST_F(ManyRemedies, WhatIsNotWantedAnyMoreIsNotBegunAndDoesNotCount) {
  start_many();
  fail_all();
  EXPECT_THAT(
      apply(config::with(engine_->running(), "/c/slb/advhc/health shop/restart \"/bin/other\"")).errors,
      IsEmpty());
  for (std::size_t i = 0; i < kAtOnce; ++i) actions_.end();
  time_->pass(milliseconds(200));
  EXPECT_EQ(deeds(), kAtOnce);
  EXPECT_THAT(lines_, Contains(HasSubstr("restart not begun: it is not wanted any more")));
  actions_.begun.clear();
  check();
  EXPECT_EQ(std::ranges::count(begun(), "/bin/other"), kEnd - kFirst - std::ptrdiff_t{kAtOnce});
}

TEST_F(ManyRemedies, WhatWaitedWhenHeadgatedEndedIsDoneAfterwards) {
  start_many();
  fail_all();
  const std::size_t before = std::exchange(actions_.begun, {}).size();
  start();
  EXPECT_EQ(deeds(), before);
  check();
  EXPECT_EQ(std::ranges::count(begun(), "/bin/restart shop"), kEnd - kFirst - std::ptrdiff_t{kAtOnce});
}

}  // namespace
}  // namespace headgate::daemon
