// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/packet.h"

#include "dataplane/core/checksum.h"

namespace headgate::core {
namespace {

constexpr std::uint16_t kMoreFragments = 0x2000;
constexpr std::uint16_t kFragmentOffset = 0x1fff;

// IPv6 extension headers that may stand before the payload (IANA), and how many are followed.
constexpr std::uint8_t kHopByHop = 0, kRouting = 43, kFragmentHeader = 44, kDestinationOptions = 60;
constexpr int kMostExtensions = 8;

Shape parse_tcp(const Frame& frame, Parsed& parsed) noexcept {
  const std::size_t room = std::size_t{parsed.end} - parsed.l4;
  if (room < kTcpHeader) return Shape::truncated;
  const std::uint8_t* tcp = frame.data + parsed.l4;
  const std::size_t header = std::size_t{tcp[offset::tcp_data_offset]} / 16 * 4;
  if (header < kTcpHeader) return Shape::malformed;
  if (header > room) return Shape::truncated;
  parsed.flags = tcp[offset::tcp_flags] & 0x3f;
  parsed.plain = is_plain(parsed.flags);
  return Shape::whole;
}

Shape parse_udp(const Frame& frame, Parsed& parsed) noexcept {
  const std::size_t room = std::size_t{parsed.end} - parsed.l4;
  if (room < kUdpHeader) return Shape::truncated;
  const std::uint8_t* udp = frame.data + parsed.l4;
  const std::size_t length = load16(udp + offset::udp_length);
  if (length < kUdpHeader) return Shape::malformed;
  if (length > room) return Shape::truncated;
  if (parsed.v6 && load16(udp + offset::udp_checksum) == 0) return Shape::checksum;
  parsed.plain = true;
  return Shape::whole;
}

Shape parse_l4(const Frame& frame, Parsed& parsed) noexcept {
  const bool known = parsed.protocol == Protocol::tcp || parsed.protocol == Protocol::udp;
  if (!known) return Shape::other;
  const Shape shape = parsed.is_tcp() ? parse_tcp(frame, parsed) : parse_udp(frame, parsed);
  if (shape != Shape::whole) return shape;
  const std::uint8_t* l4 = frame.data + parsed.l4;
  parsed.key.source_port = load16(l4 + offset::source_port);
  parsed.key.destination_port = load16(l4 + offset::destination_port);
  return Shape::whole;
}

Shape parse_ip4(const Frame& frame, Parsed& parsed) noexcept {
  if (frame.length < kEthernetHeader + kIpHeader) return Shape::truncated;
  const std::uint8_t* ip = frame.data + offset::ip;
  const std::size_t header = std::size_t{ip[0]} % 16 * 4;
  if (ip[0] / 16 != 4 || header < kIpHeader) return Shape::malformed;
  const std::size_t length = load16(ip + offset::ip_length);
  if (length < header) return Shape::malformed;
  if (kEthernetHeader + length > frame.length) return Shape::truncated;
  if (sum_of(ip, header) != 0xffff) return Shape::checksum;
  parsed.key.source = mapped(ip + offset::ip_source);
  parsed.key.destination = mapped(ip + offset::ip_destination);
  parsed.ttl = ip[offset::ip_ttl];
  parsed.protocol = static_cast<Protocol>(ip[offset::ip_protocol]);
  parsed.l4 = static_cast<std::uint16_t>(kEthernetHeader + header);
  parsed.end = static_cast<std::uint16_t>(kEthernetHeader + length);
  if ((load16(ip + offset::ip_fragment) & (kMoreFragments | kFragmentOffset)) != 0) return Shape::fragment;
  return parse_l4(frame, parsed);
}

// Walks over the extension headers, each checked against the datagram's end.
Shape skip_extensions(const Frame& frame, Parsed& parsed) noexcept {
  auto next = static_cast<std::uint8_t>(parsed.protocol);
  for (int headers = 0; headers <= kMostExtensions; ++headers) {
    const bool options = next == kHopByHop || next == kRouting || next == kDestinationOptions;
    parsed.protocol = static_cast<Protocol>(next);
    if (!options && next != kFragmentHeader) return Shape::whole;
    constexpr std::size_t kLeast = 8;
    if (parsed.l4 + kLeast > parsed.end) return Shape::truncated;
    const std::uint8_t* header = frame.data + parsed.l4;
    next = header[0];
    if (!options) {
      parsed.protocol = static_cast<Protocol>(next);
      return Shape::fragment;
    }
    const std::size_t length = (std::size_t{header[1]} + 1) * 8;
    if (parsed.l4 + length > parsed.end) return Shape::truncated;
    parsed.l4 = static_cast<std::uint16_t>(parsed.l4 + length);
  }
  return Shape::malformed;
}

Shape parse_ip6(const Frame& frame, Parsed& parsed) noexcept {
  if (frame.length < kEthernetHeader + kIp6Header) return Shape::truncated;
  const std::uint8_t* ip = frame.data + offset::ip;
  if (ip[0] / 16 != 6) return Shape::malformed;
  const std::size_t end = kEthernetHeader + kIp6Header + load16(ip + offset::ip6_length);
  if (end > frame.length) return Shape::truncated;
  parsed.v6 = true;
  parsed.key.source = ip6(ip + offset::ip6_source);
  parsed.key.destination = ip6(ip + offset::ip6_destination);
  parsed.ttl = ip[offset::ip6_hop_limit];
  parsed.protocol = static_cast<Protocol>(ip[offset::ip6_next]);
  parsed.l4 = kEthernetHeader + kIp6Header;
  parsed.end = static_cast<std::uint16_t>(end);
  // No packet on the wire may carry an IPv4-mapped address (RFC 4942, 2.2).
  if (parsed.key.source.is_v4() || parsed.key.destination.is_v4()) return Shape::malformed;
  const Shape shape = skip_extensions(frame, parsed);
  return shape == Shape::whole ? parse_l4(frame, parsed) : shape;
}

}  // namespace

Parsed parse(const Frame& frame) noexcept {
  Parsed parsed;
  if (frame.length < kEthernetHeader) return parsed;
  const std::uint16_t type = load16(frame.data + offset::ethernet_type);
  if (type == kEtherTypeIpv4) parsed.shape = parse_ip4(frame, parsed);
  if (type == kEtherTypeIpv6) parsed.shape = parse_ip6(frame, parsed);
  return parsed;
}

}  // namespace headgate::core
