// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/packet.h"

namespace headgate::core {
namespace {

Shape shape_of(HeaderFault fault) noexcept {
  switch (fault) {
    case HeaderFault::none:
      return Shape::whole;
    case HeaderFault::truncated:
      return Shape::truncated;
    case HeaderFault::malformed:
      return Shape::malformed;
    case HeaderFault::checksum:
      return Shape::checksum;
    case HeaderFault::source_route:
      return Shape::source_route;
    case HeaderFault::extensions:
      break;
  }
  return Shape::extensions;
}

// Of a first fragment, the options may be in the next one.
Shape parse_tcp(const Frame& frame, Parsed& parsed) noexcept {
  const std::size_t room = std::size_t{parsed.end} - parsed.l4;
  if (room < kTcpHeader) return Shape::truncated;
  const std::uint8_t* tcp = frame.data + parsed.l4;
  const std::size_t header = std::size_t{tcp[offset::tcp_data_offset]} / 16 * 4;
  if (header < kTcpHeader) return Shape::malformed;
  if (header > room && parsed.part == Part::whole) return Shape::truncated;
  parsed.flags = tcp[offset::tcp_flags] & 0x3f;
  return Shape::whole;
}

// A datagram may be shorter than what IP carries (RFC 9868 puts options there), never longer.
Shape parse_udp(const Frame& frame, Parsed& parsed) noexcept {
  const std::size_t room = std::size_t{parsed.end} - parsed.l4;
  if (room < kUdpHeader) return Shape::truncated;
  const std::uint8_t* udp = frame.data + parsed.l4;
  const std::size_t length = load16(udp + offset::udp_length);
  if (length < kUdpHeader || (length > room && parsed.part == Part::whole)) return Shape::udp_length;
  if (parsed.v6 && load16(udp + offset::udp_checksum) == 0) return Shape::udp_checksum;
  return Shape::whole;
}

Shape parse_l4(const Frame& frame, Parsed& parsed) noexcept {
  const Shape shape = parsed.is_tcp() ? parse_tcp(frame, parsed) : parse_udp(frame, parsed);
  if (shape != Shape::whole) return shape;
  const std::uint8_t* l4 = frame.data + parsed.l4;
  parsed.key.source_port = load16(l4 + offset::source_port);
  parsed.key.destination_port = load16(l4 + offset::destination_port);
  return Shape::whole;
}

// Too short a first fragment is one for the table of fragments to refuse.
Shape parse_fragment(const Frame& frame, const IpHeader& header, Parsed& parsed) noexcept {
  parsed.part = header.later_fragment() ? Part::later : Part::first;
  if (parsed.part == Part::later) return Shape::fragment;
  const Shape shape = parse_l4(frame, parsed);
  return shape == Shape::whole || shape == Shape::truncated ? Shape::fragment : shape;
}

Shape parse_ip(const Frame& frame, bool v6, Parsed& parsed) noexcept {
  IpHeader header;
  const std::uint8_t* ip = frame.data + offset::ip;
  const std::size_t room = frame.length - kEthernetHeader;
  if (room > 0 && ip[0] / 16 != (v6 ? 6 : 4)) return Shape::malformed;
  const HeaderFault fault = read_ip(ip, room, Extent::whole, header);
  parsed.key.source = header.source;
  parsed.key.destination = header.destination;
  if (fault != HeaderFault::none) return shape_of(fault);
  parsed.v6 = v6;
  parsed.protocol = static_cast<Protocol>(header.protocol);
  parsed.ttl = header.ttl;
  parsed.l4 = static_cast<std::uint16_t>(kEthernetHeader + header.l4);
  parsed.end = static_cast<std::uint16_t>(kEthernetHeader + header.length);
  const bool known = parsed.is_tcp() || parsed.protocol == Protocol::udp;
  if (!known) {
    if (header.fragment()) parsed.part = header.later_fragment() ? Part::later : Part::first;
    return Shape::other;
  }
  return header.fragment() ? parse_fragment(frame, header, parsed) : parse_l4(frame, parsed);
}

}  // namespace

Parsed parse(const Frame& frame) noexcept {
  Parsed parsed;
  if (frame.length < kEthernetHeader) return parsed;
  const std::uint16_t type = load16(frame.data + offset::ethernet_type);
  if (type == kEtherTypeIpv4 || type == kEtherTypeIpv6)
    parsed.shape = parse_ip(frame, type == kEtherTypeIpv6, parsed);
  return parsed;
}

IpHeader header_of(const Frame& frame) noexcept {
  IpHeader header;
  static_cast<void>(read_ip(frame.data + offset::ip, frame.length - kEthernetHeader, Extent::whole, header));
  return header;
}

}  // namespace headgate::core
