// SPDX-License-Identifier: Apache-2.0
#include "dataplane/shell/sweep_pace.h"

#include <gtest/gtest.h>

namespace headgate::shell {
namespace {

constexpr std::uint64_t kRound = SweepPace::kRoundNs;

TEST(SweepPace, LooksAtEveryEntryOnceInARound) {
  for (const std::size_t capacity : {1024u, 65536u, 1048576u}) {
    SweepPace pace;
    static_cast<void>(pace.due(capacity, kRound));  // begins the first round
    std::size_t looked_at = 0;
    for (std::uint64_t now = kRound; now <= 2 * kRound; now += 20'000) looked_at += pace.due(capacity, now);
    EXPECT_NEAR(static_cast<double>(looked_at), static_cast<double>(capacity),
                0.05 * capacity + SweepPace::kLeast)
        << capacity;
  }
}

TEST(SweepPace, IsBoundedHoweverLongItWasNotAsked) {
  SweepPace pace;
  EXPECT_EQ(pace.due(16'000'000, 100 * kRound), SweepPace::kMost);
  EXPECT_EQ(pace.due(16'000'000, 100 * kRound), 0u) << "nothing is due twice";
}

TEST(SweepPace, SavesACallForAFewEntries) {
  SweepPace pace;
  static_cast<void>(pace.due(1024, kRound));
  EXPECT_EQ(pace.due(1024, kRound + kRound / 1024 * (SweepPace::kLeast - 1)), 0u);
  EXPECT_EQ(pace.due(1024, kRound + kRound / 1024 * SweepPace::kLeast), SweepPace::kLeast);
}

}  // namespace
}  // namespace headgate::shell
