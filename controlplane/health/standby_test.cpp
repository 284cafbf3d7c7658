// SPDX-License-Identifier: Apache-2.0
#include "controlplane/health/standby.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headgate::health {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Pair = Standby::Pair;

/// Members 1 and 2, 1 with backup 3; then single server 4 and group 9 of server 5 step in.
forwarding::Service service() {
  forwarding::Service made;
  for (const std::uint32_t real : {1u, 2u}) made.add_member()->set_real(real);
  made.mutable_member(0)->set_overflow(true);
  made.mutable_member(0)->add_backup()->set_real(3);
  made.add_fallback()->add_member()->set_real(4);
  made.add_fallback()->set_group(9);
  made.mutable_fallback(1)->add_member()->set_real(5);
  return made;
}

Situation with_closed(std::set<std::uint32_t> closed, std::set<std::uint32_t> full = {}) {
  return {.availability =
              [closed = std::move(closed)](const forwarding::Member& member) {
                return closed.contains(member.real()) ? Availability::closed : Availability::open;
              },
          .full = std::move(full)};
}

TEST(Standby, MembersServeAndSparesAreIdle) {
  const Standby now = standby(service(), with_closed({}));
  EXPECT_THAT(now.taking, ElementsAre(1u, 2u));
  EXPECT_THAT(now.failover, IsEmpty());
  EXPECT_EQ(now.fallback, std::nullopt);
  EXPECT_EQ(now.available, 2u);
}

TEST(Standby, ABackupStandsInForItsServerOnly) {
  EXPECT_THAT(standby(service(), with_closed({1})).failover, ElementsAre(Pair{1, 3}));
  EXPECT_THAT(standby(service(), with_closed({2})).failover, IsEmpty());
  EXPECT_THAT(standby(service(), with_closed({1, 3})).taking, ElementsAre(2u));
}

TEST(Standby, AFullServerOverflowsWhereItMay) {
  const Standby now = standby(service(), with_closed({}, {1, 2}));
  EXPECT_THAT(now.taking, ElementsAre(3u));
  EXPECT_THAT(now.overflow, ElementsAre(Pair{1, 3}));
  forwarding::Service without = service();
  without.mutable_member(0)->set_overflow(false);
  EXPECT_THAT(standby(without, with_closed({}, {1})).taking, ElementsAre(2u));
}

TEST(Standby, GroupsStepInInOrderWhenNobodyIsLeft) {
  EXPECT_EQ(standby(service(), with_closed({1, 2})).fallback, std::nullopt) << "the backup of 1 is left";
  EXPECT_EQ(standby(service(), with_closed({1, 2, 3})).fallback, 0);
  EXPECT_THAT(standby(service(), with_closed({1, 2, 3, 4})).taking, ElementsAre(5u));
  EXPECT_EQ(standby(service(), with_closed({1, 2, 3, 4})).fallback, 1);
  const Standby nobody = standby(service(), with_closed({1, 2, 3, 4, 5}));
  EXPECT_THAT(nobody.taking, IsEmpty());
  EXPECT_FALSE(nobody.undecided);
}

TEST(Standby, WhatIsNotProvenIsNeitherReplacedNorMissed) {
  const Standby now =
      standby(service(), {.availability = [](const auto&) { return Availability::unknown; }, .full = {}});
  EXPECT_THAT(now.failover, IsEmpty());
  EXPECT_TRUE(now.undecided);
}

TEST(Standby, ARestingMemberIsReplaced) {
  forwarding::Service resting = service();
  resting.mutable_member(0)->set_resting(true);
  EXPECT_THAT(standby(resting, with_closed({})).taking, ElementsAre(2u, 3u));
}

TEST(Standby, TooFewServersCloseTheGroupUntilEnoughAreBack) {
  forwarding::Service bounded = service();
  bounded.add_member()->set_real(6);
  bounded.set_min_available(2);
  bounded.set_max_available(3);
  const Standby few = standby(bounded, with_closed({1, 2}));
  EXPECT_TRUE(few.is_short);
  EXPECT_THAT(few.taking, ElementsAre(4u)) << "a group steps in, not the backup of a member";
  Situation later = with_closed({1});
  EXPECT_FALSE(standby(bounded, later).is_short);
  later.was_short = true;
  EXPECT_TRUE(standby(bounded, later).is_short);
  later = with_closed({});
  later.was_short = true;
  EXPECT_FALSE(standby(bounded, later).is_short);
  later = with_closed({1});
  later.was_short = true;
  bounded.set_min_available(0);
  EXPECT_FALSE(standby(bounded, later).is_short) << "no number is asked for any more";
}

