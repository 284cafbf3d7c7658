// SPDX-License-Identifier: Apache-2.0
#include "controlplane/health/response.h"

#include <gtest/gtest.h>

namespace headgate::health {
namespace {

using std::chrono::microseconds;

TEST(Response, TheFirstAnswerIsTheAverage) {
  EXPECT_EQ(averaged_response(0, microseconds(2400)), 2400u);
  EXPECT_EQ(averaged_response(0, microseconds(0)), 1u) << "0 is for: not known";
}

TEST(Response, OneSlowAnswerCountsForAnEighth) {
  EXPECT_EQ(averaged_response(1000, microseconds(9000)), 2000u);
  EXPECT_EQ(averaged_response(2000, microseconds(1200)), 1900u);
}

TEST(Response, StaysWithinItsNumberWhateverComes) {
  EXPECT_EQ(averaged_response(0, std::chrono::hours(24 * 365)), 0xffffffffu);
  EXPECT_EQ(averaged_response(1, microseconds(-5)), 1u);
}

TEST(Response, ConvergesFromBothSidesToWithinAnEighth) {
  for (std::uint32_t average : {1u, 1'000'000u}) {
    for (int i = 0; i < 200; ++i) average = averaged_response(average, microseconds(5000));
    EXPECT_NEAR(average, 5000, 8);
  }
}

TEST(Response, IsToldAgainWhenItHasChangedByAnEighth) {
  EXPECT_TRUE(response_is_news(0, 1));
  EXPECT_FALSE(response_is_news(0, 0));
  EXPECT_FALSE(response_is_news(8000, 9000));
  EXPECT_TRUE(response_is_news(8000, 9001));
  EXPECT_TRUE(response_is_news(8000, 6999));
}

}  // namespace
}  // namespace headgate::health
