// SPDX-License-Identifier: Apache-2.0
#include "controlplane/daemon/engine.h"

#include <fstream>

#include "controlplane/daemon/engine_fixture.h"

namespace headgate::daemon {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

TEST_F(EngineTest, AppliedServicesOpenWithTheirFirstSuccess) {
  start();
  EXPECT_THAT(apply(config::lab()).errors, IsEmpty());
  EXPECT_EQ(dataplane_.admission(1, 8080), forwarding::DRAINING);
  time_->pass(milliseconds(500));
  EXPECT_EQ(dataplane_.admission(1, 8080), forwarding::OPEN);
  EXPECT_EQ(dataplane_.admission(2, 8080), forwarding::OPEN);
  EXPECT_THAT(lines_, Contains("slb: real server 10.10.2.11 operational"));
  EXPECT_THAT(lines_, Contains("slb: real service 10.10.2.11:8080 operational"));
  EXPECT_EQ(kernel_.plan.addresses.size(), 3u);
}

TEST_F(EngineTest, AFailedServiceClosesAloneAndComesBackAfterRestr) {
  start_lab();
  prober_->down = {{kServer1, 8080}};
  time_->pass(milliseconds(8000));
  EXPECT_THAT(dataplane_.changes, ElementsAre("1:8080 CLOSED"));
  EXPECT_THAT(lines_,
              ElementsAre("slb: cannot contact real service 10.10.2.11:8080 (real server 1): refused"));
  prober_->down.clear();
  time_->pass(milliseconds(13'000));
  EXPECT_EQ(dataplane_.admission(1, 8080), forwarding::CLOSED) << "restr is 8, inter 2 s";
  time_->pass(milliseconds(4000));
  EXPECT_THAT(dataplane_.changes, ElementsAre("1:8080 CLOSED", "1:8080 OPEN"));
}

TEST_F(EngineTest, AServerFailsWithItsLastServiceAndAVirtualServerWithItsLastServer) {
  start_lab();
  prober_->silent = {{kServer1, 8080}, {kServer1, 21}, {kServer2, 8080}};
  time_->pass(milliseconds(12'000));
  EXPECT_THAT(lines_, Contains("slb: cannot contact real server 10.10.2.11"));
  EXPECT_THAT(lines_, Contains("slb: No services are available for Virtual Server1:10.10.1.100"));
  EXPECT_EQ(engine_->monitor().targets().at({2, 8080, Protocol::tcp, "tcp"}).reason, "no answer in 2.0 s");
  EXPECT_EQ(server_state_of(engine_->monitor().targets(), 1).layer, 3u);
}

TEST_F(EngineTest, WithGraceSessionsOfAFailedServiceGoOn) {
  start_lab();
  EXPECT_THAT(apply(config::with(config::lab(), "/c/slb/adv/grace ena")).errors, IsEmpty());
  prober_->down = {{kServer1, 8080}};
  time_->pass(milliseconds(8000));
  EXPECT_EQ(dataplane_.admission(1, 8080), forwarding::DRAINING);
}

TEST_F(EngineTest, RestartWithADeadServerAndADrainedOneFlapsNothing) {
  start_lab();
  prober_->down = {{kServer1, 8080}};
  time_->pass(milliseconds(10'000));
  EXPECT_TRUE(engine_->set_operation(2, forwarding::DRAIN).ok());
  const auto before = dataplane_.states;

  start();
  EXPECT_EQ(engine_->running().slb().real_size(), 2);
  time_->pass(milliseconds(10'000));
  EXPECT_THAT(dataplane_.changes, IsEmpty());
  EXPECT_EQ(dataplane_.admission(1, 8080), forwarding::CLOSED);
  EXPECT_EQ(dataplane_.admission(2, 8080), forwarding::DRAINING);
  EXPECT_THAT(lines_, Not(Contains(testing::HasSubstr("slb:"))));
  EXPECT_EQ(dataplane_.states.at({1, 8080, Protocol::tcp, "tcp"}).since_unix_ms(),
            before.at({1, 8080, Protocol::tcp, "tcp"}).since_unix_ms());
  EXPECT_TRUE(engine_->set_operation(2, forwarding::ENABLED).ok());
  EXPECT_EQ(dataplane_.admission(2, 8080), forwarding::OPEN);  // reports 48
}

TEST_F(EngineTest, AServerThatDiedWhileHeadgatedWasDeadIsFoundByItsProbes) {
  start_lab();
  prober_->down = {{kServer2, 8080}};
  start();
  time_->pass(milliseconds(7000));
  EXPECT_THAT(dataplane_.changes, ElementsAre("2:8080 CLOSED"));
}

TEST_F(EngineTest, ADrainAndVerdictsOutlastAKillOfBothProgramsAtOnce) {
  start_lab();
  prober_->down = {{kServer1, 8080}};
  time_->pass(milliseconds(10'000));
  EXPECT_TRUE(engine_->set_operation(2, forwarding::DRAIN).ok());
  dataplane_.states.clear();  // it comes back knowing nothing
  dataplane_.operations.clear();
  start();
  EXPECT_EQ(dataplane_.admission(1, 8080), forwarding::CLOSED);
  EXPECT_EQ(dataplane_.admission(2, 8080), forwarding::DRAINING);
  EXPECT_EQ(dataplane_.operations.at(2).operation(), forwarding::DRAIN);
  time_->pass(milliseconds(10'000));
  EXPECT_EQ(dataplane_.admission(2, 8080), forwarding::DRAINING);
  EXPECT_THAT(lines_, Not(Contains(testing::HasSubstr("slb:"))));
}

TEST_F(EngineTest, WithEveryConfigurationFileDamagedNothingIsTouchedUntilAnApply) {
  start_lab();
  ASSERT_TRUE(engine_->save(config::Store::Rotation::into_backup).ok());
  for (const char* file : {"/config.active", "/config.backup", "/config.running"})
    std::ofstream(directory_ + file) << "half a fi";
  const auto generation = dataplane_.generation.SerializeAsString();
  const auto vips = kernel_.plan;
  start();
  time_->pass(milliseconds(20'000));
  EXPECT_EQ(dataplane_.generation.SerializeAsString(), generation);
  EXPECT_EQ(kernel_.plan, vips);
  EXPECT_THAT(lines_, Contains(testing::HasSubstr("no stored configuration can be read")));
  EXPECT_THAT(dataplane_.changes, IsEmpty());

  EXPECT_THAT(apply(config::lab()).errors, IsEmpty());
  EXPECT_GT(dataplane_.generation.number(), 1u);
}

TEST_F(EngineTest, ARebootEndsWhatAnOperatorHasSet) {
  start_lab();
  ASSERT_TRUE(engine_->save(config::Store::Rotation::into_backup).ok());
  EXPECT_TRUE(engine_->set_operation(2, forwarding::DRAIN).ok());
  boot_ = "next boot";
  start();
  time_->pass(milliseconds(3000));
  EXPECT_EQ(dataplane_.admission(2, 8080), forwarding::OPEN);
}

TEST_F(EngineTest, AnOperatorsSettingEndsWithItsServer) {
  start_lab();
  EXPECT_TRUE(engine_->set_operation(2, forwarding::DRAIN).ok());
  EXPECT_THAT(
      apply(config::with(config::with(config::lab(), "/c/slb/group 1/rem 2"), "/c/slb/real 2/del")).errors,
      IsEmpty());
  EXPECT_THAT(apply(config::lab()).errors, IsEmpty());
  time_->pass(milliseconds(3000));
  EXPECT_EQ(dataplane_.admission(2, 8080), forwarding::OPEN);
}

TEST_F(EngineTest, BeingStoppedForTenSecondsIsNoFailureOfAServer) {  // reports 5
  start();
  EXPECT_THAT(apply(config::with(config::lab(), "/c/slb/real 1/retry 1")).errors, IsEmpty());
  time_->pass(milliseconds(3000));
  prober_->silent = {{kServer1, 8080}};
  time_->pass(milliseconds(1500));  // a probe is on its way
  dataplane_.changes.clear();
  time_->stall(milliseconds(10'000));
  EXPECT_THAT(dataplane_.changes, IsEmpty());
  time_->pass(milliseconds(2100));
  EXPECT_THAT(dataplane_.changes, ElementsAre("1:8080 CLOSED")) << "it was silent while we listened, too";
}

TEST_F(EngineTest, AnAppliedConfigurationIsOnDiskBeforeItIsConfirmed) {
  start();
  bool stored = false;
  engine_->apply(config::lab(), true, [&](const Engine::Outcome&) {
    stored = config::Store(directory_, "boot").load().running.config.slb().real_size() == 2;
  });
  EXPECT_TRUE(stored);
}

TEST_F(EngineTest, WhatCantBeStoredIsNotApplied) {
  start();
  std::filesystem::rename(directory_, directory_ + ".gone");
  const Engine::Outcome outcome = apply(config::lab());
  std::filesystem::rename(directory_ + ".gone", directory_);
  EXPECT_THAT(outcome.errors, ElementsAre(testing::StartsWith("the configuration can't be stored: ")));
  EXPECT_EQ(dataplane_.generation.service_size(), 0);
  EXPECT_EQ(engine_->running().slb().real_size(), 0);
  EXPECT_THAT(apply(config::lab()).errors, IsEmpty());
}

TEST_F(EngineTest, WithoutADataplaneItProbesAndAppliesAndPublishesLater) {
  dataplane_.there = false;
  start();
  EXPECT_TRUE(apply(config::lab()).applied.dataplane_absent());
  time_->pass(milliseconds(2000));
  EXPECT_EQ(engine_->monitor().targets().at({1, 8080, Protocol::tcp, "tcp"}).state.health,
            health::Health::up);
  dataplane_.there = true;
  engine_->dataplane_connected(dataplane_.hand_back());
  EXPECT_EQ(dataplane_.generation.service_size(), 2);
  EXPECT_EQ(dataplane_.admission(1, 8080), forwarding::OPEN);
}

TEST_F(EngineTest, ADataplaneThatRestartsGetsEverythingAgain) {
  start_lab();
  dataplane_.there = false;
  engine_->dataplane_lost();
  dataplane_.there = true;
  dataplane_.states.clear();
  dataplane_.generation.Clear();
  engine_->dataplane_connected({});
  EXPECT_EQ(dataplane_.generation.service_size(), 2);
  EXPECT_EQ(dataplane_.admission(2, 8080), forwarding::OPEN);
}

TEST_F(EngineTest, WhatTheDataplaneRefusesIsNotApplied) {
  start_lab();
  const auto number = engine_->generation();
  dataplane_.refusal = "port 2: no such device";
  EXPECT_THAT(apply(config::with(config::lab(), "/c/slb/real 1/weight 3")).errors,
              ElementsAre("the dataplane refuses the configuration: port 2: no such device"));
  EXPECT_EQ(text::dump(engine_->running()), text::dump(config::lab()));
  EXPECT_EQ(engine_->generation(), number);
}

TEST_F(EngineTest, AnInvalidConfigurationIsRefusedWholeWithAllItsErrors) {
  start_lab();
  EXPECT_EQ(apply(config::with(config::lab(), "/c/slb/real 3/ena\n/c/slb/group 1/add 9")).errors.size(), 2u);
  EXPECT_EQ(text::dump(engine_->running()), text::dump(config::lab()));
}

TEST_F(EngineTest, EndingSessionsNeedsConfirmation) {
  start_lab();
  forwarding::ServiceStats& http = *dataplane_.stats.add_service();
  http.set_virt(1);
  http.set_vport(80);
  http.set_protocol(6);
  http.set_real(1);
  http.set_rport(8080);
  http.mutable_counts()->set_current(12);
  const config::Config next = config::with(config::lab(), "/c/slb/real 1/dis");
  const Engine::Outcome asked = apply(next, false);
  EXPECT_TRUE(asked.applied.needs_confirmation());
  EXPECT_EQ(asked.applied.sessions_ended(), 12u);
  EXPECT_EQ(dataplane_.admission(1, 8080), forwarding::OPEN);
  EXPECT_FALSE(apply(next, true).applied.needs_confirmation());
  EXPECT_EQ(dataplane_.admission(1, 8080), forwarding::CLOSED);
}

TEST_F(EngineTest, ProbesHearOfTheLinksOfPortsWhileADataplaneTells) {
  start_lab();
  for (const std::uint32_t number : {1u, 2u}) {
    auto& port = *dataplane_.stats.add_port();
    port.set_port(number);
    port.set_up(number == 1);
  }
  time_->pass(milliseconds(1000));
  EXPECT_EQ(prober_->links, (std::map<std::uint32_t, bool>{{1, true}, {2, false}}));
  engine_->dataplane_lost();
  EXPECT_EQ(prober_->links, (std::map<std::uint32_t, bool>{}));
}

// Reports 121: an apply neither loses nor invents health.
TEST_F(EngineTest, AppliesAroundADownServerKeepItsVerdictAndItComesBack) {
  start_lab();
  prober_->down = {{kServer1, 8080}};
  time_->pass(milliseconds(10'000));
  dataplane_.changes.clear();
  config::Config next = config::lab();
  for (const char* change : {"/c/slb/real 1/name x", "/c/slb/real 1/retry 3", "/c/slb/group 1/metric hash",
                             "/c/slb/real 3/rip 10.10.2.13"}) {
    next = config::with(next, change);
    EXPECT_THAT(apply(next).errors, IsEmpty());
    time_->pass(milliseconds(2000));
    EXPECT_THAT(dataplane_.changes, IsEmpty()) << change;
  }
  prober_->down.clear();
  time_->pass(milliseconds(18'000));
  EXPECT_THAT(dataplane_.changes, ElementsAre("1:8080 OPEN"));
}

TEST_F(EngineTest, AChangedCheckOfAHealthyServiceNeverStopsIt) {
  start_lab();
  EXPECT_THAT(apply(config::with(config::lab(), "/c/slb/group 1/health icmp")).errors, IsEmpty());
  EXPECT_EQ(dataplane_.states.at({1, 8080, Protocol::tcp, "icmp"}).admission(), forwarding::OPEN);
}

TEST_F(EngineTest, AChangedCheckOfADownServiceDecidesAnew) {
  prober_ = nullptr;
  start_lab();
  prober_->down = {{kServer1, 8080}};
  time_->pass(milliseconds(10'000));
  EXPECT_THAT(apply(config::with(config::lab(), "/c/slb/group 1/health icmp")).errors, IsEmpty());
  prober_->down.clear();
  time_->pass(milliseconds(500));
  EXPECT_EQ(dataplane_.states.at({1, 8080, Protocol::tcp, "icmp"}).admission(), forwarding::OPEN)
      << "its first success";
}

TEST_F(EngineTest, TrafficFailureBringsAProbeForwardAndDecidesNothing) {
  start_lab();
  forwarding::Report report;
  *report.mutable_traffic_failure()->mutable_target() = config::to_message({1, 8080, Protocol::tcp, "tcp"});
  const int before = prober_->probes;
  for (int i = 0; i < 10; ++i) engine_->dataplane_report(report);
  EXPECT_EQ(prober_->probes, before + 1);
  EXPECT_THAT(dataplane_.changes, IsEmpty());
}

TEST_F(EngineTest, APortThatComesUpAnnouncesItsVips) {
  start_lab();
  forwarding::Report report;
  report.mutable_port_change()->set_port(1);
  report.mutable_port_change()->set_up(true);
  engine_->dataplane_report(report);
  EXPECT_THAT(kernel_.announced, ElementsAre(1u));
}

// Reports 9, 18: no target is forgotten, none waits, and none fires with too many others.
TEST_F(EngineTest, ManyTargetsAreProbedEachIntervalAndSpread) {
  std::string lines(config::kLab);
  for (int real = 3; real <= 250; ++real) {
    lines += "/c/slb/real " + std::to_string(real) + "/ena/rip 10.20.0." + std::to_string(real) + "\n";
    lines += "/c/slb/group 2/add " + std::to_string(real) + "\n";
  }
  start();
  EXPECT_THAT(apply(config::with({}, lines)).errors, IsEmpty());
  time_->pass(milliseconds(2000));
  int busiest = 0;
  const int begin = prober_->probes;
  for (int slot = 0; slot < 20; ++slot) {
    const int before = prober_->probes;
    time_->pass(milliseconds(100));
    busiest = std::max(busiest, prober_->probes - before);
  }
  EXPECT_EQ(prober_->probes - begin, 251);
  EXPECT_LE(busiest, 25);
}

TEST(Averages, ConvergeFromBelow) {  // reports 74
  Averages averages;
  for (int i = 0; i < 64; ++i) averages.sample(0);
  for (int i = 0; i < 2; ++i) averages.sample(1000);
  EXPECT_EQ(averages.over(4), 500u);
  EXPECT_EQ(averages.over(64), 31u);
  for (int i = 0; i < 64; ++i) averages.sample(1000);
  EXPECT_EQ(averages.over(64), 1000u);
}

TEST_F(EngineTest, ManyChangesOfTheTimesPutNoCheckOff) {
  start_lab();
  prober_->down.insert({kServer1, 8080});
  for (int i = 0; i < 40; ++i) {
    const std::string times = "/c/slb/real 1/retry 1/inter " + std::to_string(3 + i % 2);
    EXPECT_THAT(apply(config::with(config::lab(), times)).errors, IsEmpty());
    time_->pass(milliseconds(300));
  }
  EXPECT_EQ(dataplane_.admission(1, 8080), forwarding::CLOSED);
}

TEST_F(EngineTest, ADataplaneThatHangsForwardsNothingAndIsOneLine) {
  start_lab();
  dataplane_.hangs = true;
  time_->pass(milliseconds(2000));
  EXPECT_TRUE(engine_->forwards());
  time_->pass(milliseconds(10'000));
  EXPECT_FALSE(engine_->forwards());
  EXPECT_THAT(lines_, ElementsAre("system: dataplane has not answered for 3 seconds"));
  dataplane_.wake();
  EXPECT_TRUE(engine_->forwards());
  EXPECT_EQ(lines_.back(), "system: dataplane answers again");
}

}  // namespace
}  // namespace headgate::daemon
