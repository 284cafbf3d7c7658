// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/layout.h"

#include <gtest/gtest.h>

namespace headgate::core {
namespace {

// The same for every compiler: a build of one takes over the sessions of the other's.
TEST(Layout, IsThatOfTheBuildsBefore) {
  EXPECT_EQ(memory_layout(), 0xd509821d152cd093)
      << "sessions and totals of builds before are lost at an upgrade to this one: if that is meant, the "
         "changelog says so, and the new number stands here";
}

}  // namespace
}  // namespace headgate::core
