// SPDX-License-Identifier: Apache-2.0
#include "dataplane/shell/clock.h"

#include <gtest/gtest.h>

namespace headgate::shell {
namespace {

static_assert(tick_at(0) == Tick{0});
static_assert(tick_at(62'499'999) == Tick{0});
static_assert(tick_at(62'500'000) == Tick{1});
static_assert(tick_at(1'000'000'000) == Tick{16});
// 2^32 ticks, 8.5 years, after the start it begins anew.
static_assert(tick_at((std::uint64_t{1} << 32) * 62'500'000) == Tick{0});

TEST(ClockTest, TicksDoNotGoBack) {
  const Tick before = tick_now();
  EXPECT_GE(tick_now().since(before), 0);
}

}  // namespace
}  // namespace headgate::shell
