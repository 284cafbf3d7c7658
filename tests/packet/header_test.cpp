// SPDX-License-Identifier: Apache-2.0
// Headers that lie, options and extension headers, checksums of UDP: each refused by its own name, or passed
// on right (reports 86, 88).
#include <algorithm>
#include <array>
#include <memory>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/packet/beds.h"

namespace headgate::testing {
namespace {

using core::Fate;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class HeaderTest : public ::testing::TestWithParam<const Bed*> {
 protected:
  [[nodiscard]] Packet query(std::string_view payload = "query") const {
    return ip(bed.client, bed.vip).udp(40000, 53, payload);
  }
  [[nodiscard]] Packet at_server(Packet packet) const {
    packet.destination = host(bed.server);
    packet.destination_port = packet.protocol == kUdp ? 5353 : 8080;
    return packet.ttl(static_cast<std::uint8_t>(packet.time_to_live - 1));
  }
  [[nodiscard]] Packet at_client(Packet packet) const {
    packet.source = host(bed.vip);
    packet.source_port = packet.protocol == kUdp ? 53 : 80;
    return packet.ttl(static_cast<std::uint8_t>(packet.time_to_live - 1));
  }
  void expect_dropped(const Wire& frame, Fate fate) {
    EXPECT_THAT(bench.pass(frame), IsEmpty());
    EXPECT_EQ(bench.fates(), (Fates{{fate, 1}}));
    EXPECT_EQ(bench.sessions(), 0u);
  }
  static Wire with16(Wire frame, std::size_t at, std::uint16_t value) {
    set16(frame.bytes, at, value);
    return frame;
  }
  [[nodiscard]] std::size_t l4() const { return bed.v6 ? 54 : 34; }

  const Bed& bed = *GetParam();
  Bench bench{dns(bed)};
};
INSTANTIATE_TEST_SUITE_P(Families, HeaderTest, ::testing::Values(&kBed4, &kBed6), family_name);

TEST_P(HeaderTest, ALandPacketIsDropped) {
  expect_dropped(ip(bed.vip, bed.vip).tcp(80, 80, kSyn).in(kClientPort), Fate::drop_land);
  expect_dropped(ip(bed.vip, bed.vip).udp(53, 53, "x").in(kClientPort), Fate::drop_land);
}

TEST_P(HeaderTest, TcpWithoutFlagsIsDropped) {
  expect_dropped(ip(bed.client, bed.vip).tcp(40000, 80, 0).in(kClientPort), Fate::drop_no_flags);
}

TEST_P(HeaderTest, AUdpLengthThatCannotBeIsDropped) {
  const Wire frame = query().in(kClientPort);
  for (const std::uint16_t length : {0, 7, 14, 1500, 65535})
    expect_dropped(with16(frame, l4() + 4, length), Fate::drop_udp_length);
}

TEST_P(HeaderTest, UdpShorterThanItsDatagramPasses) {
  bench.from_client(query());  // makes the neighbours known, which such a frame can't
  const Wire frame = query().in(kClientPort);
  EXPECT_EQ(bench.pass(with16(frame, l4() + 4, 10)).size(), 1u) << "options of RFC 9868 may follow it";
}

TEST_P(HeaderTest, EveryTruncationOfADatagramIsDropped) {
  const Wire whole = query().in(kClientPort);
  for (std::size_t length = 14; length < whole.bytes.size(); ++length)
    expect_dropped({kClientPort, slice(whole.bytes, 0, length)}, Fate::drop_truncated);
}

TEST_P(HeaderTest, EveryUdpChecksumIsCorrectedInBothDirections) {
  bench.from_client(query());
  // A word of the payload takes every value, and so does the checksum: 0x0000 is sent as 0xffff.
  for (unsigned word = 0; word < 65536; word += 1) {
    const std::string payload = {static_cast<char>(word >> 8), static_cast<char>(word)};
    const Packet there = query(payload);
    ASSERT_THAT(bench.from_client(there), ElementsAre(at_server(there).out(kServerPort))) << word;
    if (word % 4 != 0) continue;
    const Packet back = ip(bed.server, bed.client).udp(5353, 40000, payload);
    ASSERT_THAT(bench.from_server(back), ElementsAre(at_client(back).out(kClientPort))) << word;
  }
}

TEST_P(HeaderTest, TranslationEqualsRecomputationForRandomTuples) {
  std::mt19937 random(86);
  Bench many(dns(bed), {.sessions = 16384});
  for (int round = 0; round < 10'000; ++round) {
    Packet there = query(std::string(random() % 32, static_cast<char>(random())));
    // Any client but one of the bed's own hosts, which the routes would send elsewhere.
    there.source.octets[13] = static_cast<std::uint8_t>(1 + random() % 9);
    there.source.octets[14] = static_cast<std::uint8_t>(random() % 250 + 3);
    there.source.octets[15] = static_cast<std::uint8_t>(random());
    there.source_port = static_cast<std::uint16_t>(random() % 65535 + 1);
    if (round % 2 == 0)
      there = ip(there.source, there.destination).tcp(there.source_port, 80, kSyn, there.payload);
    there.hop = host(bed.gateway);
    const auto sent = many.from_client(there);
    ASSERT_EQ(sent.size(), 1u);
    Packet expected = at_server(there);
    expected.hop.reset();
    ASSERT_EQ(sent[0], expected.out(kServerPort)) << round;
  }
}

// ---- Lengths that lie, in packets of open sessions

/// What a short frame says of itself.
struct Claims {
  std::size_t size = 0;       ///< of the frame, which is the truth
  std::size_t datagram = 0;   ///< from the IP header on
  std::size_t transport = 0;  ///< the header of TCP, or all of UDP
};

class LyingLengths : public HeaderTest {
 protected:
  void SetUp() override {
    Connection::open(bench, 40000, bed.client, bed.vip);
    bench.from_client(query());
    bench.from_server(ip(bed.server, bed.client).udp(5353, 40000, "answer"));
    ASSERT_THAT(bench.states(), ElementsAre("open", "open"));
  }
  [[nodiscard]] std::size_t ip_header() const { return l4() - 14; }
  [[nodiscard]] bool holds(const Claims& claims, bool tcp) const {
    const std::size_t least = tcp ? 20 : 8;
    return claims.datagram + 14 <= claims.size && claims.transport >= least &&
           ip_header() + claims.transport <= claims.datagram;
  }
  [[nodiscard]] Bytes frame(const Packet& packet, const Claims& claims) const {
    Bytes bytes = packet.in(kClientPort).bytes;
    if (bed.v6) {
      set16(bytes, 18, static_cast<std::uint16_t>(claims.datagram - ip_header()));
    } else {
      set16(bytes, 16, static_cast<std::uint16_t>(claims.datagram));
      set16(bytes, 24, 0);
      set16(bytes, 24, internet_checksum(slice(bytes, 14, 34)));
    }
    if (packet.protocol == kTcp)
      bytes[l4() + 12] = static_cast<std::uint8_t>(claims.transport / 4 << 4);
    else
      set16(bytes, l4() + 4, static_cast<std::uint16_t>(claims.transport));
    bytes.resize(claims.size);
    return bytes;
  }
  /// Whether it is sent. It lies in a buffer of its own size, so that the address sanitizer sees any byte
  /// read beyond.
  [[nodiscard]] bool passes(const Bytes& bytes) {
    const auto buffer = std::make_unique<std::uint8_t[]>(bytes.size());
    std::ranges::copy(bytes, buffer.get());
    const auto size = static_cast<std::uint16_t>(bytes.size());
    std::array<core::Frame, 1> frames{core::Frame{.data = buffer.get(), .length = size, .capacity = size}};
    core::Spares none;
    bench.worker().process(frames, none, *bench.generation, bench.now);
    const bool sent = frames[0].action == core::Action::transmit;
    EXPECT_TRUE(sent || std::equal(bytes.begin(), bytes.end(), buffer.get()));
    return sent;
  }
  void expect_truth_alone(const Packet& packet, std::size_t unit) {
    std::size_t passed = 0;
    for (Claims claims; claims.size <= l4() + 46; ++claims.size) {
      for (claims.datagram = bed.v6 ? 40 : 0; claims.datagram <= claims.size; ++claims.datagram) {
        for (claims.transport = 0; claims.transport < 60; claims.transport += unit) {
          const bool sent = passes(frame(packet, claims));
          ASSERT_EQ(sent, holds(claims, packet.protocol == kTcp))
              << claims.size << " bytes say " << claims.datagram << " and " << claims.transport;
          passed += sent ? 1 : 0;
        }
      }
    }
    EXPECT_GT(passed, 100u);
  }
};
INSTANTIATE_TEST_SUITE_P(Families, LyingLengths, ::testing::Values(&kBed4, &kBed6), family_name);

TEST_P(LyingLengths, OfTcpAreNotBelieved) {
  expect_truth_alone(ip(bed.client, bed.vip).tcp(40000, 80, kAck, std::string(60, 'x')).seq(1001), 4);
}
TEST_P(LyingLengths, OfUdpAreNotBelieved) {
  expect_truth_alone(query(std::string(60, 'x')), 1);
}

// ---- IPv4

class Header4 : public ::testing::Test {
 protected:
  const Packet query = ip(kBed4.client, kBed4.vip).udp(40000, 53, "query");
  const Packet at_server = ip(kBed4.client, kBed4.server).udp(40000, 5353, "query").ttl(63);
  Bench bench{dns(kBed4)};
};

TEST_F(Header4, AUdpChecksumOfZeroPassesAndStaysZero) {
  EXPECT_THAT(bench.from_client(query.with_checksum(0)),
              ElementsAre(at_server.with_checksum(0).out(kServerPort)));
}

TEST_F(Header4, OptionsPass) {
  const Bytes router_alert = {148, 4, 0, 0};
  EXPECT_THAT(bench.from_client(query.with_ip_options(router_alert)),
              ElementsAre(at_server.with_ip_options(router_alert).out(kServerPort)));
}

TEST_F(Header4, SourceRoutesAndOptionsThatLieAreDropped) {
  EXPECT_THAT(bench.from_client(query.with_ip_options({131, 7, 4, 10, 0, 0, 1, 0})), IsEmpty());
  EXPECT_THAT(bench.from_client(query.with_ip_options({137, 7, 4, 10, 0, 0, 1, 0})), IsEmpty());
  EXPECT_EQ(bench.fates(), (Fates{{Fate::drop_source_route, 2}}));
  EXPECT_THAT(bench.from_client(query.with_ip_options({7, 1, 0, 0})), IsEmpty());
  EXPECT_THAT(bench.from_client(query.with_ip_options({7, 9, 4, 0})), IsEmpty());
  EXPECT_EQ(bench.fates(), (Fates{{Fate::drop_bad_header, 2}}));
}

TEST_F(Header4, SourceRoutesForOthersAreTheKernelsMatter) {
  const Packet other = ip(kBed4.client, "10.10.1.5").udp(40000, 53, "x");
  EXPECT_THAT(bench.from_client(other.with_ip_options({131, 7, 4, 10, 0, 0, 1, 0})), IsEmpty());
  EXPECT_EQ(bench.fates(), (Fates{{Fate::punt, 1}}));
}

TEST_F(Header4, AWrongHeaderChecksumIsDropped) {
  Wire frame = query.in(kClientPort);
  frame.bytes[24] ^= 1;
  EXPECT_THAT(bench.pass(frame), IsEmpty());
  EXPECT_EQ(bench.fates(), (Fates{{Fate::drop_bad_checksum, 1}}));
}

// ---- IPv6

class Header6 : public ::testing::Test {
 protected:
  const Packet query = ip(kBed6.client, kBed6.vip).udp(40000, 53, "query");
  const Packet at_server = ip(kBed6.client, kBed6.server).udp(40000, 5353, "query").ttl(63);
  const Bytes options = {0, 0, 1, 4, 0, 0, 0, 0};  // one PadN
  Bench bench{dns(kBed6)};
};

TEST_F(Header6, AUdpChecksumOfZeroIsDropped) {
  EXPECT_THAT(bench.from_client(query.with_checksum(0)), IsEmpty());
  EXPECT_EQ(bench.fates(), (Fates{{Fate::drop_udp_checksum, 1}}));
}

TEST_F(Header6, ExtensionHeadersPass) {
  const auto extended = [&](const Packet& packet) {
    return packet.with_extension(0, options).with_extension(60, options).with_extension(60, options);
  };
  EXPECT_THAT(bench.from_client(extended(query)), ElementsAre(extended(at_server).out(kServerPort)));
}

TEST_F(Header6, AnAtomicFragmentIsAWholePacket) {
  Packet atomic = query, expected = at_server;
  atomic.fragment_header = expected.fragment_header = true;
  atomic.identification = expected.identification = 5;
  EXPECT_THAT(bench.from_client(atomic), ElementsAre(expected.out(kServerPort)));
  EXPECT_EQ(bench.worker().fragments().totals().datagrams.get(), 0u);
}

TEST_F(Header6, RoutingHeadersOfTypeZeroOrUnfinishedAreDropped) {
  EXPECT_THAT(bench.from_client(query.with_extension(43, {0, 0, 0, 0, 0, 0, 0, 0})), IsEmpty());
  EXPECT_THAT(bench.from_client(query.with_extension(43, {0, 0, 4, 1, 0, 0, 0, 0})), IsEmpty());
  EXPECT_EQ(bench.fates(), (Fates{{Fate::drop_source_route, 2}}));
}

TEST_F(Header6, MoreExtensionHeadersThanTheBoundAreDropped) {
  Packet packet = query;
  for (int i = 0; i < 9; ++i) packet = packet.with_extension(60, options);
  EXPECT_THAT(bench.from_client(packet), IsEmpty());
  EXPECT_EQ(bench.fates(), (Fates{{Fate::drop_extensions, 1}}));
}

TEST_F(Header6, ExtensionHeadersThatLieAreDropped) {
  EXPECT_THAT(bench.from_client(query.with_extension(60, {0, 0, 1, 9, 0, 0, 0, 0})), IsEmpty());
  EXPECT_THAT(bench.from_client(query.with_extension(60, options).with_extension(0, options)), IsEmpty());
  EXPECT_EQ(bench.fates(), (Fates{{Fate::drop_bad_header, 2}}));
}

}  // namespace
}  // namespace headgate::testing
