// SPDX-License-Identifier: Apache-2.0
// ICMP errors, translated and built, without a switch around them: whole frames, against the plain writer.
#include <memory>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "dataplane/core/icmp_answer.h"
#include "dataplane/core/icmp_error.h"
#include "tests/packet/wire.h"

namespace headgate::testing {
namespace {

using core::Complaint;
using core::Frame;
using core::HeaderFault;
using core::IcmpKind;
using core::IpHeader;

constexpr unsigned kPort = 1;

/// A frame in a buffer of exactly its capacity.
struct Loaded {
  std::unique_ptr<std::uint8_t[]> buffer;
  Frame frame;
  IpHeader header;
  HeaderFault fault;

  explicit Loaded(const Bytes& bytes, std::size_t room = 0)
      : buffer(std::make_unique<std::uint8_t[]>(bytes.size() + room)) {
    std::copy(bytes.begin(), bytes.end(), buffer.get());
    frame.data = buffer.get();
    frame.length = static_cast<std::uint16_t>(bytes.size());
    frame.capacity = static_cast<std::uint16_t>(bytes.size() + room);
    fault = core::read_ip(frame.data + 14, bytes.size() - 14, core::Extent::whole, header);
  }
  [[nodiscard]] Bytes bytes() const { return {frame.data, frame.data + frame.length}; }
};

/// The two families' addresses of one bed.
struct Family {
  Ip client, vip, real, router;
  std::uint8_t unreachable, too_big_type, too_big_code;
};
const Family kV4{host("10.10.1.10"), host("10.10.1.100"), host("10.10.2.11"), host("10.10.2.1"), 3, 3, 4};
const Family kV6{
    host("2001:db8:1::10"), host("2001:db8:1::100"), host("2001:db8:2::11"), host("2001:db8:2::1"), 1, 2, 0};

Packet transport(const Ip& from, const Ip& to, std::uint8_t protocol, std::uint16_t source_port,
                 std::uint16_t destination_port, std::string_view payload) {
  const Packet packet = ip(from, to);
  return protocol == kTcp ? packet.tcp(source_port, destination_port, kAck, payload)
                          : packet.udp(source_port, destination_port, payload);
}

// Without the Ethernet header, which translate() leaves alone.
Bytes below_ethernet(const Bytes& bytes) {
  return slice(bytes, 14, bytes.size());
}

// How much of a transport header is quoted. 17 bytes would cut TCP's checksum into halves.
std::size_t a_quote(std::size_t number) {
  const std::size_t quote = 8 + number % 60;
  return quote == 17 ? 18 : quote;
}

class IcmpPure : public ::testing::TestWithParam<const Family*> {
 protected:
  const Family& family = *GetParam();
};
INSTANTIATE_TEST_SUITE_P(Families, IcmpPure, ::testing::Values(&kV4, &kV6),
                         [](const auto& one) { return one.param == &kV4 ? "ipv4" : "ipv6"; });

// What the server side says about a packet of the client.
TEST_P(IcmpPure, TranslatesWhatIsSaidAboutTheClientsPacketForRandomTuples) {
  std::mt19937 random(86);
  const auto port = [&] { return static_cast<std::uint16_t>(random()); };
  for (int round = 0; round < 10'000; ++round) {
    const std::uint8_t protocol = random() % 2 == 0 ? kTcp : kUdp;
    const std::string payload(random() % 40, static_cast<char>(random()));
    const std::uint16_t client_port = port(), vport = port(), rport = port();
    const Packet sent = transport(family.client, family.vip, protocol, client_port, vport, payload);
    const Packet seen = transport(family.client, family.real, protocol, client_port, rport, payload);
    const std::size_t quote = a_quote(random());
    const Packet error =
        ip(family.router, family.client).icmp(family.too_big_type, family.too_big_code, 1400);

    Loaded loaded(error.about(seen, quote).in(kPort).bytes);
    core::IcmpError found;
    ASSERT_EQ(core::read_icmp(loaded.frame, loaded.header, found), IcmpKind::error);
    EXPECT_EQ(found.about, (core::FlowKey{family.client, family.real, client_port, rport}));
    translate(loaded.frame, loaded.header, found, {family.vip, vport}, false);
    const Packet expected = ip(family.vip, family.client)
                                .icmp(family.too_big_type, family.too_big_code, 1400)
                                .about(sent, quote)
                                .ttl(63);
    ASSERT_EQ(below_ethernet(loaded.bytes()), expected.datagram()) << round;
  }
}

// What the client side says about a packet of the server.
TEST_P(IcmpPure, TranslatesWhatIsSaidAboutTheServersPacketForRandomTuples) {
  std::mt19937 random(87);
  const auto port = [&] { return static_cast<std::uint16_t>(random()); };
  for (int round = 0; round < 10'000; ++round) {
    const std::uint8_t protocol = random() % 2 == 0 ? kTcp : kUdp;
    const std::string payload(random() % 40, static_cast<char>(random()));
    const std::uint16_t client_port = port(), vport = port(), rport = port();
    const Packet sent = transport(family.real, family.client, protocol, rport, client_port, payload);
    const Packet seen = transport(family.vip, family.client, protocol, vport, client_port, payload);
    const std::size_t quote = a_quote(random());
    const Packet error = ip(family.client, family.vip).icmp(family.unreachable, 3);

    Loaded loaded(error.about(seen, quote).in(kPort).bytes);
    core::IcmpError found;
    ASSERT_EQ(core::read_icmp(loaded.frame, loaded.header, found), IcmpKind::error);
    translate(loaded.frame, loaded.header, found, {family.real, rport}, true);
    const Packet expected =
        ip(family.client, family.real).icmp(family.unreachable, 3).about(sent, quote).ttl(63);
    ASSERT_EQ(below_ethernet(loaded.bytes()), expected.datagram()) << round;
  }
}

// Every result that a quoted checksum may have, 0x0000 (which UDP sends as 0xffff) among them.
TEST(IcmpPure4, QuotedChecksumsAreRightForEveryResult) {
  for (unsigned word = 0; word < 65536; ++word) {
    const auto client_port = static_cast<std::uint16_t>(word);
    const Packet sent = ip(kV4.client, kV4.vip).udp(client_port, 53);
    const Packet seen = ip(kV4.client, kV4.real).udp(client_port, 5353);
    Loaded loaded(ip(kV4.real, kV4.client).icmp(3, 3).about(seen).in(kPort).bytes);
    core::IcmpError found;
    ASSERT_EQ(core::read_icmp(loaded.frame, loaded.header, found), IcmpKind::error);
    translate(loaded.frame, loaded.header, found, {kV4.vip, 53}, false);
    const Packet expected = ip(kV4.vip, kV4.client).icmp(3, 3).about(sent).ttl(63);
    ASSERT_EQ(below_ethernet(loaded.bytes()), expected.datagram()) << word;
  }
}

TEST(IcmpPure4, AQuotedUdpChecksumOfZeroStaysZero) {
  const Packet sent = ip(kV4.client, kV4.vip).udp(40000, 53, "x").with_checksum(0);
  const Packet seen = ip(kV4.client, kV4.real).udp(40000, 5353, "x").with_checksum(0);
  Loaded loaded(ip(kV4.real, kV4.client).icmp(3, 3).about(seen).in(kPort).bytes);
  core::IcmpError found;
  ASSERT_EQ(core::read_icmp(loaded.frame, loaded.header, found), IcmpKind::error);
  translate(loaded.frame, loaded.header, found, {kV4.vip, 53}, false);
  EXPECT_EQ(below_ethernet(loaded.bytes()),
            ip(kV4.vip, kV4.client).icmp(3, 3).about(sent).ttl(63).datagram());
}

TEST(IcmpPure4, OptionsOfBothHeadersArePassedOver) {
  const Bytes options = {7, 7, 4, 0, 0, 0, 0, 0};
  const Packet sent = ip(kV4.client, kV4.vip).tcp(40000, 80, kAck, "xx").with_ip_options(options);
  const Packet seen = ip(kV4.client, kV4.real).tcp(40000, 8080, kAck, "xx").with_ip_options(options);
  const auto error = [&](const Ip& from, const Packet& about) {
    return ip(from, kV4.client).icmp(11, 0).about(about, 20).with_ip_options({148, 4, 0, 0});
  };
  Loaded loaded(error(kV4.router, seen).in(kPort).bytes);
  core::IcmpError found;
  ASSERT_EQ(core::read_icmp(loaded.frame, loaded.header, found), IcmpKind::error);
  translate(loaded.frame, loaded.header, found, {kV4.vip, 80}, false);
  EXPECT_EQ(below_ethernet(loaded.bytes()), error(kV4.vip, sent).ttl(63).datagram());
}

TEST_P(IcmpPure, OnlyErrorsAboutTcpAndUdpAreTheSwitchs) {
  const Packet about = ip(family.client, family.real).udp(40000, 53);
  const auto kind = [&](const Packet& message) {
    Loaded loaded(message.in(kPort).bytes);
    core::IcmpError found;
    return core::read_icmp(loaded.frame, loaded.header, found);
  };
  const bool v6 = family.client.is_v4() == false;
  const Packet to_client = ip(family.real, family.client);
  EXPECT_EQ(kind(to_client.icmp(v6 ? 128 : 8, 0, 7, "ping")), IcmpKind::other);
  EXPECT_EQ(kind(to_client.icmp(v6 ? 135 : 13, 0).about(about)), IcmpKind::other);
  EXPECT_EQ(kind(to_client.icmp(family.unreachable, 3).about(ip(family.client, family.real).icmp(8, 0))),
            IcmpKind::other);
  EXPECT_EQ(kind(to_client.icmp(v6 ? 137 : 5, 0).about(about)), IcmpKind::refused) << "redirect";
  if (!v6) {
    EXPECT_EQ(kind(to_client.icmp(4, 0).about(about)), IcmpKind::refused) << "source quench";
  }
}

TEST_P(IcmpPure, RefusesWhatQuotesTooLittleOrSomebodyElsesPacket) {
  const Packet about = ip(family.client, family.real).udp(40000, 53, "data");
  const auto kind = [&](const Packet& message) {
    Loaded loaded(message.in(kPort).bytes);
    core::IcmpError found;
    return core::read_icmp(loaded.frame, loaded.header, found);
  };
  const Packet error = ip(family.real, family.client).icmp(family.unreachable, 3);
  EXPECT_EQ(kind(error.about(about, 8)), IcmpKind::error);
  for (std::size_t quote = 0; quote < 8; ++quote)
    EXPECT_EQ(kind(error.about(about, quote)), IcmpKind::malformed);
  EXPECT_EQ(kind(error), IcmpKind::malformed) << "quotes nothing";
  EXPECT_EQ(kind(error.about(ip(family.vip, family.real).udp(40000, 53))), IcmpKind::malformed)
      << "was not sent by the error's receiver";
  EXPECT_EQ(kind(error.about(about).with_checksum(0x1234)), IcmpKind::checksum);
  EXPECT_EQ(kind(error.about(about.fragments(8, 1)[1], 8)), IcmpKind::malformed)
      << "a later fragment has no ports";
  EXPECT_EQ(kind(error.about(ip(family.vip == kV4.vip ? kV6.client : kV4.client,
                                family.vip == kV4.vip ? kV6.real : kV4.real)
                                 .udp(1, 2))),
            IcmpKind::malformed)
      << "of the other family";
}

TEST_P(IcmpPure, EveryTruncationOfAnErrorIsRefusedAndNothingOutsideIsTouched) {
  const Packet seen = ip(family.client, family.real).tcp(40000, 8080, kAck, "data");
  const Packet whole = ip(family.real, family.client).icmp(family.unreachable, 3).about(seen, 24);
  const std::size_t size = whole.payload.size();
  for (std::size_t cut = 0; cut <= size; ++cut) {
    Packet shorter = whole;
    shorter.payload.resize(cut);
    Loaded loaded(shorter.in(kPort).bytes);
    core::IcmpError found;
    const bool enough = cut >= size - 24 + 8;
    ASSERT_EQ(core::read_icmp(loaded.frame, loaded.header, found),
              enough ? IcmpKind::error : IcmpKind::malformed);
    if (enough) translate(loaded.frame, loaded.header, found, {family.vip, 80}, false);
  }
}

// ---- Answers

TEST_P(IcmpPure, AnswersQuoteThePacketAsItCame) {
  const bool v6 = !family.client.is_v4();
  const Packet packet = ip(family.client, family.vip).udp(40000, 53, "query").ttl(1);
  struct Case {
    Complaint complaint;
    std::uint8_t type, code;
    std::uint32_t rest;
  };
  const std::vector<Case> cases = {
      {Complaint::time_exceeded, std::uint8_t(v6 ? 3 : 11), 0, 0},
      {Complaint::too_big, family.too_big_type, family.too_big_code, 1400},
      {Complaint::port_unreachable, family.unreachable, std::uint8_t(v6 ? 4 : 3), 0}};
  for (const Case& expected : cases) {
    Loaded loaded(packet.in(kPort).bytes, core::kAnswerRoom);
    ASSERT_TRUE(write_answer(loaded.frame, loaded.header, expected.complaint, family.vip, 1400));
    Packet answer =
        ip(family.vip, family.client).icmp(expected.type, expected.code, expected.rest).about(packet, 99);
    if (!v6) answer = answer.classed(0xc0).fragmented(kDontFragment);
    EXPECT_EQ(loaded.bytes(), answer.out(kPort).bytes);
  }
}

TEST_P(IcmpPure, AnswersQuoteNoMoreThanTheRulesAllow) {
  const bool v6 = !family.client.is_v4();
  const Packet packet = ip(family.client, family.vip).udp(40000, 53, std::string(1400, 'x'));
  Loaded loaded(packet.in(kPort).bytes, core::kAnswerRoom);
  ASSERT_TRUE(write_answer(loaded.frame, loaded.header, Complaint::time_exceeded, family.vip, 0));
  EXPECT_EQ(loaded.frame.length, 14 + (v6 ? 1280 : 576));
  ASSERT_TRUE(decode(loaded.bytes())) << "with all checksums right";
}

TEST_P(IcmpPure, AnswersFitIntoWhateverRoomThereIs) {
  const bool v6 = !family.client.is_v4();
  const Packet packet = ip(family.client, family.vip).udp(40000, 53, "query");
  const std::size_t least = (v6 ? 48 : 28) - 5;  // the payload need not be quoted
  for (std::size_t room = 0; room < 60; ++room) {
    Loaded loaded(packet.in(kPort).bytes, room);
    const Bytes before = loaded.bytes();
    const bool fits = write_answer(loaded.frame, loaded.header, Complaint::port_unreachable, family.vip, 0);
    ASSERT_EQ(fits, room >= least) << room;
    ASSERT_LE(loaded.frame.length, loaded.frame.capacity);
    if (!fits) {
      ASSERT_EQ(loaded.bytes(), before);
    }
  }
}

TEST(IcmpPure6, NoMtuBelowTheLeastOfIpv6IsTold) {
  const Packet packet = ip(kV6.client, kV6.vip).udp(40000, 53, "query");
  Loaded loaded(packet.in(kPort).bytes, core::kAnswerRoom);
  ASSERT_TRUE(write_answer(loaded.frame, loaded.header, Complaint::too_big, kV6.vip, 1000));
  EXPECT_EQ(loaded.bytes(), ip(kV6.vip, kV6.client).icmp(2, 0, 1280).about(packet, 99).out(kPort).bytes);
}

TEST_P(IcmpPure, NeverAnswersWhatMustNotBeAnswered) {
  const auto answerable = [](const Wire& wire) {
    Loaded loaded(wire.bytes);
    EXPECT_EQ(loaded.fault, HeaderFault::none);
    return core::answerable(loaded.frame, loaded.header);
  };
  const Packet good = ip(family.client, family.vip).udp(40000, 53, "sixteen octets..");
  EXPECT_TRUE(answerable(good.in(kPort)));
  EXPECT_TRUE(answerable(good.fragments(8, 1)[0].in(kPort)));
  EXPECT_FALSE(answerable(good.fragments(8, 1)[1].in(kPort))) << "a later fragment";
  EXPECT_FALSE(answerable(ip(family.client, family.vip).icmp(family.unreachable, 3).about(good).in(kPort)));
  Wire broadcast = good.in(kPort);
  std::fill_n(broadcast.bytes.begin(), 6, std::uint8_t{0xff});
  EXPECT_FALSE(answerable(broadcast)) << "for more than one host";
  const std::vector<std::string_view> nobody =
      family.client.is_v4()
          ? std::vector<std::string_view>{"0.0.0.0", "127.0.0.1", "224.0.0.1", "255.255.255.255", "240.0.0.1"}
          : std::vector<std::string_view>{"::", "::1", "ff02::1"};
  for (const auto text : nobody) {
    Packet from = good, to = good;
    from.source = host(text), to.destination = host(text);
    if (host(text).none() && family.client.is_v4()) continue;  // the writer knows no IPv4 "none"
    EXPECT_FALSE(answerable(from.in(kPort))) << text;
    EXPECT_FALSE(answerable(to.in(kPort))) << text;
  }
}

}  // namespace
}  // namespace headgate::testing
