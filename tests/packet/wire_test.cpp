// SPDX-License-Identifier: Apache-2.0
// The writer and the reader of packets against octets taken from the RFCs, and against each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/packet/wire.h"

namespace headgate::testing {
namespace {

constexpr std::string_view kOne = "2001:db8::1", kTwo = "2001:db8::2";

Bytes octets(std::string_view text) {
  return {text.begin(), text.end()};
}

// RFC 1071, section 3: the words 0001 f203 f4f5 f6f7 add up to ddf2.
TEST(Wire, ChecksumsLikeTheExampleOfItsRfc) {
  EXPECT_EQ(internet_checksum({0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7}), 0x220d);
  EXPECT_EQ(internet_checksum({0x12}), 0xedff);
}

TEST(Wire, WritesUdpOverIpv4) {
  EXPECT_EQ(ip("192.0.2.1", "192.0.2.2").udp(1, 2, "hi").datagram(),
            (Bytes{0x45, 0,   0, 30, 0, 0, 0, 0, 64, 17, 0xf6, 0xcb, 192,  0,   2,
                   1,    192, 0, 2,  2, 0, 1, 0, 2,  0,  10,   0x13, 0x6a, 'h', 'i'}));
}

TEST(Wire, WritesIpv6WithItsExtensionsInOrder) {
  const Packet packet = ip(kOne, kTwo)
                            .udp(7, 9)
                            .classed(0xab, 0x12345)
                            .with_extension(0, {0, 0, 1, 4, 0, 0, 0, 0})
                            .with_extension(60, {0, 0, 1, 4, 0, 0, 0, 0});
  const Bytes out = packet.datagram();
  EXPECT_EQ(slice(out, 0, 8), (Bytes{0x6a, 0xb1, 0x23, 0x45, 0, 24, 0, 64}));
  EXPECT_EQ(out[40], 60) << "the hop-by-hop header is followed by destination options";
  EXPECT_EQ(out[48], kUdp) << "which are followed by the transport";
  EXPECT_EQ(out.size(), 40u + 16u + 8u);
}

// RFC 768: a sum of zero is sent as all ones; RFC 8200, 8.1: IPv6 has no "none".
TEST(Wire, SendsAUdpChecksumOfZeroAsAllOnes) {
  Packet packet = ip(kOne, kTwo).udp(0, 0, "ab");
  for (unsigned port = 0; port <= 0xffff; ++port) {
    packet.source_port = static_cast<std::uint16_t>(port);
    const Bytes out = packet.datagram();
    if (get16(out, 46) != 0xffff) continue;
    EXPECT_TRUE(decode(packet.in(1).bytes));
    return;
  }
  FAIL() << "one port of all makes the sum zero";
}

TEST(Wire, ReadsNoneForAUdpChecksumOfZeroOverIpv4Only) {
  const auto read = decode(ip("192.0.2.1", "192.0.2.2").udp(1, 2, "x").with_checksum(0).in(1).bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->checksum, 0);
  EXPECT_FALSE(decode(ip(kOne, kTwo).udp(1, 2, "x").with_checksum(0).in(1).bytes));
}

TEST(Wire, ReadsWhatItWrote) {
  const std::vector<Packet> packets = {
      ip("192.0.2.1", "192.0.2.2").tcp(1, 2, kSyn, "data").seq(7).ack(8).with_options({2, 4, 5, 0xb4}),
      ip("192.0.2.1", "192.0.2.2").udp(1, 2).id(77).fragmented(kDontFragment),
      ip("192.0.2.1", "192.0.2.2").udp(1, 2, "x").with_ip_options({1, 1, 1, 0}),
      ip("192.0.2.1", "192.0.2.2").icmp(8, 0, 0x10001, "ping"),
      ip("192.0.2.1", "192.0.2.2").carrying(47, octets("tunnel")),
      ip(kOne, kTwo).tcp(1, 2, kAck, "data").ttl(1).classed(1, 2),
      ip(kOne, kTwo).udp(1, 2, "x").with_extension(43, {0, 0, 4, 0, 0, 0, 0, 0}),
      ip(kOne, kTwo).icmp(128, 0, 1, "ping"),
  };
  for (const Packet& packet : packets) {
    SCOPED_TRACE(describe(packet));
    const auto read = decode(packet.in(1).bytes);
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, packet);
  }
}

TEST(Wire, ReadsNothingWhenAnyOctetOfAHeaderIsWrong) {
  for (const Packet& packet : {ip("192.0.2.1", "192.0.2.2").udp(1, 2, "x"), ip(kOne, kTwo).udp(1, 2, "x")}) {
    const Wire good = packet.in(1);
    const std::size_t first = packet.is_ipv6() ? 14 + 8 : 14;  // IPv6 has no checksum over its other fields
    for (std::size_t at = first; at < good.bytes.size(); ++at) {
      Wire bad = good;
      bad.bytes[at] ^= 0x10;
      EXPECT_FALSE(decode(bad.bytes)) << "octet " << at;
    }
    EXPECT_FALSE(decode(slice(good.bytes, 0, good.bytes.size() - 1)));
  }
}

TEST(Wire, AnIcmpErrorCarriesTheBeginningOfItsPacket) {
  const Packet lost = ip("192.0.2.1", "192.0.2.2").tcp(40000, 80, kSyn, "data");
  const Packet error = ip("192.0.2.254", "192.0.2.1").icmp(3, 4, 1400).about(lost);
  EXPECT_EQ(error.payload.size(), 28u);
  const Bytes whole = lost.datagram();
  EXPECT_EQ(octets(error.payload), slice(whole, 0, 28));
  const Packet lost6 = ip(kOne, kTwo).udp(1, 2, "data");
  EXPECT_EQ(ip(kTwo, kOne).icmp(1, 4).about(lost6, 1000).payload.size(), 40u + 12u);
  EXPECT_EQ(ip(kTwo, kOne).icmp(1, 4).protocol, kIcmp6);
}

TEST(Wire, FragmentsAreThePartsOfTheDatagram) {
  for (const Packet& packet : {ip("192.0.2.1", "192.0.2.2").udp(1, 2, "0123456789abcdefgh"),
                               ip(kOne, kTwo).udp(1, 2, "0123456789abcdefgh")}) {
    const auto parts = packet.fragments(16, 99);
    ASSERT_EQ(parts.size(), 2u);
    EXPECT_EQ(parts[0].fragment, kMoreFragments);
    EXPECT_EQ(parts[1].fragment, 2);
    std::string joined;
    for (const Packet& part : parts) {
      const auto read = decode(part.in(1).bytes);
      ASSERT_TRUE(read) << describe(part);
      EXPECT_EQ(*read, part);
      EXPECT_EQ(read->identification, 99u);
      joined += part.payload;
    }
    EXPECT_EQ(packet.carrying(kUdp, octets(joined)).datagram(), packet.datagram());
  }
  const auto atomic = ip(kOne, kTwo).udp(1, 2, "x").id(5);
  Packet marked = atomic;
  marked.fragment_header = true;
  EXPECT_EQ(marked.datagram().size(), atomic.datagram().size() + 8);
  EXPECT_EQ(decode(marked.in(1).bytes), marked);
}

TEST(Wire, TellsInOneLine) {
  EXPECT_EQ(describe(ip("10.0.0.1", "10.0.0.2").tcp(40000, 80, kSyn).seq(1)),
            "10.0.0.1:40000 > 10.0.0.2:80 S seq 1 ack 0 ttl 64 len 0");
  EXPECT_EQ(describe(ip(kOne, kTwo).udp(1, 2, "abc")), "[2001:db8::1]:1 > [2001:db8::2]:2 udp ttl 64 len 3");
  EXPECT_EQ(describe(ip(kOne, kTwo).icmp(2, 0, 1280)),
            "2001:db8::1 > 2001:db8::2 icmp 2/0 rest 1280 ttl 64 len 0");
}

TEST(Wire, TellsWhereTwoFramesDiffer) {
  const Wire one = ip("10.0.0.1", "10.0.0.2").tcp(40000, 80, kSyn).in(1);
  EXPECT_EQ(differences(one, one), "");
  Wire other = one;
  other.bytes[22] = 63;
  other.port = 2;
  EXPECT_EQ(differences(one, other), "port 2 not 1\nIP octet 22: 3f not 40\n");
}

}  // namespace
}  // namespace headgate::testing
