// SPDX-License-Identifier: Apache-2.0
// Servers that take new sessions at last: those that are degraded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataplane/core/selection_bed.h"

namespace headgate::core {
namespace {

using forwarding::CLOSED, forwarding::DRAINING, forwarding::LAST, forwarding::OPEN;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Key;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

TEST(Last, EveryMetricAsksOpenServersFirstAndThenThoseThatAreLast) {
  for (const auto metric : kMetrics) {
    Choice choice(metric, {1, 1, 1});
    choice.admit(1, LAST);
    EXPECT_THAT(choice.spread(300, false), UnorderedElementsAre(Key(0), Key(2))) << metric;
    choice.admit(0, LAST);
    choice.admit(2, CLOSED);
    EXPECT_THAT(choice.spread(300, false), UnorderedElementsAre(Key(0), Key(1))) << metric;
    choice.admit(1, OPEN);
    EXPECT_THAT(choice.spread(300, false), UnorderedElementsAre(Key(1))) << metric;
  }
}

TEST(Last, ServesWhenEveryOpenServerIsFull) {
  for (const auto metric : kMetrics) {
    Choice choice(metric, {1, 1});
    choice.service.members[0].maxcon = 2;
    choice.admit(1, LAST);
    EXPECT_THAT(choice.spread(5, true), UnorderedElementsAre(Pair(0, 2), Pair(1, 3))) << metric;
    choice.end(0);
    EXPECT_EQ(choice.next(), 0) << metric;
  }
}

TEST(Last, SharesAmongItsOwnAsOpenServersDo) {
  Choice turns(forwarding::ROUNDROBIN, {3, 1, 8});
  for (const std::uint16_t member : {0, 1}) turns.admit(member, LAST);
  turns.admit(2, CLOSED);
  EXPECT_THAT(turns.spread(400, true), UnorderedElementsAre(Pair(0, 300), Pair(1, 100)));
  Choice least(forwarding::LEASTCONNS, {1, 1});
  for (const std::uint16_t member : {0, 1}) least.admit(member, LAST);
  EXPECT_THAT(least.spread(400, true), UnorderedElementsAre(Pair(0, 200), Pair(1, 200)));
}

TEST(Last, NobodyStandsInForAServerThatIsLast) {
  for (const auto metric : kMetrics) {
    Choice choice(metric, {1});
    choice.place(0).backups = {choice.add()};
    choice.admit(0, LAST);
    EXPECT_THAT(choice.spread(50, false), ElementsAre(Pair(0, 50))) << metric;
    choice.admit(0, DRAINING);
    EXPECT_THAT(choice.spread(50, false), ElementsAre(Pair(1, 50))) << metric;
  }
}

TEST(Last, AnOpenStandInComesBeforeAMemberThatIsLastAndOneThatIsLastBesideIt) {
  Choice choice(forwarding::ROUNDROBIN, {1, 1});
  choice.place(0).backups = {choice.add()};
  choice.admit(0, CLOSED);
  choice.admit(1, LAST);
  EXPECT_THAT(choice.spread(50, false), ElementsAre(Pair(2, 50)));
  choice.admit(2, LAST);
  EXPECT_THAT(choice.spread(50, false), ElementsAre(Pair(1, 25), Pair(2, 25)));
}

TEST(Last, AFullServerOverflowsInTheLaterRoundOfTheTwo) {
  Choice choice(forwarding::ROUNDROBIN, {1, 1});
  choice.place(0) = {.member = 0, .overflow = true, .backups = {choice.add()}};
  choice.service.members[0].maxcon = 1;
  choice.admit(0, LAST);
  EXPECT_THAT(choice.spread(4, true), ElementsAre(Pair(1, 4))) << "the group has an open one";
  choice.admit(1, CLOSED);
  EXPECT_THAT(choice.spread(4, true), ElementsAre(Pair(0, 1), Pair(2, 3)));
  choice.admit(0, OPEN);
  choice.admit(2, LAST);
  choice.admit(1, OPEN);
  EXPECT_EQ(choice.next(), 1) << "the stand-in is last, though who it helps is not";
}

TEST(Last, AGroupsOwnComeBeforeTheGroupThatStepsIn) {
  for (const auto metric : kMetrics) {
    Choice choice(metric, {1, 1});
    choice.service.tiers.push_back({{.member = choice.add()}});
    choice.admit(0, CLOSED);
    choice.admit(1, LAST);
    EXPECT_EQ(choice.selection->in_charge(), 0u);
    EXPECT_THAT(choice.spread(50, false), ElementsAre(Pair(1, 50))) << metric;
    choice.admit(1, CLOSED);
    choice.admit(2, LAST);
    EXPECT_EQ(choice.selection->in_charge(), 1u);
    EXPECT_THAT(choice.spread(50, false), ElementsAre(Pair(2, 50))) << metric;
  }
}

TEST(Last, StandsInForItsOwnOnlyAsLongAsThatTakesNothing) {
  Choice choice(forwarding::ROUNDROBIN, {1});
  choice.place(0).backups = {choice.add()};
  choice.admit(0, LAST);
  EXPECT_TRUE(choice.selection->stood_in_for.empty());
  choice.admit(0, CLOSED);
  choice.admit(1, LAST);
  EXPECT_THAT(choice.selection->stood_in_for, ElementsAre(0));
}

// A state takes effect at once; the selection that takes it into account comes a moment later.
TEST(Last, NoSessionIsRefusedWhileASelectionIsOutOfDate) {
  for (const auto metric : kMetrics) {
    Choice choice(metric, {1, 1});
    for (const BindingSlot member : {0, 1}) choice.shared.admit(member, LAST);
    EXPECT_THAT(choice.assignment(50), Each(::testing::Ge(0))) << metric;
    choice.renew();
    for (const BindingSlot member : {0, 1}) choice.shared.admit(member, OPEN);
    EXPECT_THAT(choice.assignment(50), Each(::testing::Ge(0))) << metric;
    choice.renew();
    choice.shared.admit(0, LAST);
    EXPECT_THAT(choice.assignment(50), Each(1)) << metric << ": the other one is open";
  }
}

TEST(Last, EachMemberHasItsRound) {
  Choice choice(forwarding::ROUNDROBIN, {1, 1});
  choice.place(0).backups = {choice.add()};
  choice.admit(1, LAST);
  const auto round = [&](std::uint16_t member) {
    return round_of(choice.service, *choice.selection, choice.shared, member);
  };
  EXPECT_EQ(round(0), OPEN);
  EXPECT_EQ(round(1), LAST);
  EXPECT_EQ(round(2), CLOSED);
  choice.admit(0, CLOSED);
  EXPECT_EQ(round(2), OPEN);
  choice.admit(2, LAST);
  EXPECT_EQ(round(2), LAST);
  choice.place(0).overflow = true;
  choice.service.members[0].maxcon = 1;
  choice.admit(0, LAST);
  choice.admit(2, OPEN);
  EXPECT_EQ(choice.next(), 0);
  EXPECT_EQ(round(2), LAST) << "it helps a server that is last";
}

TEST(Last, APlaceHasASeatOnlyInTheRoundsWhereSomebodyHasItsTurn) {
  Choice choice(forwarding::ROUNDROBIN, {1, 1});
  choice.place(0).backups = {choice.add()};
  choice.admit(1, CLOSED);
  choice.admit(2, LAST);
  EXPECT_THAT(choice.selection->tiers[0].open, ElementsAre(0));
  EXPECT_THAT(choice.selection->last[0].open, ElementsAre()) << "without overflow nobody stands in";
  choice.place(0).overflow = true;
  choice.renew();
  EXPECT_THAT(choice.selection->last[0].open, ElementsAre(0));
}

}  // namespace
}  // namespace headgate::core