// ---- Formulas

/// Members 1 and 2 with the backups of service(), and a formula in postfix order: '&', '|', else a number.
forwarding::Service with_formula(std::string_view postfix) {
  forwarding::Service out = service();
  for (const char c : postfix) {
    forwarding::Term& term = *out.add_formula();
    if (c == '&')
      term.set_join(forwarding::Term::AND);
    else if (c == '|')
      term.set_join(forwarding::Term::OR);
    else
      term.set_real(static_cast<std::uint32_t>(c - '0'));
  }
  return out;
}

TEST(Standby, AFalseFormulaClosesTheGroupAndTheNextStepsIn) {
  EXPECT_FALSE(standby(with_formula("12&"), with_closed({})).is_false);
  const Standby now = standby(with_formula("12&"), with_closed({2}));
  EXPECT_TRUE(now.is_false);
  EXPECT_THAT(now.taking, ElementsAre(4u));
  EXPECT_THAT(standby(with_formula("12|"), with_closed({2})).taking, ElementsAre(1u));
}

TEST(Standby, OfAFormulaABackupIsNotTheServerItStandsInFor) {
  EXPECT_TRUE(standby(with_formula("1"), with_closed({1})).is_false);
  EXPECT_FALSE(standby(with_formula("1"), with_closed({2, 3})).is_false);
}

TEST(Standby, OfAFormulaAServerThatRestsIsFalseAndAFullOneTrue) {
  forwarding::Service resting = with_formula("1");
  resting.mutable_member(0)->set_resting(true);
  EXPECT_TRUE(standby(resting, with_closed({})).is_false);
  Situation full = with_closed({});
  full.full = {1};
  EXPECT_FALSE(standby(with_formula("1"), full).is_false);
}

TEST(Standby, AFormulaIsUnsettledWhileServersThatAreNotProvenCanMakeItTrue) {
  const Situation situation{.availability = [](const forwarding::Member& member) {
    return member.real() == 1 ? Availability::unknown : Availability::closed;
  }};
  const Standby either = standby(with_formula("12|"), situation);
  EXPECT_TRUE(either.is_false && either.unsettled);
  const Standby both = standby(with_formula("12&"), situation);
  EXPECT_TRUE(both.is_false && !both.unsettled);
}

// ---- Degraded servers

Situation with_last(std::set<std::uint32_t> last, std::set<std::uint32_t> closed = {},
                    std::set<std::uint32_t> full = {}) {
  return {.availability =
              [last = std::move(last), closed = std::move(closed)](const forwarding::Member& member) {
                if (closed.contains(member.real())) return Availability::closed;
                return last.contains(member.real()) ? Availability::last : Availability::open;
              },
          .full = std::move(full)};
}

TEST(Standby, ADegradedServerServesOnlyWhenNoOpenOneOfItsGroupIsLeft) {
  EXPECT_THAT(standby(service(), with_last({1})).taking, ElementsAre(2u));
  EXPECT_THAT(standby(service(), with_last({1, 2})).taking, ElementsAre(1u, 2u));
  EXPECT_THAT(standby(service(), with_last({1}, {}, {2})).taking, ElementsAre(1u)) << "the open one is full";
}

TEST(Standby, NobodyStandsInForADegradedServerAndNoGroupStepsInForIt) {
  const Standby now = standby(service(), with_last({1, 2}));
  EXPECT_THAT(now.failover, IsEmpty());
  EXPECT_EQ(now.fallback, std::nullopt);
}

TEST(Standby, AnOpenBackupOfAFailedServerComesBeforeADegradedServer) {
  EXPECT_THAT(standby(service(), with_last({2}, {1})).taking, ElementsAre(3u));
  EXPECT_THAT(standby(service(), with_last({2, 3}, {1})).taking, ElementsAre(2u, 3u));
}

TEST(Standby, ABackupHelpsAFullDegradedServerInThatServersTurn) {
  EXPECT_THAT(standby(service(), with_last({1}, {}, {1})).taking, ElementsAre(2u));
  EXPECT_THAT(standby(service(), with_last({1}, {2}, {1})).overflow, ElementsAre(Pair{1, 3}));
}

TEST(Standby, DegradedServersCountForTheThreshold) {
  forwarding::Service limited = service();
  limited.set_min_available(2);
  EXPECT_FALSE(standby(limited, with_last({1, 2})).is_short);
  EXPECT_EQ(standby(limited, with_last({1, 2})).available, 2u);
  EXPECT_TRUE(standby(limited, with_last({1}, {2})).is_short);
}

}  // namespace
}  // namespace headgate::health
