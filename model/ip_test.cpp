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

TEST(Ip, HoldsEitherFamily) {
  EXPECT_EQ(Ip::parse("10.1.2.3"), Ip(Ipv4{0x0a010203}));
  EXPECT_EQ(Ip::parse("::ffff:10.1.2.3")->text(), "10.1.2.3");
  EXPECT_EQ(Ip::parse("2001:DB8:0:0:0:1:0:00f")->text(), "2001:db8::1:0:f");
  EXPECT_TRUE(Ip(Ipv4{}).none());
  EXPECT_TRUE(Ip::parse("::")->none());
  EXPECT_EQ(Ip{}.text(), "0.0.0.0");
  EXPECT_EQ(Ip::parse("10.1.2.3")->v4(), Ipv4{0x0a010203});
  EXPECT_EQ(Ip::parse("fe80::1")->v4(), Ipv4{});
  for (const char* wrong : {"", "1.2.3", "1::2::3", "12345::", "fe80::1%eth0", ":", "::1 ",
                            "1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa"})
    EXPECT_EQ(Ip::parse(wrong), std::nullopt) << wrong;
}

TEST(Ip, ComesBackFromItsBytes) {
  for (const char* text : {"0.0.0.0", "192.0.2.255", "2001:db8::1", "::1"}) {
    const Ip address = *Ip::parse(text);
    EXPECT_EQ(Ip::from_wire(address.wire()), address) << text;
  }
  EXPECT_EQ(Ip(Ipv4{0x0a010203}).wire(), "\x0a\x01\x02\x03");
  EXPECT_EQ(Ip::from_wire("12345"), std::nullopt);
}

TEST(Ip, OnlyAddressesThatOthersReachAreAHosts) {
  for (const char* good : {"10.0.0.1", "223.255.255.255", "2001:db8::1", "fd00::1", "fec0::1"})
    EXPECT_TRUE(Ip::parse(good)->is_host()) << good;
  for (const char* bad :
       {"0.0.0.1", "127.0.0.1", "224.0.0.1", "255.255.255.255", "::", "::1", "fe80::1", "febf::1", "ff02::1"})
    EXPECT_FALSE(Ip::parse(bad)->is_host()) << bad;
}

// RFC 3986, 3.2.2.
TEST(Ip, EndpointsOfIpv6AreInBrackets) {
  EXPECT_EQ(endpoint_text(*Ip::parse("10.0.0.1"), 80), "10.0.0.1:80");
  EXPECT_EQ(endpoint_text(*Ip::parse("2001:db8::1"), 80), "[2001:db8::1]:80");
}

TEST(Ip, PrefixesAreOfTheirFamily) {
  EXPECT_TRUE(same_prefix(*Ip::parse("2001:db8:1::1"), *Ip::parse("2001:db8:1::ffff"), 64));
  EXPECT_FALSE(same_prefix(*Ip::parse("2001:db8:1::1"), *Ip::parse("2001:db8:2::1"), 64));
  EXPECT_FALSE(same_prefix(*Ip::parse("10.0.0.1"), *Ip::parse("2001:db8::1"), 0));

  EXPECT_EQ(prefix_of(*Ip::parse("10.255.255.255"), 9).text(), "10.128.0.0");
  EXPECT_TRUE(prefix_of(*Ip::parse("10.1.1.1"), 0).is_v4());
  EXPECT_EQ(prefix_of(*Ip::parse("10.1.1.1"), 32).text(), "10.1.1.1");
  EXPECT_EQ(prefix_of(*Ip::parse("2001:db8:ffff::1"), 33).text(), "2001:db8:8000::");
  EXPECT_EQ(prefix_of(*Ip::parse("2001:db8::1"), 128).text(), "2001:db8::1");
}

}  // namespace
}  // namespace headgate
