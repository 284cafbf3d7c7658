// SPDX-License-Identifier: Apache-2.0
#include "model/ip.h"

#include <gtest/gtest.h>

#include "model/ports.h"

namespace headgate {
namespace {

TEST(Ipv4, ReadsADottedQuadAndNothingElse) {
  EXPECT_EQ(Ipv4::parse("10.0.1.255"), (Ipv4{0x0a0001ff}));
  EXPECT_EQ(Ipv4::parse("255.255.255.255"), (Ipv4{0xffffffff}));
  for (const char* bad :
       {"", "10", "10.0.0", "10.0.0.", "10.0.0.1.", "10.0.0.1.2", "10.0.0.256", "10.0.0.01", "+1.0.0.0",
        "-1.0.0.0", " 10.0.0.1", "10.0.0.1 ", "10..0.1", "0x0a.0.0.1", "99999999999.0.0.1"})
    EXPECT_FALSE(Ipv4::parse(bad)) << bad;
}

TEST(Ipv4, TextComesBack) {
  for (const char* text : {"0.0.0.0", "10.20.30.40", "255.255.255.255"})
    EXPECT_EQ(Ipv4::parse(text)->text(), text);
}

TEST(Ipv4, MasksAreContiguous) {
  for (unsigned length = 0; length <= 32; ++length) EXPECT_EQ(prefix_length(mask_of(length)), length);
  EXPECT_FALSE(prefix_length(*Ipv4::parse("255.0.255.0")));
  EXPECT_FALSE(prefix_length(*Ipv4::parse("0.0.0.1")));
}

TEST(Mac, PrintsSixLowerCaseGroups) {
  EXPECT_EQ((Mac{{0x00, 0x1a, 0xff, 0x03, 0x04, 0x05}}).text(), "00:1a:ff:03:04:05");
  EXPECT_TRUE(Mac{}.none());
}

TEST(Ports, NamesAndNumbersMatch) {
  EXPECT_EQ(port_text(80), "http");
  EXPECT_EQ(port_text(8080), "8080");
  EXPECT_EQ(port_of("domain"), 53);
  EXPECT_EQ(port_text(53), "dns");
  EXPECT_FALSE(port_of("HTTP"));
  for (std::uint32_t port = 0; port <= 65535; ++port)
    if (const auto name = port_name(static_cast<std::uint16_t>(port))) {
      EXPECT_EQ(port_of(*name), port);
    }
}

}  // namespace
}  // namespace headgate
