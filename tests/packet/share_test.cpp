// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataplane/core/weights.h"
#include "tests/packet/choice_sites.h"

// Weights that follow from what was measured, and slow start (reference 3.1).
namespace headgate::testing {
namespace {

std::map<std::string, int> spread(Bench& bench, int sessions, std::uint16_t vport = 80) {
  static std::uint16_t port = 10000;
  std::map<std::string, int> servers;
  for (int i = 0; i < sessions; ++i) {
    port = port == 60000 ? 10000 : port + 1;
    const auto session = Connection::open(bench, port, kClient, kVip, vport);
    ++servers[session.server_address()];
    close(bench, session);
  }
  return servers;
}

Site two_metrics(forwarding::Metric metric) {
  Site site;
  site.service(1, 80, 8080, {1, 2}, metric).service(1, 81, 8080, {1, 2}, forwarding::ROUNDROBIN);
  site.edit().mutable_settings()->set_metric_seconds(10);
  return site;
}

TEST(Weight, ShorterResponsesHaveMoreSessionsInProportion) {
  Bench bench(two_metrics(forwarding::RESPONSE), {.sessions = 16384});
  bench.responds(1, 1000);
  bench.responds(2, 3000);
  bench.tick();
  EXPECT_EQ(spread(bench, 400),
            (std::map<std::string, int>{{std::string(kServer1), 300}, {std::string(kServer2), 100}}));
  EXPECT_EQ(spread(bench, 100, 81)[std::string(kServer1)], 50) << "other metrics' services feel nothing";
  bench.responds(1, 9000);
  bench.wait(9);
  bench.tick();
  EXPECT_EQ(spread(bench, 400)[std::string(kServer1)], 300) << "until the interval is over";
  bench.wait(1);
  bench.tick();
  EXPECT_EQ(spread(bench, 400)[std::string(kServer1)], 100);
}

TEST(Weight, FewerOctetsInTheLastIntervalMeanMoreSessionsInProportion) {
  Bench bench(two_metrics(forwarding::BANDWIDTH), {.sessions = 16384});
  bench.tick();
  std::vector<Connection> open = {Connection::open(bench, 5000), Connection::open(bench, 5001)};
  ASSERT_NE(open[0].server_address(), open[1].server_address());
  for (int i = 0; i < 400; ++i) {
    bench.from_client(open[0].says(kAck, std::string(1000, 'x')));
    if (i % 4 == 0) bench.from_client(open[1].says(kAck, std::string(1000, 'x')));
  }
  bench.wait(10);
  bench.tick();
  EXPECT_NEAR(spread(bench, 500)[open[1].server_address()], 400, 5);
  EXPECT_EQ(spread(bench, 100, 81)[std::string(kServer1)], 50);
}

TEST(SlowStart, AMembersShareGrowsToItsWeightInItsTime) {
  Site site = web(2);
  site.edit().mutable_service(0)->set_slow_start_seconds(20);
  Bench bench(site, {.sessions = 16384});
  bench.tick();
  EXPECT_EQ(spread(bench, 100)[std::string(kServer2)], 50) << "what was open at the start is not new";
  bench.admit(2, forwarding::CLOSED);
  bench.admit(2, forwarding::OPEN);
  int before = spread(bench, 100)[std::string(kServer2)];
  EXPECT_LE(before, 1);
  for (int second = 1; second <= 20; ++second) {
    bench.wait(1);
    bench.tick();
    const int now = spread(bench, 200)[std::string(kServer2)];
    EXPECT_GE(now + 2, before) << second;
    before = now;
    if (second != 10) continue;
    EXPECT_NEAR(now, 200 / 3, 3) << "half the weight of the other";
  }
  EXPECT_EQ(spread(bench, 100)[std::string(kServer2)], 50);
}

TEST(SlowStart, LeastconnsDoesNotFloodAServerThatReturns) {
  Bench bench(web(2, forwarding::LEASTCONNS));
  bench.tick();
  std::uint16_t port = 20000;
  const auto open = [&](int sessions) {
    for (int i = 0; i < sessions; ++i) Connection::begin(bench, port++);
  };
  open(400);
  EXPECT_EQ(bench.current(2), 200u);
  bench.admit(2, forwarding::CLOSED);
  bench.sweep();
  bench.admit(2, forwarding::OPEN);
  open(100);
  EXPECT_LE(bench.current(2), 3u) << "it has just returned";
  bench.wait(core::kRecoverySeconds / 2);
  bench.tick();
  open(300);
  EXPECT_NEAR(bench.current(2), bench.current(1) / 2.0, 20);
  bench.wait(core::kRecoverySeconds / 2);
  bench.tick();
  open(400);
  EXPECT_NEAR(bench.current(2), bench.current(1), 2);
}

TEST(Weight, EditedWhileTheServerIsDownHoldsWhenItIsBack) {
  Bench bench(web(2));
  bench.admit(1, forwarding::CLOSED);
  bench.publish(web(2).weight(1, 5));
  bench.admit(1, forwarding::OPEN);
  EXPECT_EQ(spread(bench, 60),
            (std::map<std::string, int>{{std::string(kServer1), 50}, {std::string(kServer2), 10}}));
}

}  // namespace
}  // namespace headgate::testing
