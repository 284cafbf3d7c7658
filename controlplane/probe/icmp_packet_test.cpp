// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/icmp_packet.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace headgate::probe {
namespace {

constexpr Ip kServer = Ipv4{0x0a0a020b};
constexpr Echo kEcho{0x1234, 7, 0x1122334455667788};

std::vector<std::uint8_t> ipv4(std::vector<std::uint8_t> payload, std::array<std::uint8_t, 4> source,
                               std::array<std::uint8_t, 4> destination) {
  std::vector<std::uint8_t> packet(20 + payload.size());
  packet[0] = 0x45;
  packet[8] = 64;
  packet[9] = 1;
  std::ranges::copy(source, packet.begin() + 12);
  std::ranges::copy(destination, packet.begin() + 16);
  std::ranges::copy(payload, packet.begin() + 20);
  return packet;
}

const Ip kServer6 = *Ip::parse("2001:db8:2::11");

/// The reply to kEcho: type 0 makes the sum 0x800 less, so its complement is 0x800 more.
std::vector<std::uint8_t> reply_bytes() {
  const EchoPacket request = echo_request(kEcho, kServer);
  std::vector<std::uint8_t> reply(request.begin(), request.end());
  reply[0] = 0;
  const unsigned sum = (reply[2] << 8 | reply[3]) + 0x800u;
  reply[2] = static_cast<std::uint8_t>(sum >> 8);
  reply[3] = static_cast<std::uint8_t>(sum);
  return reply;
}

TEST(IcmpEcho, RequestIsTheseBytes) {
  EXPECT_EQ(echo_request(kEcho, kServer),
            (EchoPacket{8, 0, 0xd4, 0x6f, 0x12, 0x34, 0, 7, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88}));
}

TEST(IcmpEcho, ReplyIsRead) {
  EXPECT_EQ(read_echo_answer(ipv4(reply_bytes(), {10, 10, 2, 11}, {10, 10, 2, 5})),
            (EchoAnswer{EchoAnswer::What::reply, kServer, kEcho}));
}

TEST(IcmpEcho, ReplyWithABadChecksumIsNothing) {
  auto packet = ipv4(reply_bytes(), {10, 10, 2, 11}, {10, 10, 2, 5});
  packet.back() ^= 1;
  EXPECT_EQ(read_echo_answer(packet), std::nullopt);
}

TEST(IcmpEcho, ARequestIsNoReply) {
  const EchoPacket request = echo_request(kEcho, kServer);
  EXPECT_EQ(read_echo_answer(ipv4({request.begin(), request.end()}, {10, 10, 2, 11}, {10, 10, 2, 5})),
            std::nullopt);
}

TEST(IcmpEcho, UnreachableTellsWhichRequestItIsAbout) {
  const EchoPacket request = echo_request(kEcho, kServer);
  const auto original = ipv4({request.begin(), request.begin() + 8}, {10, 10, 2, 5}, {10, 10, 2, 11});
  std::vector<std::uint8_t> message(8 + original.size());
  message[0] = 3;
  message[1] = 1;
  std::ranges::copy(original, message.begin() + 8);
  unsigned sum = 0;
  for (std::size_t i = 0; i < message.size(); i += 2) sum += message[i] << 8 | message[i + 1];
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  message[2] = static_cast<std::uint8_t>(~sum >> 8);
  message[3] = static_cast<std::uint8_t>(~sum);
  EXPECT_EQ(read_echo_answer(ipv4(message, {10, 10, 2, 1}, {10, 10, 2, 5})),
            (EchoAnswer{EchoAnswer::What::unreachable, kServer, {0x1234, 7, 0}}));
}

TEST(Icmp6Echo, RequestLeavesTheChecksumToTheKernel) {
  EXPECT_EQ(echo_request(kEcho, kServer6),
            (EchoPacket{128, 0, 0, 0, 0x12, 0x34, 0, 7, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88}));
}

TEST(Icmp6Echo, ReplyIsReadAndNothingElseIs) {
  std::vector<std::uint8_t> message(kEchoSize);
  std::ranges::copy(echo_request(kEcho, kServer6), message.begin());
  EXPECT_EQ(read_echo_answer6(message, kServer6), std::nullopt) << "a request";
  message[0] = 129;
  EXPECT_EQ(read_echo_answer6(message, kServer6), (EchoAnswer{EchoAnswer::What::reply, kServer6, kEcho}));
  for (std::size_t length = 0; length < message.size(); ++length)
    EXPECT_EQ(read_echo_answer6(std::span(message).first(length), kServer6), std::nullopt) << length;
}

TEST(Icmp6Echo, UnreachableTellsWhichRequestItIsAbout) {
  std::vector<std::uint8_t> message(8 + 40 + 8);
  message[0] = 1;
  message[8] = 0x60;
  message[8 + 6] = 58;
  std::ranges::copy(kServer6.octets, message.begin() + 8 + 24);
  std::ranges::copy_n(echo_request(kEcho, kServer6).begin(), 8, message.begin() + 48);
  EXPECT_EQ(read_echo_answer6(message, *Ip::parse("2001:db8:2::1")),
            (EchoAnswer{EchoAnswer::What::unreachable, kServer6, {0x1234, 7, 0}}));
  for (std::size_t length = 0; length < message.size(); ++length)
    EXPECT_EQ(read_echo_answer6(std::span(message).first(length), kServer6), std::nullopt) << length;
}

TEST(IcmpEcho, EveryTruncationIsNothing) {
  const auto packet = ipv4(reply_bytes(), {10, 10, 2, 11}, {10, 10, 2, 5});
  for (std::size_t length = 0; length < packet.size(); ++length)
    EXPECT_EQ(read_echo_answer(std::span(packet).first(length)), std::nullopt) << length;
}

}  // namespace
}  // namespace headgate::probe
