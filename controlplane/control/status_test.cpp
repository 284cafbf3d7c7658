// SPDX-License-Identifier: Apache-2.0
#include "controlplane/control/status.h"

#include <algorithm>

#include "controlplane/control/service.h"
#include "controlplane/daemon/engine_fixture.h"

// What screens are told of servers. Reference 4.8.
namespace headgate::daemon {
namespace {

class StatusTest : public EngineTest {
 protected:
  StatusTest() {
    start_lab();
    service_ = std::make_unique<control::Service>(*engine_);
  }
  control::StatusReply status(std::uint32_t changes_of = 0) {
    control::Request request;
    request.mutable_status()->set_changes_of(changes_of);
    control::StatusReply status;
    service_->handle(user_, request, [&](control::Reply reply, bool) { status = reply.status(); });
    return status;
  }
  control::RealStatus real(std::uint32_t number, std::uint32_t changes_of = 0) {
    const auto all = status(changes_of);
    return *std::ranges::find(all.real(), number, &control::RealStatus::number);
  }
  control::TargetStatus target(std::uint32_t number, std::uint32_t port, std::uint32_t changes_of = 0) {
    const auto of = real(number, changes_of);
    return *std::ranges::find(of.target(), port, &control::TargetStatus::rport);
  }
  /// The states of a group's members and, likewise, of those of the service that uses it.
  std::vector<control::State> group_states(std::uint32_t number) {
    const auto all = status();
    std::vector<control::State> out;
    for (const auto& member : std::ranges::find(all.group(), number, &control::GroupStatus::number)->member())
      out.push_back(member.state());
    return out;
  }
  std::vector<control::State> service_states(std::uint32_t vport) {
    const auto all = status();
    std::vector<control::State> out;
    const auto& services = all.virt(0).service();
    for (const auto& member : std::ranges::find(services, vport, &control::ServiceStatus::vport)->member())
      out.push_back(member.state());
    return out;
  }
  std::string closed(std::uint32_t vport) {
    const auto all = status();
    return std::ranges::find(all.virt(0).service(), vport, &control::ServiceStatus::vport)->closed();
  }
  void degrade(std::uint32_t server, L4Port port) {
    prober_->readings[{server, port}] = {health::Grade::degraded, 4};
    time_->pass(milliseconds(2000));
  }

