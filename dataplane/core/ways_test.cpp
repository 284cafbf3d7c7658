// SPDX-License-Identifier: Apache-2.0
// Routes, next hops and the table of endpoints: what leads to an address.
#include <map>
#include <random>
#include <set>
#include <thread>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "dataplane/core/generation.h"
#include "dataplane/core/hops.h"
#include "dataplane/core/routes.h"

namespace headgate::core {
namespace {

constexpr Mac kMac{{2, 3, 4, 5, 6, 7}};

Ip ip(std::string_view text) {
  return *Ip::parse(text);
}

TEST(Routes, TheLongestPrefixWinsThenTheLowestMetric) {
  const Routes routes({{.prefix = kAnyIpv4, .length = 0, .port = 1, .gateway = ip("10.0.0.1")},
                       {.prefix = ip("10.0.0.0"), .length = 8, .port = 2, .metric = 20},
                       {.prefix = ip("10.0.0.0"), .length = 8, .port = 3, .metric = 10},
                       {.prefix = ip("10.1.2.3"), .length = 32, .port = 4}});
  EXPECT_EQ(routes.lookup(ip("192.0.2.1")), (NextHop{1, ip("10.0.0.1")}));
  EXPECT_EQ(routes.lookup(ip("10.9.9.9")), (NextHop{3, ip("10.9.9.9")}));
  EXPECT_EQ(routes.lookup(ip("10.1.2.3")), (NextHop{4, ip("10.1.2.3")}));
}

TEST(Routes, WithoutARouteThereIsNoHop) {
  EXPECT_EQ(Routes().lookup(ip("10.0.0.1")), std::nullopt);
  EXPECT_EQ(Routes({{.prefix = ip("10.0.0.0"), .length = 24}}).lookup(ip("10.0.1.0")), std::nullopt);
}

TEST(Routes, BitsBehindThePrefixDoNotMatter) {
  const Routes routes({{.prefix = ip("10.0.0.77"), .length = 24, .port = 1}});
  EXPECT_TRUE(routes.lookup(ip("10.0.0.200")).has_value());
}

Ip any_address(std::mt19937& random, bool v4) {
  Ip address = kAnyIpv4;
  for (std::size_t i = v4 ? 12 : 0; i < 16; ++i) address.octets[i] = static_cast<std::uint8_t>(random());
  return address;
}

TEST(Routes, GiveTheSameAsALinearSearch) {
  std::mt19937 random(3);
  std::vector<Route> list;
  for (int i = 0; i < 300; ++i) {
    const bool v4 = random() % 2 == 0;
    const unsigned length = random() % (v4 ? 33 : 129);
    list.push_back({.prefix = prefix_of(any_address(random, v4), length),
                    .length = length,
                    .port = static_cast<PortIndex>(i % 8),
                    .metric = static_cast<std::uint32_t>(i)});
  }
  const Routes routes(list);
  for (int i = 0; i < 20000; ++i) {
    const Ip target = i % 2 == 0 ? any_address(random, i % 4 == 0) : list[random() % list.size()].prefix;
    const Route* best = nullptr;
    for (const Route& route : list) {
      if (target.is_v4() != route.prefix.is_v4() || prefix_of(target, route.length) != route.prefix) continue;
      if (best == nullptr || route.length > best->length ||
          (route.length == best->length && route.metric < best->metric))
        best = &route;
    }
    const auto found = routes.lookup(target);
    ASSERT_EQ(found.has_value(), best != nullptr);
    ASSERT_TRUE(best == nullptr || found->port == best->port);
  }
}

// ---- Hops

TEST(Hops, ASlotIsFoundAgainAndResolvesWhole) {
  Hops hops;
  const HopIndex index = hops.find_or_claim(3, ip("10.0.0.1"), {5});
  EXPECT_EQ(hops.find_or_claim(3, ip("10.0.0.1"), {6}), index);
  EXPECT_NE(hops.find_or_claim(4, ip("10.0.0.1"), {6}), index);
  EXPECT_FALSE(hops.use(index, {7}).resolved);
  EXPECT_EQ(hops.use(index, {7}).port, 3);
  hops.resolve(3, ip("10.0.0.1"), kMac);
  EXPECT_TRUE(hops.use(index, {8}).resolved);
  EXPECT_EQ(hops.use(index, {8}).mac, MacWord(kMac));
  hops.forget(3, ip("10.0.0.1"));
  EXPECT_FALSE(hops.use(index, {9}).resolved);
  EXPECT_EQ(hops.use(index, {9}).port, 3);
  const auto known = hops.neighbour(index);
  ASSERT_TRUE(known.has_value());
  EXPECT_EQ(known->address, ip("10.0.0.1"));
  EXPECT_EQ(known->used, Tick{9});
}

TEST(Hops, AFullTableRefusesAndRecoversByReclaim) {
  Hops hops;
  for (std::uint32_t n = 0; n < Hops::kMostUsed; ++n) {
    ASSERT_NE(hops.find_or_claim(0, Ipv4{0x0a000000 + n}, {100}), kNoHop);
  }
  EXPECT_EQ(hops.find_or_claim(0, ip("192.0.2.1"), {100}), kNoHop);
  EXPECT_NE(hops.find_or_claim(0, Ipv4{0x0a000000}, {100}), kNoHop) << "those known stay known";
  hops.resolve(0, Ipv4{0x0a000007}, kMac);
  EXPECT_EQ(hops.reclaim({100}), 0u) << "used at that moment, not before";
  std::size_t freed = 0;
  for (std::size_t round = 0; round < 3; ++round) freed += hops.reclaim({101});
  EXPECT_GT(freed, Hops::kMostUsed * 9 / 10);
  EXPECT_NE(hops.find_or_claim(0, ip("192.0.2.1"), {102}), kNoHop);
  EXPECT_TRUE(hops.use(hops.find_or_claim(0, Ipv4{0x0a000007}, {102}), {102}).resolved);
}

TEST(Hops, ASlotThatWasJustClaimedIsNotReclaimed) {
  Hops hops;
  const HopIndex index = hops.find_or_claim(0, ip("10.0.0.1"), {1000});
  EXPECT_EQ(hops.reclaim({900}), 0u);
  EXPECT_TRUE(hops.neighbour(index).has_value());
}

TEST(Hops, ResolvingLeavesWhenANeighbourWasLastUsed) {
  Hops hops;
  const HopIndex index = hops.find_or_claim(0, ip("10.0.0.1"), {1000});
  hops.resolve(0, ip("10.0.0.1"), kMac);
  EXPECT_EQ(hops.neighbour(index)->used, Tick{1000});
  hops.forget(0, ip("10.0.0.1"));
  EXPECT_EQ(hops.reclaim({900}), 0u) << "a packet that waits for it was there a moment ago";
}

TEST(Hops, AReclaimedSlotSaysNothingOfItsNextNeighbour) {
  Hops hops;
  const HopIndex index = hops.find_or_claim(5, ip("10.0.0.1"), {1});
  hops.resolve(5, ip("10.0.0.1"), kMac);
  hops.forget(5, ip("10.0.0.1"));
  EXPECT_EQ(hops.reclaim({100}), 1u);
  EXPECT_FALSE(hops.neighbour(index).has_value());
  const HopIndex next = hops.find_or_claim(6, ip("10.0.0.1"), {200});
  EXPECT_EQ(hops.use(next, {200}).port, 6);
  EXPECT_FALSE(hops.use(next, {200}).resolved);
}

TEST(Hops, ThreadsThatClaimTheSameNeighboursGetTheSameSlots) {
  Hops hops;
  constexpr std::uint32_t kNeighbours = 2000;
  std::vector<std::vector<HopIndex>> found(3, std::vector<HopIndex>(kNeighbours));
  std::vector<std::thread> threads;
  for (auto& mine : found) {
    threads.emplace_back([&] {
      for (std::uint32_t n = 0; n < kNeighbours; ++n) {
        do mine[n] = hops.find_or_claim(1, Ipv4{0x0a000001 + n}, {1});
        while (mine[n] == kNoHop);  // whoever has its turn may have lost its core
      }
    });
  }
  for (std::uint32_t n = 0; n < kNeighbours; ++n) hops.resolve(1, Ipv4{0x0a000001 + n}, kMac);
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(found[0], found[1]);
  EXPECT_EQ(found[0], found[2]);
  EXPECT_EQ(std::set<HopIndex>(found[0].begin(), found[0].end()).size(), kNeighbours);
  for (const HopIndex index : found[0]) {
    EXPECT_TRUE(hops.use(index, {2}).resolved) << "no claim undoes a resolution";
    EXPECT_EQ(hops.use(index, {2}).port, 1);
  }
}

// ---- EndpointTable

// Half of them IPv4, half IPv6.
Ip numbered(std::uint32_t n) {
  if (n % 2 == 0) return Ipv4{n / 2 + 1};
  Ip address = *Ip::parse("2001:db8::");
  address.octets[15] = static_cast<std::uint8_t>(n / 2);
  return address;
}

TEST(EndpointTable, FindsWhatIsInItAndNothingElse) {
  std::mt19937 random(4);
  std::map<std::tuple<Ip, int, int>, std::uint32_t> model;
  std::vector<EndpointTable::Entry> entries;
  for (std::uint32_t i = 0; i < 3000; ++i) {
    const EndpointTable::Entry entry{numbered(static_cast<std::uint32_t>(random() % 64)),
                                     static_cast<L4Port>(random() % 64),
                                     random() % 2 == 0 ? Protocol::tcp : Protocol::udp, i};
    entries.push_back(entry);
    model[{entry.address, entry.port, static_cast<int>(entry.protocol)}] = i;
  }
  const EndpointTable table(entries);
  for (std::uint32_t address = 0; address < 70; ++address) {
    for (int port = 0; port < 70; ++port) {
      for (const Protocol protocol : {Protocol::tcp, Protocol::udp, Protocol::icmp}) {
        const auto expected = model.find({numbered(address), port, static_cast<int>(protocol)});
        const std::uint32_t* found = table.find(numbered(address), static_cast<L4Port>(port), protocol);
        ASSERT_EQ(found != nullptr, expected != model.end());
        ASSERT_TRUE(found == nullptr || *found == expected->second);
      }
    }
  }
}

TEST(EndpointTable, AnEmptyOneFindsNothing) {
  EXPECT_EQ(EndpointTable().find(Ipv4{1}, 1, Protocol::tcp), nullptr);
}

}  // namespace
}  // namespace headgate::core
