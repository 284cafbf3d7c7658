// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/persistence.h"

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace headgate::core {
namespace {

constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
constexpr Tick kStart{0xfffffff0};  // so that the clock wraps on the way
constexpr std::uint32_t kMinute = 60;

Persistence::Key client(std::uint32_t number, std::uint32_t vip = 1) {
  return {.client = Ipv4{0x0a000000u + number}, .vip = Ipv4{0x0a640000u + vip}};
}

std::vector<Persistence::View> all(const Persistence& table, Tick now = kStart) {
  std::vector<Persistence::View> views;
  std::size_t cursor = 0;
  while (table.dump(cursor, 7, now, [&](const auto& view) { views.push_back(view); })) {
  }
  return views;
}

TEST(Persistence, AClientIsHeldBySessionsAndStaysForItsTime) {
  Persistence table(100, 1);
  EXPECT_EQ(table.hold(client(1)).use, 0u);
  const auto first = table.bind(client(1), 7);
  ASSERT_NE(first.use, 0u);
  EXPECT_EQ(first.real, 7u);
  const auto second = table.bind(client(1), 8);
  EXPECT_EQ(second.use, first.use);
  EXPECT_EQ(second.real, 7u) << "it is bound already";
  ASSERT_EQ(all(table).size(), 1u);
  EXPECT_EQ(all(table)[0].users, 2u);
  EXPECT_EQ(all(table)[0].key, client(1));

  table.release(first.use, kStart, kMinute);
  table.expire(kStart.plus_seconds(1000), kAll);
  EXPECT_EQ(table.size(), 1u) << "a session holds it";
  const Tick ended = kStart.plus_seconds(1000);
  table.release(second.use, ended, kMinute);
  EXPECT_EQ(all(table, ended.plus_seconds(15))[0].left_seconds, 45u);
  EXPECT_EQ(table.expire(ended.plus_seconds(kMinute), kAll), 0u);
  EXPECT_EQ(table.hold(client(1)).real, 7u) << "and a session in time begins its time anew";
  table.release(first.use, ended.plus_seconds(kMinute), kMinute);
  EXPECT_EQ(table.expire(ended.plus_seconds(2 * kMinute), kAll), 0u);
  EXPECT_EQ(table.expire(ended.plus_seconds(2 * kMinute + 1), kAll), 1u);
  EXPECT_EQ(table.hold(client(1)).use, 0u);
  EXPECT_EQ(table.size(), 0u);
}

TEST(Persistence, ClientsVipsAndGroupsAreTheirOwn) {
  Persistence table(100, 1);
  auto other = client(1);
  other.group = 2;
  ASSERT_EQ(table.bind(client(1), 1).real, 1u);
  ASSERT_EQ(table.bind(client(2), 2).real, 2u);
  ASSERT_EQ(table.bind(client(1, 2), 3).real, 3u);
  ASSERT_EQ(table.bind(other, 4).real, 4u);
  EXPECT_EQ(table.size(), 4u);
  EXPECT_EQ(table.hold(other).real, 4u);
}

TEST(Persistence, AFailedServersClientsAreBoundAnew) {
  Persistence table(100, 1);
  const auto held = table.bind(client(1), 1);
  EXPECT_EQ(table.rebind(held.use, 1, 2), 2u);
  EXPECT_EQ(table.rebind(held.use, 1, 3), 2u) << "another was faster";
  EXPECT_EQ(table.hold(client(1)).real, 2u);
}

TEST(Persistence, AFullTableRefusesKeepsTheOldAndRecovers) {
  constexpr std::size_t kEntries = 1000;
  Persistence table(kEntries, 3);
  std::vector<Persistence::Use> uses;
  for (std::uint32_t n = 0; n < 2 * kEntries; ++n) {
    if (const auto held = table.bind(client(n), 1); held.use != 0) uses.push_back(held.use);
  }
  EXPECT_LE(table.size(), kEntries);
  EXPECT_GT(table.size(), kEntries * 9 / 10);
  EXPECT_EQ(table.size(), uses.size());
  for (const auto use : uses) table.release(use, kStart, 1);
  EXPECT_EQ(table.expire(kStart.plus_seconds(2), kAll), uses.size());
  EXPECT_EQ(table.size(), 0u);
  EXPECT_NE(table.bind(client(5000), 1).use, 0u);
}

TEST(Persistence, WhatIsClearedIsNotFoundAndItsSessionsStillLetGo) {
  Persistence table(100, 1);
  const auto held = table.bind(client(1), 1);
  const auto idle = table.bind(client(2), 1);
  const auto other = table.bind(client(3), 2);
  table.release(idle.use, kStart, kMinute);
  std::size_t cursor = 0, cleared = 0;
  while (table.clear(cursor, 1, kStart, cleared, [](const auto& view) { return view.real == 1; })) {
  }
  EXPECT_EQ(cleared, 2u);
  EXPECT_EQ(table.hold(client(1)).use, 0u);
  EXPECT_EQ(table.hold(client(3)).use, other.use);
  EXPECT_EQ(table.size(), 2u) << "one is hidden but held";
  const auto anew = table.bind(client(1), 5);
  EXPECT_NE(anew.use, held.use);
  table.release(held.use, kStart, kMinute);
  EXPECT_EQ(table.size(), 2u);
  EXPECT_EQ(table.hold(client(1)).real, 5u);
}

// Random use beside a map, which is obviously right.
TEST(Persistence, DoesWhatAMapWould) {
  struct Known {
    std::uint32_t real = 0;
    std::uint32_t users = 0;
    Tick last{};
    std::uint32_t seconds = 0;
  };
  std::mt19937 random(11);
  Persistence table(4096, 5);
  std::map<std::uint32_t, Known> model;
  std::vector<std::pair<std::uint32_t, Persistence::Use>> open;
  Tick now = kStart;
  for (int step = 0; step < 200'000; ++step) {
    const std::uint32_t number = random() % 300;
    switch (random() % 5) {
      case 0:
      case 1: {
        const std::uint32_t real = random() % 50;
        const auto held = table.bind(client(number), real);
        ASSERT_NE(held.use, 0u);
        const auto [known, fresh] = model.emplace(number, Known{.real = real});
        ASSERT_EQ(held.real, known->second.real);
        ++known->second.users;
        open.emplace_back(number, held.use);
        break;
      }
      case 2:
      case 3: {
        if (open.empty()) break;
        std::swap(open[random() % open.size()], open.back());
        Known& known = model.at(open.back().first);
        known.seconds = random() % 20;
        known.last = now;
        --known.users;
        table.release(open.back().second, now, known.seconds);
        open.pop_back();
        break;
      }
      default:
        now = now.plus(random() % 8);
        std::erase_if(model, [&](const auto& entry) {
          const Known& known = entry.second;
          return known.users == 0 &&
                 now.since(known.last) > static_cast<std::int32_t>(known.seconds * Tick::kPerSecond);
        });
        table.expire(now, kAll);
    }
    ASSERT_EQ(table.size(), model.size());
  }
  for (const auto& view : all(table, now)) {
    const std::uint32_t number = view.key.client.v4().value - 0x0a000000u;
    ASSERT_TRUE(model.contains(number));
    EXPECT_EQ(view.users, model.at(number).users);
  }
}

// Threads that bind and let go of the same few clients: sessions that are open at once agree about the
// server, and each client has one entry.
TEST(Persistence, ThreadsAgreeOnTheServerOfAClient) {
  constexpr unsigned kThreads = 4;
  constexpr std::uint32_t kClients = 16;
  constexpr int kRounds = 30'000;
  Persistence table(64, 9);
  std::atomic<int> disagreed{0};
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      std::mt19937 random(thread);
      for (int i = 0; i < kRounds; ++i) {
        const std::uint32_t number = random() % kClients;
        const auto held = table.bind(client(number), thread * 100'000 + static_cast<std::uint32_t>(i) + 1);
        if (held.use == 0) continue;
        const auto same = table.hold(client(number));
        if (same.use != held.use || same.real != held.real) ++disagreed;
        table.release(same.use, kStart, kMinute);
        table.release(held.use, kStart, kMinute);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(disagreed.load(), 0);
  std::set<std::uint32_t> seen;
  for (const auto& view : all(table)) {
    EXPECT_EQ(view.users, 0u);
    EXPECT_TRUE(seen.insert(view.key.client.v4().value).second) << "two entries of one client";
  }
  EXPECT_EQ(seen.size(), table.size());
}

TEST(Persistence, ThreadsThatExpireAndClearLeaveNothingOver) {
  constexpr int kRounds = 30'000;
  Persistence table(64, 9);
  std::atomic<bool> stop{false};
  std::thread ends([&] {
    while (!stop.load()) {
      table.expire(kStart.plus_seconds(100), kAll);
      std::size_t cursor = 0, cleared = 0;
      table.clear(cursor, kAll, kStart, cleared, [](const auto& view) { return view.real % 7 == 0; });
    }
  });
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&, thread] {
      std::mt19937 random(thread);
      for (int i = 0; i < kRounds; ++i) {
        const auto held = table.bind(client(random() % 40), random() % 100);
        table.release(held.use, kStart, 0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  stop = true;
  ends.join();
  table.expire(kStart.plus_seconds(100), kAll);
  EXPECT_EQ(table.size(), 0u);
  EXPECT_TRUE(all(table).empty());
  for (std::uint32_t n = 0; n < 40; ++n) EXPECT_NE(table.bind(client(n), 1).use, 0u);
}

}  // namespace
}  // namespace headgate::core
