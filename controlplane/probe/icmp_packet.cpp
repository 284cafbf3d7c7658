// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/icmp_packet.h"

#include <algorithm>

namespace headgate::probe {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::uint8_t kReply = 0;
constexpr std::uint8_t kUnreachable = 3;
constexpr std::uint8_t kRequest = 8;
constexpr std::uint8_t kUnreachable6 = 1;
constexpr std::uint8_t kRequest6 = 128;
constexpr std::uint8_t kReply6 = 129;
constexpr std::size_t kIpv6Header = 40;
constexpr std::size_t kHeader = 8;  // of every ICMP message

std::uint16_t word(Bytes bytes, std::size_t at) {
  return static_cast<std::uint16_t>(bytes[at] << 8 | bytes[at + 1]);
}

Ip address(Bytes bytes, std::size_t at) {
  return Ipv4{static_cast<std::uint32_t>(word(bytes, at)) << 16 | word(bytes, at + 2)};
}
Ip address6(Bytes bytes, std::size_t at) {
  Ip result;
  std::ranges::copy(bytes.subspan(at, result.octets.size()), result.octets.begin());
  return result;
}

/// RFC 1071; 0 over a message that contains its correct checksum.
std::uint16_t checksum(Bytes bytes) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) sum += word(bytes, i);
  if (bytes.size() % 2 == 1) sum += static_cast<std::uint32_t>(bytes.back()) << 8;
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

/// What follows the IPv4 header when the protocol is ICMP; empty when it is not, or is cut short.
Bytes icmp_of(Bytes packet) {
  if (packet.size() < 20 || packet[0] >> 4 != 4 || packet[9] != static_cast<std::uint8_t>(Protocol::icmp))
    return {};
  const std::size_t header = static_cast<std::size_t>(packet[0] & 15) * 4;
  if (header < 20 || packet.size() < header + kHeader) return {};
  return packet.subspan(header);
}

std::uint64_t nonce_of(Bytes message) {
  std::uint64_t nonce = 0;
  for (std::size_t i = 0; i < 8; ++i) nonce = nonce << 8 | message[kHeader + i];
  return nonce;
}

/// What an ICMPv6 error quotes of a request of ours: an IPv6 header, and the begin of the message.
std::optional<EchoAnswer> quoted6(Bytes message) {
  const Bytes original = message.subspan(kHeader);
  if (original.size() < kIpv6Header + kHeader || original[0] >> 4 != 6) return std::nullopt;
  const Bytes request = original.subspan(kIpv6Header);
  if (original[6] != static_cast<std::uint8_t>(Protocol::icmp6) || request[0] != kRequest6)
    return std::nullopt;
  return EchoAnswer{
      EchoAnswer::What::unreachable, address6(original, 24), {word(request, 4), word(request, 6), 0}};
}

std::optional<EchoAnswer> quoted(Bytes message) {
  const Bytes original = message.subspan(kHeader);
  const Bytes request = icmp_of(original);
  if (request.empty() || request[0] != kRequest) return std::nullopt;
  return EchoAnswer{
      EchoAnswer::What::unreachable, address(original, 16), {word(request, 4), word(request, 6), 0}};
}

}  // namespace

EchoPacket echo_request(const Echo& echo, const Ip& to) {
  EchoPacket packet{to.is_v4() ? kRequest : kRequest6, 0, 0, 0};
  const auto put = [&](std::size_t at, std::uint16_t value) {
    packet[at] = static_cast<std::uint8_t>(value >> 8);
    packet[at + 1] = static_cast<std::uint8_t>(value);
  };
  put(4, echo.id);
  put(6, echo.sequence);
  for (std::size_t i = 0; i < 4; ++i)
    put(kHeader + 2 * i, static_cast<std::uint16_t>(echo.nonce >> (48 - 16 * i)));
  if (to.is_v4()) put(2, checksum(packet));
  return packet;
}

std::optional<EchoAnswer> read_echo_answer(std::span<const std::uint8_t> packet) {
  const Bytes message = icmp_of(packet);
  if (message.empty() || checksum(message) != 0) return std::nullopt;
  if (message[0] == kUnreachable) return quoted(message);
  if (message[0] != kReply || message[1] != 0 || message.size() != kEchoSize) return std::nullopt;
  return EchoAnswer{
      EchoAnswer::What::reply, address(packet, 12), {word(message, 4), word(message, 6), nonce_of(message)}};
}

std::optional<EchoAnswer> read_echo_answer6(std::span<const std::uint8_t> message, const Ip& sender) {
  if (message.size() < kHeader) return std::nullopt;
  if (message[0] == kUnreachable6) return quoted6(message);
  if (message[0] != kReply6 || message[1] != 0 || message.size() != kEchoSize) return std::nullopt;
  return EchoAnswer{EchoAnswer::What::reply, sender, {word(message, 4), word(message, 6), nonce_of(message)}};
}

}  // namespace headgate::probe
