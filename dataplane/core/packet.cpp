// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/packet.h"

#include "dataplane/core/checksum.h"

namespace headgate::core {
namespace {

constexpr std::uint16_t kMoreFragments = 0x2000;
constexpr std::uint16_t kFragmentOffset = 0x1fff;

Shape parse_tcp(const Frame& frame, Parsed& parsed) noexcept {
  const std::size_t room = offset::ip + parsed.ip_length - parsed.l4;
  if (room < kTcpHeader) return Shape::truncated;
  const std::uint8_t* tcp = frame.data + parsed.l4;
  const std::size_t header = std::size_t{tcp[offset::tcp_data_offset]} / 16 * 4;
  if (header < kTcpHeader) return Shape::malformed;
  if (header > room) return Shape::truncated;
  parsed.key.source_port = load16(tcp + offset::source_port);
  parsed.key.destination_port = load16(tcp + offset::destination_port);
  parsed.flags = tcp[offset::tcp_flags] & 0x3f;
  return Shape::tcp;
}

Shape parse_ip(const Frame& frame, Parsed& parsed) noexcept {
  if (frame.length < kEthernetHeader + kIpHeader) return Shape::truncated;
  const std::uint8_t* ip = frame.data + offset::ip;
  const std::size_t header = std::size_t{ip[0]} % 16 * 4;
  if (ip[0] / 16 != 4 || header < kIpHeader) return Shape::malformed;
  parsed.ip_length = load16(ip + offset::ip_length);
  if (parsed.ip_length < header) return Shape::malformed;
  if (kEthernetHeader + parsed.ip_length > frame.length) return Shape::truncated;
  if (sum_of(ip, header) != 0xffff) return Shape::checksum;
  parsed.key.source = {load32(ip + offset::ip_source)};
  parsed.key.destination = {load32(ip + offset::ip_destination)};
  parsed.ttl = ip[offset::ip_ttl];
  parsed.l4 = static_cast<std::uint8_t>(kEthernetHeader + header);
  if ((load16(ip + offset::ip_fragment) & (kMoreFragments | kFragmentOffset)) != 0) return Shape::fragment;
  parsed.udp = ip[offset::ip_protocol] == static_cast<std::uint8_t>(Protocol::udp);
  if (ip[offset::ip_protocol] != static_cast<std::uint8_t>(Protocol::tcp)) return Shape::other;
  return parse_tcp(frame, parsed);
}

}  // namespace

Parsed parse(const Frame& frame) noexcept {
  Parsed parsed;
  const bool ipv4 =
      frame.length >= kEthernetHeader && load16(frame.data + offset::ethernet_type) == kEtherTypeIpv4;
  parsed.shape = ipv4 ? parse_ip(frame, parsed) : Shape::foreign;
  return parsed;
}

}  // namespace headgate::core
