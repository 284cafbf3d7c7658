// SPDX-License-Identifier: Apache-2.0
// Choices of up to 64 workers that share only the counts of sessions.
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "tests/packet/bench.h"

namespace headgate::testing {
namespace {

constexpr unsigned kWorkers = 64, kServers = 8;

// Opens so many sessions from ports of one client; how many each server got.
std::vector<std::uint64_t> open(Bench& bench, std::uint32_t sessions) {
  for (std::uint32_t n = 0; n < sessions; ++n) {
    const Ip client = Ipv4{0x0a0a0102 + n / 50'000};
    bench.pass(ip(client, host(kVip)).tcp(static_cast<std::uint16_t>(1024 + n % 50'000), 80, kSyn).in(1));
  }
  std::vector<std::uint64_t> out;
  for (std::uint32_t real = 1; real <= kServers; ++real) out.push_back(bench.current(real));
  return out;
}

TEST(Shares, OfLeastConnectionsAreEvenWhateverTheWorkers) {
  Bench bench(web(kServers, forwarding::LEASTCONNS), {.sessions = 512, .workers = kWorkers});
  const auto share = open(bench, 4000);
  EXPECT_LE(*std::ranges::max_element(share) - *std::ranges::min_element(share), 1u);
}

// Each worker has a turn of its own and starts at another server: the first session of every worker must not
// go to the same one.
TEST(Shares, OfRoundRobinDoNotClusterWhenAllWorkersStart) {
  Bench bench(web(kServers), {.sessions = 512, .workers = kWorkers});
  const auto share = open(bench, 2 * kWorkers);
  const std::uint64_t even = 2 * kWorkers / kServers;
  EXPECT_LE(*std::ranges::max_element(share), 2 * even);
  EXPECT_GE(*std::ranges::min_element(share), even / 4);
}

}  // namespace
}  // namespace headgate::testing
