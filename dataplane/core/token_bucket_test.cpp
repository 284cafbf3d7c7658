// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/token_bucket.h"

#include <gtest/gtest.h>

namespace headgate::core {
namespace {

unsigned taken(TokenBucket& bucket, unsigned tries, Tick now) {
  unsigned got = 0;
  for (; tries > 0; --tries) got += bucket.take(now) ? 1u : 0u;
  return got;
}

TEST(TokenBucket, StartsFullAndGivesNoMoreThanItsBurstAtOnce) {
  TokenBucket bucket(100, 7);
  EXPECT_EQ(taken(bucket, 1000, Tick{5}), 7u);
  EXPECT_EQ(taken(bucket, 1000, Tick{5}), 0u);
}

TEST(TokenBucket, GivesItsRateOverAnyTime) {
  for (const std::uint32_t rate : {1u, 3u, 16u, 100u, 1000u}) {
    TokenBucket bucket(rate, rate);
    Tick now{0xffffff00};  // over the wrap of the clock
    taken(bucket, rate, now);
    unsigned got = 0;
    for (unsigned tick = 0; tick < 100 * Tick::kPerSecond; ++tick) {
      now = now.plus(1);
      got += taken(bucket, rate, now);
    }
    EXPECT_EQ(got, 100 * rate);
  }
}

TEST(TokenBucket, APauseFillsItOnlyToTheBurst) {
  TokenBucket bucket(1000, 50);
  taken(bucket, 50, Tick{0});
  EXPECT_EQ(taken(bucket, 1000, Tick{0}.plus_seconds(100'000'000)), 50u);
}

TEST(TokenBucket, ATimeThatGoesBackGivesNothing) {
  TokenBucket bucket(16, 4);
  taken(bucket, 4, Tick{100});
  EXPECT_EQ(taken(bucket, 4, Tick{90}), 0u);
  EXPECT_EQ(taken(bucket, 4, Tick{101}), 1u);
}

}  // namespace
}  // namespace headgate::core
