// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/selection.h"

#include <map>
#include <vector>

#include <gtest/gtest.h>

namespace headgate::core {
namespace {

constexpr std::array kMetrics = {forwarding::LEASTCONNS, forwarding::ROUNDROBIN, forwarding::HASH};

// Members 0, 1, ... bound to slots and tallies of the same numbers, all open.
struct Choice {
  Shared shared;
  Service service;
  std::shared_ptr<const Selection> selection;
  Cursor cursor = 0;

  Choice(forwarding::Metric metric, const std::vector<int>& weights) {
    service.metric = metric;
    for (std::uint32_t m = 0; m < weights.size(); ++m) {
      service.members.push_back({.binding = static_cast<BindingSlot>(m),
                                 .rip = Ipv4{m + 1},
                                 .rport = 80,
                                 .weight = static_cast<std::uint16_t>(weights[m]),
                                 .real = m});
      shared.admit(static_cast<BindingSlot>(m), forwarding::OPEN);
    }
    renew();
  }
  void renew() { selection = select(service, shared); }
  /// The member that takes the session of a client, -1: none.
  int next(Ip client = Ipv4{77}) {
    const Member* member = pick(service, *selection, shared, client, cursor);
    return member == nullptr ? -1 : static_cast<int>(member->binding);
  }
  std::map<int, int> spread(int sessions, bool stay) {
    std::map<int, int> taken;
    for (int i = 0; i < sessions; ++i) {
      const int member = next(Ipv4{0x0a000000u + static_cast<std::uint32_t>(i)});
      ++taken[member];
      if (stay) shared.tallies[static_cast<std::size_t>(member)].open();
    }
    return taken;
  }
};

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

TEST(Selection, EqualWeightsAreOneTurnEach) {
  EXPECT_EQ(Choice(forwarding::ROUNDROBIN, {48, 48, 48}).selection->schedule,
            (std::vector<std::uint16_t>{0, 1, 2}));
  EXPECT_EQ(Choice(forwarding::ROUNDROBIN, {4, 2}).selection->schedule.size(), 3u);
}

TEST(Selection, LeastconnsFillsByWeight) {
  Choice equal(forwarding::LEASTCONNS, {1, 1, 1});
  EXPECT_EQ(equal.spread(300, true), (std::map<int, int>{{0, 100}, {1, 100}, {2, 100}}));
  Choice weighted(forwarding::LEASTCONNS, {4, 2, 1});
  EXPECT_EQ(weighted.spread(700, true), (std::map<int, int>{{0, 400}, {1, 200}, {2, 100}}));
}

TEST(Selection, LeastconnsSharesIdleServersEvenly) {
  Choice choice(forwarding::LEASTCONNS, {1, 1, 1});
  for (const auto& [member, sessions] : choice.spread(300, false)) {
    EXPECT_GE(sessions, 90) << member;
    EXPECT_LE(sessions, 110) << member;
  }
}

TEST(Selection, HashIsStableAndEvenAndIgnoresWeights) {
  Choice choice(forwarding::HASH, {1, 48, 1});
  for (int i = 0; i < 10; ++i) EXPECT_EQ(choice.next(Ipv4{0x0a01010a}), choice.next(Ipv4{0x0a01010a}));
  for (const auto& [member, sessions] : choice.spread(3000, true)) {
    EXPECT_GE(sessions, 900) << member;
    EXPECT_LE(sessions, 1100) << member;
  }
}

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
  }
}

TEST(Selection, AWeightEditedWhileDownCountsFromTheRecoveryOn) {
  Choice choice(forwarding::ROUNDROBIN, {1, 1});
  choice.shared.admit(0, forwarding::CLOSED);
  choice.renew();
  choice.service.members[0].weight = 5;
  choice.renew();
  choice.shared.admit(0, forwarding::OPEN);
  choice.renew();
  EXPECT_EQ(choice.spread(60, false), (std::map<int, int>{{0, 50}, {1, 10}}));
}

TEST(Selection, ACursorMayWrap) {
  Choice choice(forwarding::ROUNDROBIN, {1, 1, 1});
  choice.cursor = 0xfffffffe;
  for (int i = 0; i < 6; ++i) EXPECT_NE(choice.next(), -1);
}

}  // namespace
}  // namespace headgate::core
