// SPDX-License-Identifier: Apache-2.0
#include "controlplane/telemetry/attack_watch.h"

#include <gtest/gtest.h>

namespace headgate::telemetry {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Change = AttackWatch::Change;

constexpr AttackWatch::Rule kRule{seconds(2), 20'000};

TEST(AttackWatch, WarnsOnceWhenAPeriodIsOverTheLimitAndOnceWhenOneIsNot) {
  AttackWatch watch;
  EXPECT_EQ(watch.sample(kRule, milliseconds(0), 1000), Change::none);
  EXPECT_EQ(watch.sample(kRule, milliseconds(1000), 90'000), Change::none) << "judged once a period";
  EXPECT_EQ(watch.sample(kRule, milliseconds(2000), 21'001), Change::begins);
  EXPECT_EQ(watch.last(), 20'001u);
  EXPECT_EQ(watch.sample(kRule, milliseconds(4000), 61'001), Change::none);
  EXPECT_TRUE(watch.active());
  EXPECT_EQ(watch.sample(kRule, milliseconds(6000), 81'001), Change::ends) << "the limit itself is allowed";
  EXPECT_EQ(watch.warnings(), 1u);
}

TEST(AttackWatch, ALateSampleIsJudgedInProportion) {
  AttackWatch watch;
  (void)watch.sample(kRule, milliseconds(0), 0);
  EXPECT_EQ(watch.sample(kRule, milliseconds(4000), 40'000), Change::none);
  EXPECT_EQ(watch.last(), 20'000u);
}

TEST(AttackWatch, ACountThatFellBackIsNoAttack) {
  AttackWatch watch;
  (void)watch.sample(kRule, milliseconds(0), 1'000'000);
  EXPECT_EQ(watch.sample(kRule, milliseconds(2000), 10), Change::none);
  EXPECT_EQ(watch.last(), 0u);
  EXPECT_EQ(watch.sample(kRule, milliseconds(4000), 30'010), Change::begins);
}

TEST(AttackWatch, ANewRuleBeginsAfresh) {
  AttackWatch watch;
  (void)watch.sample(kRule, milliseconds(0), 0);
  EXPECT_EQ(watch.sample(kRule, milliseconds(2000), 30'000), Change::begins);
  EXPECT_EQ(watch.sample({seconds(2), 50'000}, milliseconds(4000), 90'000), Change::none);
  EXPECT_FALSE(watch.active());
  EXPECT_EQ(watch.sample({}, milliseconds(6000), 900'000), Change::none);
  EXPECT_EQ(watch.sample({}, milliseconds(8000), 9'000'000), Change::none) << "not watched";
  EXPECT_EQ(watch.warnings(), 1u);
}

}  // namespace
}  // namespace headgate::telemetry
