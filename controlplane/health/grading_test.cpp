// SPDX-License-Identifier: Apache-2.0
#include "controlplane/health/grading.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace headgate::health {
namespace {

constexpr Bands kTime{.degrade_above = 1000, .restore_below = 500, .fail_above = 3000, .recover_below = 2000};

TEST(Grading, OnlyAnOuterBoundTakesDownAndOnlyAnInnerOneTakesUp) {
  EXPECT_EQ(grade(kTime, Grade::available, 1000), Grade::available);
  EXPECT_EQ(grade(kTime, Grade::available, 1001), Grade::degraded);
  EXPECT_EQ(grade(kTime, Grade::degraded, 500), Grade::degraded);
  EXPECT_EQ(grade(kTime, Grade::degraded, 499), Grade::available);
  EXPECT_EQ(grade(kTime, Grade::degraded, 3000), Grade::degraded);
  EXPECT_EQ(grade(kTime, Grade::degraded, 3001), Grade::unavailable);
  EXPECT_EQ(grade(kTime, Grade::unavailable, 2000), Grade::unavailable);
  EXPECT_EQ(grade(kTime, Grade::unavailable, 1999), Grade::degraded);
}

TEST(Grading, AJumpCrossesAllBoundsAtOnce) {
  EXPECT_EQ(grade(kTime, Grade::available, 9000), Grade::unavailable);
  EXPECT_EQ(grade(kTime, Grade::unavailable, 100), Grade::available);
}

TEST(Grading, WhatIsNotSetBoundsNothing) {
  for (const Grade before : {Grade::available, Grade::degraded, Grade::unavailable})
    EXPECT_EQ(grade({}, before, ~Measure{0}), Grade::available);
  const Bands fails{.fail_above = 10};
  EXPECT_EQ(grade(fails, Grade::available, 11), Grade::unavailable);
  EXPECT_EQ(grade(fails, Grade::unavailable, 10), Grade::available) << "one bound for both ways";
  const Bands degrades{.degrade_above = 10};
  EXPECT_EQ(grade(degrades, Grade::available, 1'000'000), Grade::degraded);
  EXPECT_EQ(grade(degrades, Grade::degraded, 10), Grade::available);
}

TEST(Grading, ScoresTellWhereInTheGradeAMeasureLies) {
  EXPECT_EQ(score(kTime, Grade::available, 0), 10);
  EXPECT_EQ(score(kTime, Grade::available, 500), 6);
  EXPECT_EQ(score(kTime, Grade::available, 1000), 1);
  EXPECT_EQ(score(kTime, Grade::degraded, 500), 10);
  EXPECT_EQ(score(kTime, Grade::degraded, 3000), 1);
  EXPECT_EQ(score(kTime, Grade::unavailable, 0), 1);
  EXPECT_EQ(score({}, Grade::available, 77), kBestScore);
  EXPECT_EQ(score({.degrade_above = 10}, Grade::degraded, 20), 5);
  EXPECT_EQ(score({.degrade_above = 10}, Grade::degraded, ~Measure{0}), 1);
}

TEST(Grading, TheWorseOfTwoReadingsIsTheLowerGradeAndThenTheLowerScore) {
  EXPECT_EQ(worse({Grade::degraded, 10}, {Grade::available, 1}), (Reading{Grade::degraded, 10}));
  EXPECT_EQ(worse({Grade::available, 3}, {Grade::available, 4}), (Reading{Grade::available, 3}));
}

TEST(Grading, UnsoundBandsAreNamedInASentence) {
  EXPECT_FALSE(problem(Bands{}));
  EXPECT_FALSE(problem(kTime));
  EXPECT_FALSE(problem({.degrade_above = 5, .restore_below = 5}));
  EXPECT_EQ(problem({.restore_below = 5}),
            "restore below 5 has no effect without degrade above: set both or none");
  EXPECT_EQ(problem({.degrade_above = 5, .restore_below = 6}),
            "restore below 6 is more than degrade above 5: it must be that or less");
  EXPECT_EQ(problem({.fail_above = 5, .recover_below = 6}),
            "recover below 6 is more than fail above 5: it must be that or less");
  EXPECT_EQ(problem({.degrade_above = 5, .fail_above = 5}),
            "degrade above 5 is not less than fail above 5: nothing would be degraded");
}

// ---- Properties

constexpr int kProbes = 100'000;

/// What two latches would say, each set above its outer bound and released below its inner one.
struct Latches {
  bool degraded = false;
  bool failed = false;

