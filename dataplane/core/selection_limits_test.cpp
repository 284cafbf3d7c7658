// SPDX-License-Identifier: Apache-2.0
// Whom a selection passes over, and who takes part instead: states, limits, backups, groups that step in.
#include <array>
#include <map>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "dataplane/core/selection_bed.h"

namespace headgate::core {
namespace {

// ---- States

TEST(Selection, AServerThatIsNotOpenTakesNothingByAnyMetric) {
  for (const auto metric : kMetrics) {
    for (const auto admission : {forwarding::CLOSED, forwarding::DRAINING}) {
      Choice choice(metric, {48, 1});
      for (int i = 0; i < 100; ++i) choice.shared.tallies[1].open();
      choice.shared.admit(0, admission);
      EXPECT_EQ(choice.spread(100, true), (std::map<int, int>{{1, 100}})) << "before the new selection";
      choice.renew();
      EXPECT_EQ(choice.spread(100, true), (std::map<int, int>{{1, 100}}));
    }
  }
}

TEST(Selection, WithNoneOpenThereIsNone) {
  for (const auto metric : kMetrics) {
    Choice choice(metric, {1, 1});
    choice.shared.admit(0, forwarding::CLOSED);
    choice.shared.admit(1, forwarding::CLOSED);
    EXPECT_EQ(choice.next(), -1);
    choice.renew();
    EXPECT_EQ(choice.next(), -1);
    Choice empty(metric, {});
    EXPECT_EQ(empty.next(), -1);
    EXPECT_EQ(choice.sessions(0) + choice.sessions(1), 0u);
  }
}

TEST(Selection, AWeightEditedWhileDownCountsFromTheRecoveryOn) {
  Choice choice(forwarding::ROUNDROBIN, {1, 1});
  choice.admit(0, forwarding::CLOSED);
  choice.service.members[0].weight = 5;
  choice.renew();
  choice.admit(0, forwarding::OPEN);
  EXPECT_EQ(choice.spread(60, false), (std::map<int, int>{{0, 50}, {1, 10}}));
}

// ---- Limits

TEST(Maxcon, IsNeverExceededNorFallenShortOfByAnyMetric) {
  for (const auto metric : kMetrics) {
    Choice choice(metric, {1, 1, 1});
    for (Member& member : choice.service.members) member.maxcon = 40;
    choice.renew();
    std::map<int, int> taken = choice.spread(200, true);
    EXPECT_EQ(taken[-1], 80) << metric;
    for (int m = 0; m < 3; ++m) EXPECT_EQ(taken[m], 40) << metric;
    choice.end(1);
    EXPECT_EQ(choice.next(), 1) << "the one that has room again";
    EXPECT_EQ(choice.next(), -1);
    choice.service.members[2].maxcon = 20;  // an edit at run time kills nobody
    choice.renew();
    EXPECT_EQ(choice.sessions(2), 40u);
    EXPECT_EQ(choice.next(), -1);
    choice.service.members[2].maxcon = 41;
    choice.renew();
    EXPECT_EQ(choice.next(), 2);
    choice.service.members[0].maxcon = 0;
    choice.renew();
    EXPECT_EQ(choice.spread(50, true), (std::map<int, int>{{0, 50}}));
  }
}

TEST(Maxcon, TheOnlyOneOfManyThatHasRoomIsFoundByAnyMetric) {
  for (const auto metric : kMetrics) {
    Choice choice(metric, std::vector<int>(100, 1));
    for (Member& member : choice.service.members) member.maxcon = 2;
    choice.renew();
    EXPECT_EQ(choice.spread(201, true)[-1], 1);
    for (int m = 99; m >= 0; m -= 3) {
      choice.end(m);
      ASSERT_EQ(choice.next(client(static_cast<std::uint32_t>(m))), m) << metric;
      ASSERT_EQ(choice.next(), -1) << metric;
    }
  }
}

TEST(Maxcon, HoldsExactlyForThreadsThatChooseAtOnce) {
  constexpr unsigned kWorkers = 4;
  for (const auto metric : {forwarding::LEASTCONNS, forwarding::ROUNDROBIN, forwarding::MINMISSES}) {
    Choice choice(metric, {1, 1}, kWorkers);
    for (Member& member : choice.service.members) member.maxcon = 1000;
    choice.renew();
    std::array<int, kWorkers> taken{};
    std::vector<std::thread> threads;
    for (unsigned worker = 0; worker < kWorkers; ++worker) {
      threads.emplace_back([&choice, &taken, worker] {
        for (std::uint32_t i = 0; i < 1000; ++i) taken[worker] += choice.next(client(i), worker) >= 0 ? 1 : 0;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(taken[0] + taken[1] + taken[2] + taken[3], 2000);
    EXPECT_EQ(choice.sessions(0), 1000u);
    EXPECT_EQ(choice.sessions(1), 1000u);
  }
}

TEST(Maxcon, OverflowsToTheBackupIfThatIsWanted) {
  for (const auto metric : kMetrics) {
    Choice choice(metric, {1, 1});
    const std::uint16_t backup = choice.add();
    for (std::uint16_t m = 0; m < 2; ++m) {
      choice.service.members[m].maxcon = 10;
      choice.place(m).backups = {backup};
      choice.place(m).overflow = true;
    }
    choice.renew();
    EXPECT_EQ(choice.spread(50, true), (std::map<int, int>{{0, 10}, {1, 10}, {2, 30}})) << metric;
    EXPECT_GE(choice.shared.totals.overflow_activations.load(), 1u);
    EXPECT_LE(choice.shared.totals.overflow_activations.load(), 2u) << "transitions, not sessions";
    choice.end(0);
    while (choice.sessions(0) == 9) choice.next(client(static_cast<std::uint32_t>(choice.sessions(2))));
    EXPECT_EQ(choice.sessions(0), 10u) << "it takes its own again when there is room";
    choice.place(0).overflow = choice.place(1).overflow = false;
    choice.renew();
    EXPECT_EQ(choice.next(), -1);
  }
}

// ---- Backups

TEST(Backup, StandsInForAClosedMemberForItsShare) {
  Choice choice(forwarding::ROUNDROBIN, {3, 1});
  const std::uint16_t backup = choice.add();
  choice.place(0).backups = {backup};
  choice.renew();
  EXPECT_EQ(choice.spread(40, false), (std::map<int, int>{{0, 30}, {1, 10}}));
  choice.admit(0, forwarding::CLOSED);
  EXPECT_EQ(choice.spread(40, false), (std::map<int, int>{{2, 30}, {1, 10}}));
  EXPECT_EQ(choice.selection->stood_in_for, (std::vector<BindingSlot>{0}));
  choice.admit(0, forwarding::OPEN);
  EXPECT_EQ(choice.spread(40, false), (std::map<int, int>{{0, 30}, {1, 10}})) << "preempted at once";
}

TEST(Backup, OneForTwoMembersHasBothTheirShares) {
  for (const auto metric : {forwarding::ROUNDROBIN, forwarding::LEASTCONNS, forwarding::SVCLEAST}) {
    Choice choice(metric, {1, 1, 1, 1});
    const std::uint16_t backup = choice.add();
    choice.place(0).backups = choice.place(1).backups = {backup};
    choice.shared.admit(0, forwarding::CLOSED);
    choice.admit(1, forwarding::CLOSED);
    EXPECT_EQ(choice.spread(400, true), (std::map<int, int>{{2, 100}, {3, 100}, {4, 200}})) << metric;
  }
}

TEST(Backup, MayBeAMemberToo) {
  for (const auto metric : kMetrics) {
    Choice choice(metric, {1, 1});
    choice.place(1).backups = {0};
    choice.admit(1, forwarding::CLOSED);
    EXPECT_EQ(choice.spread(20, false), (std::map<int, int>{{0, 20}}));
    choice.admit(1, forwarding::OPEN);
    const auto both = choice.spread(200, true);
    EXPECT_EQ(both.size(), 2u) << metric;
  }
}

TEST(Backup, AGroupOfThemSharesByLoad) {
  Choice choice(forwarding::LEASTCONNS, {1, 1});
  const std::uint16_t first = choice.add();
  const std::uint16_t second = choice.add();
  choice.place(0).backups = {first, second};
  choice.admit(0, forwarding::CLOSED);
  choice.spread(300, true);
  EXPECT_NEAR(choice.sessions(first), choice.sessions(second), 1);
  EXPECT_EQ(choice.sessions(0), 0u);
}

struct Fallbacks : Choice {
  Fallbacks(forwarding::Metric metric) : Choice(metric, {1, 1}) {
    for (int group = 0; group < 2; ++group) service.tiers.push_back({{.member = add()}});
    renew();
  }
};

TEST(Fallback, GroupsStepInInTheirOrderAndBackAtOnce) {
  for (const auto metric : kMetrics) {
    Fallbacks choice(metric);
    choice.admit(0, forwarding::CLOSED);
    EXPECT_EQ(choice.next(), 1);
    choice.admit(1, forwarding::CLOSED);
    EXPECT_EQ(choice.next(), 2);
    choice.admit(2, forwarding::CLOSED);
    EXPECT_EQ(choice.next(), 3);
    choice.admit(3, forwarding::CLOSED);
    EXPECT_EQ(choice.next(), -1);
    choice.admit(3, forwarding::OPEN);
    choice.admit(0, forwarding::OPEN);
    for (int i = 0; i < 20; ++i) EXPECT_EQ(choice.next(client(static_cast<std::uint32_t>(i))), 0);
    EXPECT_EQ(choice.shared.totals.overflow_activations.load(), 0u);
  }
}

TEST(Fallback, AGroupAtItsLimitsOverflowsToTheNext) {
  for (const auto metric : kMetrics) {
    Fallbacks choice(metric);
    for (std::uint16_t m = 0; m < 3; ++m) choice.service.members[m].maxcon = 5;
    choice.renew();
    EXPECT_EQ(choice.spread(40, true), (std::map<int, int>{{0, 5}, {1, 5}, {2, 5}, {3, 25}}));
    EXPECT_EQ(choice.shared.totals.overflow_activations.load(), 1u);
    choice.end(1);
    EXPECT_EQ(choice.next(), 1);
    choice.next();
    EXPECT_EQ(choice.shared.totals.overflow_activations.load(), 2u) << "it began again";
  }
}

TEST(Fallback, AGroupThatIsClosedAsAWholeIsPassedOver) {
  Fallbacks choice(forwarding::LEASTCONNS);
  choice.selection = select(choice.service, choice.shared, {.group_closed = true});
  EXPECT_EQ(choice.next(), 2);
}

TEST(TakesPart, AStandInDoesOnlyAsLongAsItStandsIn) {
  Fallbacks choice(forwarding::ROUNDROBIN);
  const std::uint16_t backup = choice.add();
  choice.place(0).backups = {backup};
  choice.renew();
  const auto part = [&](std::uint16_t member) {
    return round_of(choice.service, *choice.selection, choice.shared, member) != forwarding::CLOSED;
  };
  EXPECT_TRUE(part(0) && part(1));
  EXPECT_FALSE(part(2) || part(3) || part(backup));
  choice.admit(0, forwarding::CLOSED);
  EXPECT_TRUE(part(backup));
  EXPECT_FALSE(part(2));
  choice.shared.admit(backup, forwarding::CLOSED);
  choice.admit(1, forwarding::CLOSED);
  EXPECT_TRUE(part(2));
  EXPECT_FALSE(part(3));
}

}  // namespace
}  // namespace headgate::core
