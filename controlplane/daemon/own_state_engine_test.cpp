// SPDX-License-Identifier: Apache-2.0
// What the engine says of the switch itself: how its virtual servers do, and whether it can check servers at
// all.
#include "controlplane/control/service.h"
#include "controlplane/daemon/engine_fixture.h"

namespace headgate::daemon {
namespace {

using testing::Contains;
using testing::ElementsAre;

config::Config asked_at(const std::string& address) {
  return config::with(config::lab(), "/c/sys/state/ena/addr " + address);
}

TEST_F(EngineTest, StateIsAskedWhereTheConfigurationSaysAndNowhereWithout) {
  start_lab();
  EXPECT_EQ(state_server_.listens, std::nullopt);
  EXPECT_THAT(apply(asked_at("10.9.9.9")).errors, IsEmpty());
  EXPECT_EQ(state_server_.listens, (Endpoint{Ipv4{0x0a090909}, 8088}));
  EXPECT_THAT(apply(config::with(asked_at("10.9.9.9"), "/c/sys/state/port 81")).errors, IsEmpty());
  EXPECT_EQ(state_server_.listens, (Endpoint{Ipv4{0x0a090909}, 81}));
  start();
  EXPECT_EQ(state_server_.listens, (Endpoint{Ipv4{0x0a090909}, 81})) << "after a restart";
  EXPECT_THAT(apply(config::lab()).errors, IsEmpty());
  EXPECT_EQ(state_server_.listens, std::nullopt);
}

TEST_F(EngineTest, AnAddressThatCantBeListenedAtIsToldOnceAndTriedAgain) {
  start_lab();
  state_server_.fault = "can't listen on 10.9.9.9:8088: Cannot assign requested address";
  EXPECT_THAT(apply(asked_at("10.9.9.9")).errors, IsEmpty());
  time_->pass(milliseconds(11'000));
  const std::string line = "mgmt: state over HTTP: " + state_server_.fault;
  EXPECT_EQ(std::ranges::count(lines_, line), 1);
  state_server_.fault.clear();
  time_->pass(milliseconds(5000));
  EXPECT_NE(state_server_.listens, std::nullopt);
}

TEST_F(EngineTest, TheAddressOfAVirtualServerIsRefused) {
  start();
  EXPECT_THAT(
      apply(asked_at("10.10.1.100")).errors,
      ElementsAre(
          "/cfg/sys/state: addr 10.10.1.100 is that of virtual server 1; give one of the switch's own"));
}

TEST_F(EngineTest, AVirtualServerServesAsItsServersDo) {
  start_lab();
  const control::Service service(*engine_);
  EXPECT_EQ(service.virt_state(1), control::UP);
  EXPECT_EQ(service.virt_state(77), std::nullopt);
  prober_->silent = {{kServer1, 8080}, {kServer1, 21}, {kServer2, 8080}};
  time_->pass(milliseconds(12'000));
  EXPECT_EQ(service.virt_state(1), control::NO_SERVICES_UP);
}

TEST_F(EngineTest, ServersThatRestOrAreFullServeNobody) {
  start_lab();
  const control::Service service(*engine_);
  EXPECT_THAT(
      apply(config::with(config::lab(), "/c/slb/group 1/dis 1\n/c/slb/group 1/dis 2\n/c/slb/group 2/dis 1"))
          .errors,
      IsEmpty());
  EXPECT_EQ(service.virt_state(1), control::NO_SERVICES_UP);
  EXPECT_THAT(apply(config::with(config::lab(),
                                 "/c/slb/real 1/maxcon 1/overflow dis\n/c/slb/real 2/maxcon 1/overflow dis"))
                  .errors,
              IsEmpty());
  EXPECT_EQ(service.virt_state(1), control::UP);
  dataplane_.stats.Clear();
  for (const std::uint32_t real : {1u, 2u}) {
    auto& row = *dataplane_.stats.add_real();
    row.set_real(real);
    row.mutable_counts()->set_current(1);
  }
  time_->pass(milliseconds(2000));
  EXPECT_EQ(service.virt_state(1), control::NO_SERVICES_UP);
}

TEST_F(EngineTest, ADegradedServerServesAtLast) {
  start_lab();
  const control::Service service(*engine_);
  for (const auto& where :
       {std::pair{kServer1, L4Port{8080}}, {kServer1, L4Port{21}}, {kServer2, L4Port{8080}}})
    prober_->readings[where] = {health::Grade::degraded, 4};
  time_->pass(milliseconds(3000));
  EXPECT_EQ(service.virt_state(1), control::DEGRADED);
}

TEST_F(EngineTest, WithoutADataplaneNoVirtualServerServes) {
  start_lab();
  const control::Service service(*engine_);
  dataplane_.there = false;
  engine_->dataplane_lost();
  EXPECT_EQ(service.virt_state(1), control::NO_SERVICES_UP);
  EXPECT_EQ(service.virt_state(77), std::nullopt);
}

TEST_F(EngineTest, ChecksThatCantBeMadeAreToldOnceAndWhenTheyAreMadeAgain) {
  constexpr const char* kAgain = "slb: health checks are made again";
  start_lab();
  prober_->exhausted = true;
  time_->pass(milliseconds(30'000));
  prober_->exhausted = false;
  time_->pass(milliseconds(20'000));
  prober_->exhausted = true;
  time_->pass(milliseconds(30'000));
  EXPECT_EQ(std::ranges::count_if(lines_,
                                  [](const std::string& line) {
                                    return line.starts_with("slb: health checks can't be made: ");
                                  }),
            1);
  prober_->exhausted = false;
  time_->pass(milliseconds(59'000));
  EXPECT_THAT(lines_, testing::Not(Contains(kAgain)));
  time_->pass(milliseconds(5000));
  EXPECT_EQ(std::ranges::count(lines_, kAgain), 1);
  EXPECT_EQ(dataplane_.admission(1, 8080), forwarding::OPEN) << "its verdict stands";
}

}  // namespace
}  // namespace headgate::daemon
