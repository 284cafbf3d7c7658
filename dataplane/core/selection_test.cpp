// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/selection.h"

#include <algorithm>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "dataplane/core/selection_bed.h"

namespace headgate::core {
namespace {

void expect_even(const std::map<int, int>& taken, int members, int least, int most) {
  EXPECT_EQ(static_cast<int>(taken.size()), members);
  for (const auto& [member, sessions] : taken) {
    EXPECT_GE(sessions, least) << member;
    EXPECT_LE(sessions, most) << member;
  }
}

// ---- By turns

TEST(Selection, RoundrobinTakesTurns) {
  Choice choice(forwarding::ROUNDROBIN, {1, 1, 1});
  const std::vector<int> turns = {choice.next(), choice.next(), choice.next(), choice.next()};
  EXPECT_EQ(turns, (std::vector<int>{0, 1, 2, 0}));
}

TEST(Selection, RoundrobinGivesTurnsByWeightSpreadEvenly) {
  Choice choice(forwarding::ROUNDROBIN, {4, 2, 1});
  std::vector<int> turns;
  for (int i = 0; i < 7; ++i) turns.push_back(choice.next());
  EXPECT_EQ(std::ranges::count(turns, 0), 4);
  EXPECT_EQ(std::ranges::count(turns, 1), 2);
  EXPECT_EQ(std::ranges::count(turns, 2), 1);
  for (std::size_t i = 2; i < turns.size(); ++i)
    EXPECT_FALSE(turns[i] == turns[i - 1] && turns[i] == turns[i - 2]);
}

TEST(Selection, AStateChangeDoesNotSendTheTurnsBackToTheFirst) {
  Choice choice(forwarding::ROUNDROBIN, {1, 1, 1, 1});
  EXPECT_EQ(choice.next(), 0);
  EXPECT_EQ(choice.next(), 1);
  choice.admit(3, forwarding::CLOSED);
  EXPECT_EQ(choice.next(), 2);
  choice.admit(3, forwarding::OPEN);
  EXPECT_EQ(choice.next(), 3);
}

// Report 41: each worker beginning with the first server, early connections would cluster.
TEST(Selection, WorkersThatAllStartAtOnceDoNotCluster) {
  for (const unsigned workers : {2u, 3u, 8u, 64u}) {
    for (const std::size_t members : {2u, 16u, 100u}) {
      Choice choice(forwarding::ROUNDROBIN, std::vector<int>(members, 1), workers);
      for (int each = 1; each <= 5; ++each) {
        for (unsigned worker = 0; worker < workers; ++worker) choice.next(client(1), worker);
        std::vector<std::uint32_t> sessions;
        for (std::size_t m = 0; m < members; ++m) sessions.push_back(choice.sessions(m));
        EXPECT_LE(std::ranges::max(sessions) - std::ranges::min(sessions), 2u)
            << workers << " workers, " << members << " servers, " << each << " sessions each";
      }
    }
  }
}

TEST(Selection, LeastconnsFillsByWeight) {
  Choice equal(forwarding::LEASTCONNS, {1, 1, 1});
  EXPECT_EQ(equal.spread(300, true), (std::map<int, int>{{0, 100}, {1, 100}, {2, 100}}));
  Choice weighted(forwarding::LEASTCONNS, {4, 2, 1});
  EXPECT_EQ(weighted.spread(700, true), (std::map<int, int>{{0, 400}, {1, 200}, {2, 100}}));
}

TEST(Selection, LeastconnsBeginsWithTheSessionsThatThereAre) {
  Choice choice(forwarding::LEASTCONNS, std::vector<int>(100, 1));
  for (std::size_t m = 0; m < 100; ++m)
    for (std::size_t i = 0; i < 200 - m; ++i) choice.shared.tallies[m].open();
  choice.renew();
  EXPECT_EQ(choice.next(), 99);
}

// Report 40: at hardly any load the first servers must not have all, nor must weights be ignored.
TEST(Selection, LeastconnsSharesIdleServersByTurns) {
  Choice equal(forwarding::LEASTCONNS, {1, 1, 1});
  expect_even(equal.spread(300, false), 3, 99, 101);
  Choice weighted(forwarding::LEASTCONNS, {1, 3});
  EXPECT_NEAR(weighted.spread(400, false)[1], 300, 2);
}

TEST(Selection, SvcleastCountsTheSessionsOfTheServiceOnly) {
  Choice choice(forwarding::SVCLEAST, {1, 1});
  for (int i = 0; i < 100; ++i) choice.shared.tallies[0].open();  // of other services
  EXPECT_EQ(choice.spread(10, true), (std::map<int, int>{{0, 5}, {1, 5}}));
  Choice weighted(forwarding::SVCLEAST, {1, 3});
  for (int i = 0; i < 100; ++i) weighted.shared.tallies[1].open();
  EXPECT_EQ(weighted.spread(40, true), (std::map<int, int>{{0, 10}, {1, 30}}));
  Choice leastconns(forwarding::LEASTCONNS, {1, 1});
  for (int i = 0; i < 100; ++i) leastconns.shared.tallies[0].open();
  EXPECT_EQ(leastconns.spread(10, true), (std::map<int, int>{{1, 10}}));
}

// ---- How exact leastconns is

// Workers that choose and sessions that end in random order, beside a record of what happened at each server
// since each worker looked at it.
struct Race {
  Choice choice;
  std::size_t members;
  std::mt19937 random;
  std::vector<int> open;
  std::vector<std::vector<std::uint32_t>> ended;  // by worker and member, since the worker's last look
  std::vector<std::vector<std::uint32_t>> begun;  // likewise by other workers
  std::vector<std::vector<std::uint64_t>>
      looked;  // by worker and member: the worker's picks at its last look
  std::vector<std::uint64_t> picks;

