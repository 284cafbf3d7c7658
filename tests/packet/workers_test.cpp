// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <random>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataplane/core/owner.h"
#include "tests/packet/bench.h"

// Several workers on one set of shared words.
namespace headgate::testing {
namespace {

using core::Fate;

TEST(Workers, BothDirectionsOfASessionHaveTheSameOwner) {
  Bench bench(web(3), {.workers = 4});
  std::array<int, 4> sessions{};
  for (std::uint16_t port = 40000; port < 40400; ++port) {
    const auto session = Connection::begin(bench, port);
    const unsigned owner = bench.owners.at(0);
    ++sessions[owner];
    bench.from_server(session.server);
    EXPECT_EQ(bench.owners.at(0), owner);
    EXPECT_EQ(bench.fated.at(0), Fate::to_client);
  }
  for (const int count : sessions) EXPECT_GT(count, 60) << "spread over the workers";
  EXPECT_EQ(bench.sessions(), 400u);
}

TEST(Workers, WhatHasNoPortsBelongsToTheFirst) {
  Bench bench(web(1), {.workers = 3});
  bench.pass(ip(kClient, kVip).icmp(8, 0).in(1));
  EXPECT_THAT(bench.owners, ::testing::ElementsAre(0u));
}

TEST(Workers, FirstSessionsSpreadOverTheServers) {
  Bench bench(web(4), {.workers = 4});
  for (std::uint16_t port = 40000; port < 40400; ++port) Connection::begin(bench, port);
  for (std::uint32_t real = 1; real <= 4; ++real)
    EXPECT_NEAR(static_cast<double>(bench.current(real)), 100, 4);
  std::set<std::string> first;
  Bench fresh(web(4), {.workers = 4});
  for (std::uint16_t port = 40000; port < 40100; ++port) {
    Connection::begin(fresh, port);
    if (fresh.worker(fresh.owners[0]).sessions() == 1)
      first.insert(
          decode(fresh.pass(ip(kClient, kVip).tcp(port, 80, kSyn).in(1))[0].bytes)->destination.text());
  }
  EXPECT_EQ(first.size(), 4u) << "each worker begins at another server";
}

TEST(Workers, TerminationIsCountedByEachOnceForItsOwn) {
  Bench bench(web(1), {.workers = 2});
  for (std::uint16_t port = 40000; port < 40100; ++port) Connection::open(bench, port);
  bench.admit(1, forwarding::CLOSED);
  bench.sweep();
  EXPECT_EQ(bench.stats().terminated_sessions(), 100u);
  EXPECT_EQ(bench.current(1), 0u);
}

// One worker's life: opens, answers and closes sessions of client ports of its own.
void work(Bench& bench, unsigned index, const core::Generation& generation, const std::atomic<bool>& stop) {
  std::mt19937 random(index);
  std::vector<Bytes> room(core::kBurst, Bytes(64));
  for (std::uint32_t turn = 0; !stop.load(std::memory_order_relaxed) || turn < 200; ++turn) {
    std::vector<Bytes> bytes;
    std::vector<core::Frame> frames, spare;
    for (std::size_t i = 0; i < 8; ++i) {
      static constexpr std::array<std::uint8_t, 4> kFlags = {kSyn, kAck, kFin | kAck, kRst};
      const auto port = static_cast<std::uint16_t>(1000 + 1000 * index + random() % 100);
      bytes.push_back(ip(kClient, kVip).tcp(port, 80, kFlags[random() % 4]).padded(64).in(1).bytes);
      frames.push_back({.data = bytes.back().data(), .length = 64, .capacity = 64});
      spare.push_back({.data = room[i].data(), .capacity = 64});
    }
    core::Spares spares{spare};
    bench.worker(index).process(frames, spares, generation, Tick{turn});
    bench.worker(index).sweep(Tick{turn}, 16);
  }
}

TEST(Workers, RunWhileStatesChangeAndCountersAreRead) {
  Bench bench(web(3), {.sessions = 256, .workers = 2});
  const auto generation = bench.director.build();
  std::atomic<bool> stop{false};
  std::thread first([&] { work(bench, 0, *generation, stop); });
  std::thread second([&] { work(bench, 1, *generation, stop); });
  for (int change = 0; change < 300; ++change) {
    bench.admit(1 + static_cast<std::uint32_t>(change) % 3,
                static_cast<forwarding::Admission>(change % 4 % 3));
    const forwarding::Stats all = bench.stats();
    for (const auto& row : all.real()) ASSERT_LE(row.counts().current(), 512u);
    EXPECT_LE(bench.director.traffic_failures(bench.now).size(), 3u);
    bench.shared.hops.resolve(1, address(kServer1), mac_of_host(address(kServer1)));
    std::this_thread::yield();
  }
  stop = true;
  first.join();
  second.join();
  bench.now = Tick{1u << 30};
  bench.sweep();
  EXPECT_EQ(bench.sessions(), 0u);
  for (std::uint32_t real = 1; real <= 3; ++real) EXPECT_EQ(bench.current(real), 0u) << real;
}

}  // namespace
}  // namespace headgate::testing
