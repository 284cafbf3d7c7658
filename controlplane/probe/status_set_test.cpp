// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/status_set.h"

#include <gtest/gtest.h>

namespace headgate::probe {
namespace {

TEST(StatusSet, Is200WhereNothingIsSaid) {
  const StatusSet set;
  EXPECT_TRUE(set.has(200));
  EXPECT_FALSE(set.has(199));
  EXPECT_FALSE(set.has(201));
  EXPECT_EQ(set.text(), "200");
  EXPECT_EQ(StatusSet::parse("200").value(), set);
}

TEST(StatusSet, HoldsNumbersAndRangesWithTheirEnds) {
  const StatusSet set = StatusSet::parse("301,200-299").value();
  for (const unsigned status : {200u, 250u, 299u, 301u}) EXPECT_TRUE(set.has(status)) << status;
  for (const unsigned status : {199u, 300u, 302u, 503u}) EXPECT_FALSE(set.has(status)) << status;
}

TEST(StatusSet, IsSaidInOrderAndOnce) {
  EXPECT_EQ(StatusSet::parse("301,200-299").value().text(), "200-299,301");
  EXPECT_EQ(StatusSet::parse("202,200,201,200-201,999,100").value().text(), "100,200-202,999");
  EXPECT_EQ(StatusSet::parse("200-299,250-260,300").value().text(), "200-300");
}

TEST(StatusSet, WhatItSaysIsReadAsTheSame) {
  for (const char* text : {"200", "100-999", "200-299,301", "200,202,204"}) {
    const StatusSet set = StatusSet::parse(text).value();
    EXPECT_EQ(set.text(), text);
    EXPECT_EQ(StatusSet::parse(set.text()).value(), set);
  }
}

TEST(StatusSet, RefusesWhatIsNoStatusAndSaysWhatIsOne) {
  for (const char* text : {"", "20", "099", "1000", "abc", "200,", ",200", "200-", "-200", "200 ", "2xx",
                           "+20", "200--300", "200;301"}) {
    const auto set = StatusSet::parse(text);
    ASSERT_FALSE(set) << text;
    EXPECT_NE(set.error().message.find("wanted 100 to 999, or a range such as 200-299"), std::string::npos);
  }
  EXPECT_EQ(StatusSet::parse("200,4xx").error().message,
            "status \"4xx\": wanted 100 to 999, or a range such as 200-299");
  EXPECT_EQ(StatusSet::parse("299-200").error().message,
            "status \"299-200\": the range ends before it begins");
}

}  // namespace
}  // namespace headgate::probe
