// SPDX-License-Identifier: Apache-2.0
#include "controlplane/health/preemption.h"

#include <gtest/gtest.h>

namespace headgate::health {
namespace {

TEST(Preemption, APrimaryThatNeverFailedIsNotHeld) {
  EXPECT_FALSE(held_back(false, Health::up, true));
  EXPECT_FALSE(held_back(false, Health::unknown, true)) << "at a start the backup may be proven first";
}

TEST(Preemption, APrimaryThatFailedIsHeldUntilItsBackupFails) {
  bool held = held_back(false, Health::down, true);
  EXPECT_TRUE(held);
  held = held_back(held, Health::up, true);
  EXPECT_TRUE(held) << "recovery alone changes nothing";
  held = held_back(held, Health::up, false);
  EXPECT_FALSE(held);
  EXPECT_FALSE(held_back(held, Health::up, true)) << "the backup is back: now the primary serves";
}

TEST(Preemption, WithoutABackupThereIsNobodyToYieldTo) {
  EXPECT_FALSE(held_back(false, Health::down, false));
  EXPECT_FALSE(held_back(true, Health::down, false));
}

// Each the other's backup: whatever fails and recovers, one of those that are up is not held.
TEST(Preemption, TwoServersThatAreEachOthersBackupNeverHoldBoth) {
  constexpr int kEvents = 6;
  for (int order = 0; order < 1 << (2 * kEvents); ++order) {
    Health health[2] = {Health::up, Health::up};
    bool held[2] = {false, false};
    for (int event = 0; event < kEvents; ++event) {
      const int what = order >> (2 * event) & 3;
      health[what & 1] = (what & 2) != 0 ? Health::up : Health::down;
      for (int i = 0; i < 2; ++i) held[i] = held_back(held[i], health[i], health[1 - i] == Health::up);
      const bool any_up = health[0] == Health::up || health[1] == Health::up;
      const bool serves = (health[0] == Health::up && !held[0]) || (health[1] == Health::up && !held[1]);
      ASSERT_EQ(serves, any_up) << order << " after " << event;
    }
  }
}

}  // namespace
}  // namespace headgate::health
