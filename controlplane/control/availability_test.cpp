// SPDX-License-Identifier: Apache-2.0
#include "controlplane/control/availability.h"

#include <gtest/gtest.h>

namespace headgate::control {
namespace {

Availability ask(State state, std::string_view target = "/virt/1/available",
                 std::string_view method = "GET") {
  return availability(method, target,
                      [&](std::uint32_t virt) { return virt == 1 ? std::optional(state) : std::nullopt; });
}

TEST(Availability, SaysWhetherAVirtualServerIsUp) {
  EXPECT_EQ(ask(UP), (Availability{200, "available\n"}));
  EXPECT_EQ(ask(DEGRADED), (Availability{503, "degraded\n"}));
  EXPECT_EQ(ask(NO_SERVICES_UP), (Availability{503, "unavailable\n"}));
  EXPECT_EQ(ask(NOT_CHECKED), (Availability{503, "not checked yet\n"}));
  EXPECT_EQ(ask(DISABLED), (Availability{503, "disabled\n"}));
}

TEST(Availability, OrDegradedIsAnotherQuestion) {
  constexpr auto kTarget = "/virt/1/available-or-degraded";
  EXPECT_EQ(ask(UP, kTarget), (Availability{200, "available\n"}));
  EXPECT_EQ(ask(DEGRADED, kTarget), (Availability{200, "degraded\n"}));
  EXPECT_EQ(ask(NO_SERVICES_UP, kTarget), (Availability{503, "unavailable\n"}));
}

TEST(Availability, HeadAsksTheSameAndOtherMethodsDoNot) {
  EXPECT_EQ(ask(UP, "/virt/1/available", "HEAD").status, 200u);
  for (const auto* method : {"POST", "PUT", "DELETE", "get", ""})
    EXPECT_EQ(ask(UP, "/virt/1/available", method).status, 405u) << method;
}

TEST(Availability, AQueryMakesNoDifference) {
  EXPECT_EQ(ask(UP, "/virt/1/available?cache=7").status, 200u);
}

TEST(Availability, NorDoesWhereItIsAsked) {
  for (const auto* target :
       {"http://lb.example/virt/1/available", "HTTP://[2001:db8::1]:8088/virt/1/available",
        "http://lb/virt/1/available?at=http://lb/"})
    EXPECT_EQ(ask(UP, target), (Availability{200, "available\n"})) << target;
}

TEST(Availability, WhatIsNoneOfItsTargetsIsNotFound) {
  EXPECT_EQ(ask(UP, "/virt/2/available"), (Availability{404, "there is no virtual server 2\n"}));
  for (const auto* target :
       {"", "/", "/virt", "/virt/", "/virt/1", "/virt/1/", "/virt/x/available", "/virt//available",
        "/virt/-1/available", "/virt/4294967297/available", "/virt/1/availableness", "/virt/1/available/",
        "*", "http://host", "http:///virt/1/available", "http://host//virt/1/available",
        "http://a/http://b/virt/1/available", "ftp://host/virt/1/available", "//host/virt/1/available"})
    EXPECT_EQ(ask(UP, target).status, 404u) << target;
}

}  // namespace
}  // namespace headgate::control