  Race(std::size_t members, unsigned workers, unsigned seed)
      : choice(forwarding::LEASTCONNS, std::vector<int>(members, 1), workers),
        members(members),
        random(seed),
        ended(workers, std::vector<std::uint32_t>(members, 0)),
        begun(ended),
        looked(workers, std::vector<std::uint64_t>(members, 0)),
        picks(workers, 0) {}

  // As the docstring says: kLooks servers a choice, one after the other.
  void look(unsigned worker) {
    for (std::size_t i = 0; i < std::min(kLooks, members); ++i) {
      const std::size_t m = (picks[worker] * kLooks + i) % members;
      if (members > kLooks) {
        ended[worker][m] = begun[worker][m] = 0;
      }
    }
    if (members <= kLooks) {
      std::ranges::fill(ended[worker], 0);
      std::ranges::fill(begun[worker], 0);
    }
    ++picks[worker];
  }
  void begin(unsigned worker) {
    look(worker);
    const int chosen = choice.next(client(1), worker);
    ASSERT_GE(chosen, 0);
    const std::uint32_t load = choice.sessions(static_cast<std::size_t>(chosen)) - 1;
    const std::uint32_t elsewhere = std::ranges::max(begun[worker]);
    for (std::size_t m = 0; m < members; ++m) {
      const std::uint32_t sessions = choice.sessions(m) - (static_cast<int>(m) == chosen ? 1 : 0);
      ASSERT_LE(load, sessions + ended[worker][m] + elsewhere) << "server " << chosen << " against " << m;
    }
    open.push_back(chosen);
    for (unsigned other = 0; other < picks.size(); ++other)
      if (other != worker) ++begun[other][static_cast<std::size_t>(chosen)];
  }
  void finish() {
    if (open.empty()) return;
    std::swap(open[random() % open.size()], open.back());
    choice.end(open.back());
    for (auto& of_worker : ended) ++of_worker[static_cast<std::size_t>(open.back())];
    open.pop_back();
  }
  std::uint32_t difference() const {
    std::vector<std::uint32_t> sessions;
    for (std::size_t m = 0; m < members; ++m) sessions.push_back(choice.sessions(m));
    return std::ranges::max(sessions) - std::ranges::min(sessions);
  }
};

TEST(Leastconns, IsExactWithinItsBoundWhateverOtherWorkersDoAndWhateverEnds) {
  for (const std::size_t members : {2u, 16u, 17u, 100u, 1024u}) {
    for (const unsigned workers : {1u, 2u, 8u}) {
      Race race(members, workers, static_cast<unsigned>(members) + workers);
      for (int step = 0; step < 6000; ++step) {
        if (race.random() % 100 < 60) {
          race.begin(static_cast<unsigned>(race.random() % workers));
        } else {
          race.finish();
        }
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(Leastconns, UpToSixteenServersTheChoiceIsExact) {
  Race race(16, 4, 9);
  for (int step = 0; step < 20000; ++step) {
    if (race.random() % 2 == 0) {
      race.finish();
      continue;
    }
    std::uint32_t least = 0xffffffff;
    for (std::size_t m = 0; m < 16; ++m) least = std::min(least, race.choice.sessions(m));
    const int chosen = race.choice.next(client(1), race.random() % 4);
    ASSERT_EQ(race.choice.sessions(static_cast<std::size_t>(chosen)), least + 1);
    race.open.push_back(chosen);
  }
}

TEST(Leastconns, ManyWorkersAlikeKeepManyServersEven) {
  Race race(1024, 8, 3);
  for (int i = 0; i < 200'000; ++i) race.open.push_back(race.choice.next(client(1), race.random() % 8));
  EXPECT_LE(race.difference(), 4u) << "200,000 sessions at 1,024 servers";
}

TEST(Leastconns, AServerThatEmptiesIsFoundWithinOneRoundOfLooks) {
  Race race(1024, 1, 4);
  for (int i = 0; i < 10 * 1024; ++i) race.choice.next();
  for (int i = 0; i < 10; ++i) race.choice.end(777);
  int chosen = 0;
  for (std::size_t i = 0; i < 1024 / kLooks + 10; ++i) chosen += race.choice.next() == 777 ? 1 : 0;
  EXPECT_GE(chosen, 9);
}

TEST(Leastconns, ThreadsThatChooseAtOnceKeepServersEvenAndCountsRight) {
  constexpr unsigned kWorkers = 4;
  constexpr int kEach = 20000;
  Choice choice(forwarding::LEASTCONNS, std::vector<int>(64, 1), kWorkers);
  std::vector<std::thread> threads;
  for (unsigned worker = 0; worker < kWorkers; ++worker) {
    threads.emplace_back([&choice, worker] {
      for (int i = 0; i < kEach; ++i) choice.next(client(1), worker);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::uint32_t sum = 0;
  for (std::size_t m = 0; m < 64; ++m) sum += choice.sessions(m);
  EXPECT_EQ(sum, kWorkers * kEach);
}

// ---- By hash

TEST(Selection, HashesAreStableAndEvenAndIgnoreWeights) {
  for (const auto metric : {forwarding::HASH, forwarding::PHASH, forwarding::MINMISSES}) {
    Choice choice(metric, {1, 48, 1});
    for (int i = 0; i < 10; ++i) EXPECT_EQ(choice.next(client(5)), choice.next(client(5)));
    expect_even(choice.spread(3000, true), 3, 900, 1100);
  }
}

TEST(Selection, HashesTakeSoManyBitsOfTheClientAndItsPortIfAsked) {
  for (const auto metric : {forwarding::HASH, forwarding::PHASH, forwarding::MINMISSES}) {
    Choice choice(metric, std::vector<int>(16, 1));
    choice.service.hash_bits = 24;
    for (std::uint32_t host = 1; host < 50; ++host)
      EXPECT_EQ(choice.next(client(host)), choice.next(client(0)));
    std::map<int, int> nets;
    for (std::uint32_t net = 0; net < 1600; ++net) ++nets[choice.next(client(net << 8 | 7))];
    expect_even(nets, 16, 60, 150);
    choice.service.hash_port = true;
    std::map<int, int> ports;
    for (L4Port port = 1; port <= 1600; ++port) ++ports[choice.next(client(5), 0, port)];
    expect_even(ports, 16, 60, 150);
  }
}

TEST(Selection, MinmissesOverManyServersIsEven) {
  Choice choice(forwarding::MINMISSES, std::vector<int>(100, 1));
  // Binomial: 1,000 each with a deviation of 31; the table adds 1.6 % at most.
  expect_even(choice.spread(100'000, false), 100, 850, 1150);
}

// The optimum: a server that fails moves its own clients and no others, spread evenly, and its return brings
// back just these.
TEST(Selection, MinmissesMovesTheLostServersClientsOnly) {
  constexpr int kClients = 30000;
  Choice choice(forwarding::MINMISSES, std::vector<int>(30, 1));
  const std::vector<int> before = choice.assignment(kClients);
  choice.admit(7, forwarding::CLOSED);
  const std::vector<int> without = choice.assignment(kClients);
  std::map<int, int> heirs;
  for (int i = 0; i < kClients; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (before[at] != 7) {
      ASSERT_EQ(without[at], before[at]);
    } else {
      ++heirs[without[at]];
    }
  }
  EXPECT_EQ(heirs.count(7), 0u);
  expect_even(heirs, 29, 12, 62);
  choice.admit(7, forwarding::OPEN);
  EXPECT_EQ(choice.assignment(kClients), before);
}

TEST(Selection, MinmissesMovesAsLittleWhenHardlyAnyServerIsLeft) {
  Choice choice(forwarding::MINMISSES, std::vector<int>(200, 1));
  for (std::uint16_t m = 4; m < 200; ++m) choice.shared.admit(m, forwarding::CLOSED);
  choice.renew();
  const std::vector<int> before = choice.assignment(10000);
  choice.admit(2, forwarding::CLOSED);
  const std::vector<int> without = choice.assignment(10000);
  for (std::size_t i = 0; i < before.size(); ++i) ASSERT_TRUE(before[i] == 2 || without[i] == before[i]);
  EXPECT_NEAR(std::ranges::count(before, 2), 2500, 250);
}

TEST(Selection, PhashMovesOnlyTheClientsOfClosedServersButHashMovesAll) {
  Choice phash(forwarding::PHASH, std::vector<int>(10, 1));
  const std::vector<int> before = phash.assignment(5000);
  phash.admit(3, forwarding::CLOSED);
  const std::vector<int> without = phash.assignment(5000);
  for (std::size_t i = 0; i < before.size(); ++i) ASSERT_TRUE(before[i] == 3 || without[i] == before[i]);
  Choice hash(forwarding::HASH, std::vector<int>(10, 1));
  const std::vector<int> all = hash.assignment(5000);
  hash.admit(3, forwarding::CLOSED);
  const std::vector<int> rest = hash.assignment(5000);
  int moved = 0;
  for (std::size_t i = 0; i < all.size(); ++i) moved += all[i] != rest[i] ? 1 : 0;
  EXPECT_GT(moved, 4000) << "the index into the list of available servers changes (reference 3.1)";
}

TEST(Selection, ATableOfMinmissesIsMadeOnceForTheSameMembers) {
  Choice choice(forwarding::MINMISSES, {1, 1, 1});
  const auto table = choice.selection->tiers[0].table;
  choice.admit(1, forwarding::CLOSED);
  EXPECT_EQ(choice.selection->tiers[0].table, table);
  choice.service.tiers[0].push_back({.member = choice.add()});
  choice.renew();
  EXPECT_NE(choice.selection->tiers[0].table, table);
}

}  // namespace
}  // namespace headgate::core
