// SPDX-License-Identifier: Apache-2.0
// Sessions remember epochs and versions of 16 bits, which come round: a sweep marks what is out of date, so
// that an old one is never taken for a present one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/packet/bench.h"

namespace headgate::testing {
namespace {

using core::Fate;
using ::testing::ElementsAre;

constexpr int kRound = 65536;

void close_and_open(Bench& bench, int times) {
  const core::BindingSlot slot = bench.generation->layout->services[0].members[0].binding;
  for (int i = 0; i < times; ++i) {
    bench.shared.admit(slot, forwarding::CLOSED);
    bench.shared.admit(slot, forwarding::OPEN);
  }
  bench.pass(std::vector<Wire>{});  // its counts are given up
}

TEST(ComingRound, ATerminatedSessionStaysSoWhenItsEpochsNumberIsThereAgain) {
  Bench bench(web(1));
  const auto session = Connection::open(bench, 40000);
  const auto half_open = Connection::begin(bench, 40001);
  close_and_open(bench, 1);
  EXPECT_EQ(bench.sweep(), 0u);
  EXPECT_EQ(bench.stats().half_open_sessions(), 0u);
  close_and_open(bench, kRound - 1);
  bench.fates();
  bench.from_client(session.says(kAck, "GET"));
  bench.from_client(half_open.says(kAck));
  EXPECT_EQ(bench.fates(), (Fates{{Fate::reset_terminated, 2}}));
  bench.wait(3600);
  bench.sweep();
  EXPECT_EQ(bench.sessions(), 0u);
  EXPECT_EQ(bench.current(1), 0u);
  EXPECT_EQ(bench.stats().current_sessions(), 0u);
}

std::vector<core::Route> detour() {
  return {{.prefix = address("10.10.1.0"), .length = 24, .port = 0},
          {.prefix = address("10.10.2.0"), .length = 24, .port = 1, .gateway = address("10.10.2.254")}};
}

/// As many changes of routes as it takes to have this version again, of which workers see the last.
void come_round(Bench& bench, std::uint16_t version) {
  do bench.director.renew_hops();
  while (bench.director.build()->routes_version != version);
  bench.generation = bench.director.build();
}

TEST(ComingRound, ASessionTakesTheNewRouteWhenItsVersionsNumberIsThereAgain) {
  Bench bench(web(1));
  const auto session = Connection::open(bench, 40000);
  const std::uint16_t version = bench.generation->routes_version;
  bench.routes(detour());
  bench.sweep();
  come_round(bench, version);
  const Packet data = session.says(kAck, "data");
  EXPECT_THAT(bench.from_client(data),
              ElementsAre(session.at_server(data).via("10.10.2.254").out(kServerPort)));
}

TEST(ComingRound, AServersWayIsLookedUpAgainWhenItsVersionsNumberIsThereAgain) {
  Bench bench(web(1));
  bench.routes(detour());
  Connection::open(bench, 40000);  // the gateway is known from now on
  bench.routes(Bench::connected());
  Connection::open(bench, 40001);
  const std::uint16_t version = bench.generation->routes_version;
  bench.director.set_routes(detour());
  come_round(bench, version);
  const Packet syn = ip(kClient, kServer1).tcp(40002, 8080, kSyn).ttl(63).via("10.10.2.254");
  EXPECT_THAT(bench.from_client(ip(kClient, kVip).tcp(40002, 80, kSyn)), ElementsAre(syn.out(kServerPort)));
}

}  // namespace
}  // namespace headgate::testing
