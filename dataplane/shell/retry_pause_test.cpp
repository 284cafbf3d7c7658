// SPDX-License-Identifier: Apache-2.0
#include "dataplane/shell/retry_pause.h"

#include <gtest/gtest.h>

namespace headgate::shell {
namespace {

TEST(RetryPause, DoublesFromAFewMillisecondsToAMinute) {
  RetryPause pause;
  for (std::uint64_t expected = 20'000'000; expected < RetryPause::kLongestNs; expected *= 2) {
    EXPECT_EQ(pause.after_driver(), expected);
  }
  EXPECT_EQ(pause.after_driver(), RetryPause::kLongestNs);
  EXPECT_EQ(pause.after_driver(), RetryPause::kLongestNs);
}

TEST(RetryPause, BeginsAgainWhenTheInterfaceWasAway) {
  RetryPause pause;
  for (int failure = 0; failure < 5; ++failure) static_cast<void>(pause.after_driver());
  EXPECT_EQ(pause.after_absence(), RetryPause::kAbsentNs);
  EXPECT_EQ(pause.after_driver(), RetryPause::kFirstNs);
}

}  // namespace
}  // namespace headgate::shell