  static void turn(bool& latch, const std::optional<Measure>& outer, const std::optional<Measure>& inner,
                   Measure value) {
    if (!outer) return;
    if (value > *outer) latch = true;
    if (inner ? value < *inner : value <= *outer) latch = false;
  }
  Grade grade(const Bands& bands, Measure value) {
    turn(degraded, bands.degrade_above, bands.restore_below, value);
    turn(failed, bands.fail_above, bands.recover_below, value);
    return failed ? Grade::unavailable : degraded ? Grade::degraded : Grade::available;
  }
};

TEST(GradingProperty, NoiseWithinTheBandFlipsNothing) {
  for (const Grade start : {Grade::available, Grade::degraded}) {
    std::mt19937 random(1);
    std::uniform_int_distribution<Measure> noise(500, 1000);
    for (int probe = 0; probe < kProbes; ++probe)
      ASSERT_EQ(grade(kTime, start, noise(random)), start) << "probe " << probe;
  }
}

// A walk about the band: as many flips as times it has crossed the whole of it, and it does so often.
TEST(GradingProperty, AWalkFlipsOnceForEachTimeItCrossesTheWholeBand) {
  std::mt19937 random(2);
  std::uniform_int_distribution<int> stride(-60, 60);
  int value = 750;
  bool above = false;
  Grade now = Grade::available;
  int flips = 0, crossings = 0, near_misses = 0;
  for (int probe = 0; probe < kProbes; ++probe) {
    value = std::clamp(value + stride(random), 350, 1150);
    const auto measure = static_cast<Measure>(value);
    if (above ? value < 500 : value > 1000) above = !above, ++crossings;
    near_misses += above ? value < 1000 : value > 500;
    const Grade next = grade(kTime, now, measure);
    flips += next != now;
    now = next;
    ASSERT_EQ(flips, crossings) << "probe " << probe << " value " << value;
  }
  EXPECT_GT(crossings, 100);
  EXPECT_GT(near_misses, 100 * crossings) << "a single bound would have flipped more often";
}

TEST(GradingProperty, AnySoundBandsAgreeWithTwoLatches) {
  std::mt19937 random(3);
  for (int round = 0; round < 1000; ++round) {
    const auto some = [&](Measure most) -> std::optional<Measure> {
      if (random() % 4 == 0) return std::nullopt;
      return random() % (most + 1);
    };
    const Bands bands{some(90), some(90), some(100), some(100)};
    if (problem(bands)) continue;
    Latches latches;
    Grade now = Grade::available;
    for (int probe = 0; probe < 200; ++probe) {
      const Measure value = random() % 120;
      now = grade(bands, now, value);
      ASSERT_EQ(now, latches.grade(bands, value)) << "round " << round << " probe " << probe;
    }
  }
}

TEST(GradingProperty, InOneGradeMoreIsNeverScoredHigher) {
  for (const Bands& bands : {kTime, Bands{}, Bands{.degrade_above = 700}, Bands{.fail_above = 3000},
                             Bands{.degrade_above = 0, .fail_above = 1}})
    for (const Grade in : {Grade::available, Grade::degraded, Grade::unavailable})
      for (Measure value = 0; value < 4000; ++value) {
        ASSERT_GE(score(bands, in, value), score(bands, in, value + 1));
        ASSERT_GE(score(bands, in, value), 1);
        ASSERT_LE(score(bands, in, value), kBestScore);
      }
}

}  // namespace
}  // namespace headgate::health
