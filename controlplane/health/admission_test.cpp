// SPDX-License-Identifier: Apache-2.0
#include "controlplane/health/admission.h"

#include <vector>

#include <gtest/gtest.h>

namespace headgate::health {
namespace {

TEST(Admission, AHealthyEnabledServiceIsOpen) {
  EXPECT_EQ(admission({.health = Health::up}), Admission::open);
}

TEST(Admission, ADegradedServiceIsTheLastToTakeSessions) {
  EXPECT_EQ(admission({.health = Health::degraded}), Admission::last);
  EXPECT_EQ(admission({.health = Health::degraded, .operating = false}), Admission::draining);
  EXPECT_EQ(admission({.health = Health::degraded, .configured = false}), Admission::closed);
}

TEST(Admission, WithoutGraceAFailureEndsItsSessions) {
  EXPECT_EQ(admission({.health = Health::down}), Admission::closed);
}

TEST(Admission, WithGraceAFailureKeepsItsSessionsAndTakesNoNewOne) {
  EXPECT_EQ(admission({.health = Health::down, .grace = true}), Admission::draining);
}

TEST(Admission, GraceNeverProtectsADisabledServer) {
  for (const Health health : {Health::unknown, Health::up, Health::down})
    EXPECT_EQ(admission({.health = health, .configured = false, .grace = true}), Admission::closed);
}

TEST(Admission, TheOperatorDrainsAHealthyServer) {
  EXPECT_EQ(admission({.health = Health::up, .operating = false}), Admission::draining);
}

TEST(Admission, AFailureWhileDrainingStillEndsItsSessions) {
  EXPECT_EQ(admission({.health = Health::down, .operating = false}), Admission::closed);
}

TEST(Admission, WithoutAVerdictNoSessionBeginsAndNoneEnds) {
  EXPECT_EQ(admission({.health = Health::unknown}), Admission::draining);
}

// Reports 47: all orderings of {down, up, dis, ena} of length 4 that end in (ena, up) end open.
TEST(Admission, NoOrderOfFailureAndDisableLeavesAServerStuck) {
  for (int first = 0; first < 4; ++first)
    for (int second = 0; second < 4; ++second) {
      Standing standing;
      for (const int happening : {first, second, 3, 1}) {
        if (happening < 2) standing.health = happening == 1 ? Health::up : Health::down;
        if (happening >= 2) standing.operating = happening == 3;
      }
      EXPECT_EQ(admission(standing), Admission::open) << first << second;
    }
}

TEST(Server, FailsOnlyWhenAllServicesHaveFailed) {
  EXPECT_EQ(server_state(std::vector<ServiceView>{{Health::down}, {Health::up}}).health, ServerHealth::up);
  EXPECT_EQ(server_state(std::vector<ServiceView>{{Health::down}, {Health::down}}).health,
            ServerHealth::failed);
}

TEST(Server, IsUpWithAServiceThatIsDegraded) {
  EXPECT_EQ(server_state(std::vector<ServiceView>{{Health::down}, {Health::degraded}}),
            (ServerState{ServerHealth::up, 4}));
}

TEST(Server, IsNotFailedWhileAServiceHasNoVerdict) {
  EXPECT_EQ(server_state(std::vector<ServiceView>{{Health::down}, {Health::unknown}}).health,
            ServerHealth::unknown);
  EXPECT_EQ(server_state({}).health, ServerHealth::unknown);
}

TEST(Server, AFailedServerIsCheckedAtLayer3UntilItsHostIsHeard) {
  EXPECT_EQ(server_state(std::vector<ServiceView>{{Health::down, false}, {Health::down, false}}).layer, 3u);
  EXPECT_EQ(server_state(std::vector<ServiceView>{{Health::down, false}, {Health::down, true}}).layer, 4u);
  EXPECT_EQ(server_state(std::vector<ServiceView>{{Health::up, false}}).layer, 4u);
}

}  // namespace
}  // namespace headgate::health
