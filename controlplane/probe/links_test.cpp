// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/links.h"

#include <gtest/gtest.h>

namespace headgate::probe {
namespace {

Check check(const std::string& device) {
  return {.kind = Kind::link, .carrier = Carrier::none, .port = 3, .path = device};
}

TEST(Links, TheKernelIsAskedOfItsDevices) {
  Links links;
  const Result loopback = links.look(check("lo"));
  EXPECT_TRUE(loopback.passed);
  EXPECT_EQ(loopback.reason, "link of port 3 is up");
  const Result absent = links.look(check("absent0"));
  EXPECT_FALSE(absent.passed);
  EXPECT_EQ(absent.reason, "link of port 3 is down: absent0: it is not there");
}

TEST(Links, OfOthersTheDataplaneTells) {
  Links links;
  const Result silence = links.look(check(""));
  EXPECT_TRUE(silence.unasked) << "the link has not failed";
  EXPECT_EQ(silence.reason, "link of port 3 is not known: the dataplane has not told");
  links.learn({{3, true}, {4, false}});
  EXPECT_TRUE(links.look(check("")).passed);
  links.learn({{3, false}, {4, true}});
  EXPECT_FALSE(links.look(check("")).passed);
  EXPECT_EQ(links.look(check("")).reason, "link of port 3 is down");
}

}  // namespace
}  // namespace headgate::probe