  control::Conversation user_{{1000, config::USER}, {}};
  std::unique_ptr<control::Service> service_;
};

using control::BLOCKED, control::DEGRADED, control::DISABLED, control::SLOWSTART, control::UP;
using testing::ElementsAre;

TEST_F(StatusTest, ATargetIsToldWithItsScoreItsTimeAndItsNextCheck) {
  prober_->took[{kServer1, 8080}] = milliseconds(7);
  degrade(kServer1, 8080);
  const control::TargetStatus web = target(1, 8080);
  EXPECT_EQ(web.state(), DEGRADED);
  EXPECT_EQ(web.score(), 4u);
  EXPECT_EQ(web.took_us(), 7000u);
  EXPECT_GT(web.next_check_unix_ms(), time_->unix_ms());
  EXPECT_LE(web.next_check_unix_ms(), time_->unix_ms() + 2000);
}

TEST_F(StatusTest, ChangesAreToldOnlyOfTheServerThatIsAskedFor) {
  degrade(kServer1, 8080);
  EXPECT_EQ(target(1, 8080).change_size(), 0);
  EXPECT_EQ(target(1, 8080, 2).change_size(), 0);
  const control::TargetStatus web = target(1, 8080, 1);
  ASSERT_EQ(web.change_size(), 2);
  EXPECT_EQ(web.change(0).from(), forwarding::UNKNOWN);
  EXPECT_EQ(web.change(1).from(), forwarding::UP);
  EXPECT_EQ(web.change(1).to(), forwarding::DEGRADED);
  EXPECT_EQ(web.change(1).reason(), "answered in 1 ms");
}

TEST_F(StatusTest, DegradedIsSaidAtEveryLevelWhereNothingIsUp) {
  degrade(kServer1, 8080);
  EXPECT_EQ(real(1).state(), UP) << "its other service is";
  EXPECT_THAT(service_states(80), ElementsAre(DEGRADED, UP));
  EXPECT_THAT(group_states(1), ElementsAre(DEGRADED, UP));
  EXPECT_EQ(status().virt(0).state(), UP);
  degrade(kServer1, 21);
  EXPECT_EQ(real(1).state(), DEGRADED);
  degrade(kServer2, 8080);
  EXPECT_EQ(status().virt(0).state(), DEGRADED);
}

TEST_F(StatusTest, DegradedServersOfAGroupThatIsTooSmallAreBlocked) {
  degrade(kServer1, 8080);
  EXPECT_THAT(apply(config::with(config::lab(), "/c/slb/group 1/minthrsh 2")).errors, IsEmpty());
  EXPECT_THAT(service_states(80), ElementsAre(DEGRADED, UP));
  prober_->down = {{kServer2, 8080}};
  time_->pass(milliseconds(9000));
  EXPECT_THAT(service_states(80), ElementsAre(BLOCKED, control::FAILED));
}

TEST_F(StatusTest, DegradedServersOfAClosedGroupAreBlockedThoughAnotherStandsIn) {
  degrade(kServer1, 8080);
  EXPECT_THAT(apply(config::with(config::lab(),
                                 "/c/slb/real 3/ena/rip 10.10.2.13\n/c/slb/group 3/add 3\n"
                                 "/c/slb/group 1/backup g3/minthrsh 2\n"))
                  .errors,
              IsEmpty());
  prober_->down = {{kServer2, 8080}};
  time_->pass(milliseconds(9000));
  EXPECT_THAT(service_states(80), ElementsAre(BLOCKED, control::FAILED, UP));
}

TEST_F(StatusTest, DisabledIsSinceItWasDisabledWhateverItsHealth) {
  const std::uint64_t then = time_->unix_ms();
  EXPECT_TRUE(engine_->set_operation(1, forwarding::DRAIN).ok());
  degrade(kServer1, 8080);
  EXPECT_EQ(real(1).state(), DISABLED);
  EXPECT_EQ(real(1).since_unix_ms(), then);
  EXPECT_GT(target(1, 8080).since_unix_ms(), then) << "its health has changed since";
}

TEST_F(StatusTest, TargetsOfAServerDisabledByConfigurationAreSoSinceThen) {
  const std::uint64_t then = time_->unix_ms();
  EXPECT_THAT(apply(config::with(config::lab(), "/c/slb/real 1/dis")).errors, IsEmpty());
  degrade(kServer1, 8080);
  EXPECT_EQ(real(1).since_unix_ms(), then);
  EXPECT_EQ(target(1, 8080).state(), DISABLED);
  EXPECT_EQ(target(1, 8080).since_unix_ms(), then);
}

TEST_F(StatusTest, AGroupShowsItsServersAsItsServiceDoes) {
  EXPECT_THAT(apply(config::with(config::lab(), "/c/slb/group 1/slowstr 3600/minthrsh 2")).errors, IsEmpty());
  EXPECT_THAT(group_states(1), ElementsAre(SLOWSTART, SLOWSTART));
  prober_->down = {{kServer2, 8080}};
  time_->pass(milliseconds(9000));
  EXPECT_THAT(service_states(80), ElementsAre(BLOCKED, control::FAILED));
  EXPECT_THAT(group_states(1), ElementsAre(BLOCKED, control::FAILED));
  EXPECT_EQ(closed(80), "1 available, minthrsh 2");
  EXPECT_EQ(status().group(0).closed(), "1 available, minthrsh 2");
  EXPECT_THAT(lines_,
              testing::Contains("slb: real server group 1 has fewer available servers than minthrsh 2: "
                                "no new sessions"));
  EXPECT_THAT(apply(config::with(config::lab(), "/c/slb/group 1/advhlth 1&2")).errors, IsEmpty());
  EXPECT_EQ(closed(80), "health formula 1&2 is false");
}

TEST_F(StatusTest, AServerIsUpSinceTheServiceThatHasBeenSoLongest) {
  const std::uint64_t up = real(1).since_unix_ms();
  prober_->down = {{kServer1, 8080}};
  time_->pass(milliseconds(9000));
  EXPECT_EQ(real(1).state(), UP);
  EXPECT_EQ(real(1).since_unix_ms(), up);
  prober_->down.insert({kServer1, 21});
  time_->pass(milliseconds(9000));
  EXPECT_EQ(real(1).state(), control::FAILED);
  EXPECT_EQ(real(1).since_unix_ms(),
            std::max(target(1, 8080).since_unix_ms(), target(1, 21).since_unix_ms()));
}

TEST_F(StatusTest, AGroupShowsTheBestThatAServerIsToItsServices) {
  EXPECT_THAT(apply(config::with(config::lab(), "/c/slb/virt 1/service 8081/group 1/rport 8081")).errors,
              IsEmpty());
  prober_->down = {{kServer1, 8080}};
  degrade(kServer1, 8081);
  time_->pass(milliseconds(9000));
  EXPECT_THAT(group_states(1), ElementsAre(DEGRADED, UP));
}

TEST_F(StatusTest, AGroupThatOnlyStandsByShowsWhatItsServersAreToOthers) {
  EXPECT_THAT(apply(config::with(config::lab(),
                                 "/c/slb/real 3/ena/rip 10.10.2.13\n/c/slb/group 3/add 3\n"
                                 "/c/slb/group 1/backup g3\n"))
                  .errors,
              IsEmpty());
  time_->pass(milliseconds(9000));
  EXPECT_THAT(group_states(3), ElementsAre(BLOCKED));
  prober_->down = {{kServer1, 8080}, {kServer2, 8080}};
  time_->pass(milliseconds(9000));
  EXPECT_THAT(group_states(3), ElementsAre(UP));
}

TEST_F(StatusTest, AConfigurationComesWithWhatIsReallyChecked) {
  EXPECT_THAT(apply(config::with(config::lab(),
                                 "/c/slb/group 1/health http/content \"/\"\n"
                                 "/c/slb/virt 1/service 8000/group 1/protocol udp\n"
                                 "/c/slb/real 2/health icmp\n/c/slb/group 9/health tcp"))
                  .errors,
              IsEmpty());
  control::Request request;
  request.mutable_get_config()->set_which(control::RUNNING);
  std::vector<std::string> checks;
  service_->handle(user_, request, [&](const control::Reply& reply, bool) {
    for (const control::CheckInUse& check : reply.config().check())
      checks.push_back(fmt::format("{}/{} real {} of {}: {} {}{}", check.vport(), check.protocol(),
                                   check.real(), check.group(), check.wanted(), check.check(),
                                   check.replaces() ? " instead" : ""));
  });
  EXPECT_THAT(checks, ElementsAre("21/6 real 0 of 2: tcp tcp", "80/6 real 0 of 1: http http",
                                  "80/6 real 2 of 1: icmp icmp", "8000/17 real 0 of 1: http icmp instead",
                                  "8000/17 real 2 of 1: icmp icmp"));
}

}  // namespace
}  // namespace headgate::daemon
