// SPDX-License-Identifier: Apache-2.0
#include "controlplane/health/measures.h"

#include <random>

#include <gtest/gtest.h>

namespace headgate::health {
namespace {

const NamedBands kMissing{"missing-changes",
                          {.degrade_above = 1000, .restore_below = 500, .fail_above = 5000}};
const NamedBands kAge{"age",
                      {.degrade_above = 60, .restore_below = 30, .fail_above = 300, .recover_below = 100}};

struct Measures : ::testing::Test {
  std::vector<NamedBands> bounds{kMissing, kAge};
  Grades grades;
  Judgement judge(Measure missing, Measure age) {
    return health::judge(bounds, {{"missing-changes", missing}, {"age", age}}, grades);
  }
};

TEST_F(Measures, TheWorstOfAllCounts) {
  EXPECT_EQ(judge(0, 0), (Judgement{{Grade::available, 10}, ""}));
  EXPECT_EQ(judge(1200, 0).reading.grade, Grade::degraded);
  EXPECT_EQ(judge(1200, 301).reading.grade, Grade::unavailable);
  EXPECT_EQ(judge(0, 200).reading.grade, Grade::unavailable) << "not yet less than 100";
  EXPECT_EQ(judge(0, 99).reading.grade, Grade::degraded);
  EXPECT_EQ(judge(0, 29), (Judgement{{Grade::available, 6}, ""})) << "of the score, too";
}

TEST_F(Measures, EachKeepsItsOwnGrade) {
  (void)judge(1200, 0);
  EXPECT_EQ(judge(700, 45),
            (Judgement{{Grade::degraded, 10}, ", missing-changes 700, not yet less than 500"}));
  EXPECT_EQ(judge(400, 45).words, "");
}

TEST_F(Measures, WordsNameEveryBoundThatIsCrossed) {
  EXPECT_EQ(judge(1200, 301).words, ", missing-changes 1200, more than 1000, age 301, more than 300");
  EXPECT_EQ(judge(500, 100).words,
            ", missing-changes 500, not yet less than 500, age 100, not yet less than 100");
}

TEST_F(Measures, ABoundWithoutAnInnerOneIsBoth) {
  (void)judge(6000, 0);
  EXPECT_EQ(judge(5000, 0).reading.grade, Grade::degraded);
  bounds = {{"missing-changes", {.degrade_above = 10}}};
  EXPECT_EQ(judge(11, 0).words, ", missing-changes 11, more than 10");
  EXPECT_EQ(judge(10, 0).words, "");
}

TEST_F(Measures, WhatWasNotReadCountsForNothing) {
  (void)judge(1200, 0);
  EXPECT_EQ(health::judge(bounds, {{"age", 0}}, grades), (Judgement{{Grade::available, 10}, ""}));
  EXPECT_EQ(judge(700, 0).reading.grade, Grade::degraded) << "it has kept its grade";
}

/// Counts by itself how often values go from under the inner bound to over the outer one, and back.
struct Crossings {
  bool over = false;
  int count = 0;
  void take(Measure value, Measure inner, Measure outer) {
    if (over ? value >= inner : value <= outer) return;
    over = !over;
    ++count;
  }
};

// Mission B.3: a server near a bound never flips.
TEST_F(Measures, AValueNearABoundFlipsOnlyAsOftenAsItCrossesBoth) {
  constexpr int kProbes = 100'000;
  std::mt19937 random(31);
  for (const Measure middle : {1000, 750, 500, 5000}) {
    grades.clear();
    Crossings crossings;
    int flips = 0;
    Grade before = Grade::available;
    auto value = static_cast<std::int64_t>(middle);
    for (int i = 0; i < kProbes; ++i) {
      value = std::clamp<std::int64_t>(value + static_cast<int>(random() % 81) - 40, 0, 4900);
      const Grade now = judge(static_cast<Measure>(value), 0).reading.grade;
      crossings.take(static_cast<Measure>(value), 500, 1000);
      flips += now != before ? 1 : 0;
      before = now;
    }
    EXPECT_EQ(flips, crossings.count) << middle;
    EXPECT_GT(flips, 10) << middle;
    EXPECT_LT(flips, kProbes / 100) << middle;
  }
}

TEST_F(Measures, AValueThatStaysAtABoundNeverFlips) {
  std::mt19937 random(7);
  (void)judge(1001, 0);
  for (int i = 0; i < 100'000; ++i) {
    const Measure value = 501 + random() % 1000;  // either side of the outer bound, over the inner one
    ASSERT_EQ(judge(value, 0).reading.grade, Grade::degraded) << value;
  }
}

}  // namespace
}  // namespace headgate::health
