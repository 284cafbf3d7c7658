// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/turns.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace headgate::core {
namespace {

Turns turns_of(std::vector<std::uint32_t> weights, std::size_t first = 0) {
  for (std::uint32_t& weight : weights) weight *= kWeightUnit;
  return {weights, std::vector<std::uint64_t>(weights.size(), 0), first};
}

std::vector<int> next(Turns& turns, std::size_t count) {
  std::vector<int> taken;
  for (std::size_t i = 0; i < count; ++i) {
    taken.push_back(turns.first());
    turns.take(turns.first(), 0);
  }
  return taken;
}

TEST(Turns, EqualWeightsTakePlainTurnsFromTheFirstOn) {
  Turns turns = turns_of({1, 1, 1, 1});
  EXPECT_EQ(next(turns, 5), (std::vector{0, 1, 2, 3, 0}));
  Turns later = turns_of({7, 7, 7, 7}, 2);
  EXPECT_EQ(next(later, 5), (std::vector{2, 3, 0, 1, 2}));
}

TEST(Turns, OneRoundGivesEachExactlyItsWeightWhereverItBegins) {
  std::mt19937 random(1);
  for (int repeat = 0; repeat < 50; ++repeat) {
    std::vector<std::uint32_t> weights(1 + random() % 40);
    for (auto& weight : weights) weight = 1u << random() % 6;  // strides that are whole
    const std::uint32_t round = std::accumulate(weights.begin(), weights.end(), 0u);
    Turns turns = turns_of(weights, random() % 64);
    for (int rounds = 0; rounds < 3; ++rounds) {
      const std::vector<int> taken = next(turns, round);
      for (std::size_t i = 0; i < weights.size(); ++i)
        ASSERT_EQ(std::ranges::count(taken, static_cast<int>(i)), weights[i]);
    }
  }
}

TEST(Turns, AHeavyServersTurnsAreSpreadAmongThoseOfTheOthers) {
  std::vector<std::uint32_t> weights(49, 1);
  weights[0] = 48;
  Turns turns = turns_of(weights);
  const std::vector<int> taken = next(turns, 96);
  for (std::size_t i = 0; i + 3 < taken.size(); ++i)
    EXPECT_FALSE(taken[i] == 0 && taken[i + 1] == 0 && taken[i + 2] == 0) << i;
}

TEST(Turns, AnyWeightsHaveTheirShareInTheLongRun) {
  const std::vector<std::uint32_t> weights = {48, 47, 3, 1, 30, 7};
  Turns turns = turns_of(weights);
  const std::vector<int> taken = next(turns, 136 * 100);
  for (std::size_t i = 0; i < weights.size(); ++i)
    EXPECT_NEAR(std::ranges::count(taken, static_cast<int>(i)), weights[i] * 100, 2);
}

TEST(Turns, TheLeastLoadIsFirstAsInALinearSearch) {
  std::mt19937 random(2);
  for (const std::size_t size : {1u, 2u, 3u, 7u, 64u, 100u}) {
    Turns turns = turns_of(std::vector<std::uint32_t>(size, 1));
    std::vector<std::uint64_t> loads(size, 0);
    for (int step = 0; step < 5000; ++step) {
      const std::size_t server = random() % size;
      loads[server] = random() % 10 == 0 ? Turns::kFull : random() % 20;
      if (random() % 2 == 0) {
        turns.set_load(server, loads[server]);
      } else {
        turns.take(server, loads[server]);
      }
      ASSERT_EQ(turns.load(turns.first()), std::ranges::min(loads));
      ASSERT_EQ(turns.load(server), loads[server]);
    }
  }
}

TEST(Turns, WhoWasFullForLongDoesNotMakeUpForIt) {
  Turns turns = turns_of({1, 1});
  turns.set_load(0, Turns::kFull);
  EXPECT_EQ(next(turns, 100), std::vector(100, 1));
  turns.set_load(0, 0);
  const std::vector<int> taken = next(turns, 10);
  EXPECT_NEAR(std::ranges::count(taken, 0), 5, 1);
}

TEST(Turns, AmongEqualsWhoWaitedLongestIsFirst) {
  Turns turns = turns_of({1, 1, 1});
  turns.set_load(2, 9);
  next(turns, 101);
  turns.set_load(2, 0);
  EXPECT_EQ(turns.first(), 2);
  const std::vector<int> taken = next(turns, 60);
  EXPECT_NEAR(std::ranges::count(taken, 2), 20, 1) << "and it has no more than its turn";
}

TEST(Turns, MomentsBeginAnewBeforeTheyWrap) {
  // A weight as small as no configuration has one makes strides of 2^28 moments; 2^34 turns come near 2^62.
  // Here they begin anew after so few that a test can see it.
  const std::vector<std::uint32_t> tiny = {1, 1, 2};
  Turns turns(tiny, std::vector<std::uint64_t>(3, 0), 0, std::uint64_t{1} << 32);
  for (int round = 0; round < 100; ++round) {
    const std::vector<int> taken = next(turns, 4);
    ASSERT_EQ(std::ranges::count(taken, 0), 1);
    ASSERT_EQ(std::ranges::count(taken, 2), 2);
  }
}

}  // namespace
}  // namespace headgate::core
