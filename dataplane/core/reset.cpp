// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/reset.h"

#include <array>
#include <cassert>
#include <cstring>
#include <utility>

#include "dataplane/core/checksum.h"
#include "dataplane/core/packet.h"

namespace headgate::core {
namespace {

constexpr std::uint8_t kTtl = 64;

// The TCP checksum covers the addresses, the protocol and the length of the segment too (RFC 9293, 3.1;
// RFC 8200, 8.1).
std::uint16_t pseudo_header_sum(const FlowKey& key) noexcept {
  const std::size_t skipped = key.source.is_v4() ? 12 : 0;
  std::array<std::uint8_t, 36> pseudo{};
  std::memcpy(pseudo.data(), key.source.octets.data() + skipped, 16 - skipped);
  std::memcpy(pseudo.data() + 16, key.destination.octets.data() + skipped, 16 - skipped);
  pseudo[33] = static_cast<std::uint8_t>(Protocol::tcp);
  store16(pseudo.data() + 34, kTcpHeader);
  return sum_of(pseudo.data(), pseudo.size());
}

std::uint8_t* write_ip4(std::uint8_t* ip, const FlowKey& key) noexcept {
  ip[0] = 0x45;
  store16(ip + offset::ip_length, kIpHeader + kTcpHeader);
  ip[offset::ip_ttl] = kTtl;
  ip[offset::ip_protocol] = static_cast<std::uint8_t>(Protocol::tcp);
  std::memcpy(ip + offset::ip_source, key.source.octets.data() + 12, 4);
  std::memcpy(ip + offset::ip_destination, key.destination.octets.data() + 12, 4);
  store_raw16(ip + offset::ip_checksum, static_cast<std::uint16_t>(~sum_of(ip, kIpHeader)));
  return ip + kIpHeader;
}

std::uint8_t* write_ip6(std::uint8_t* ip, const FlowKey& key) noexcept {
  ip[0] = 0x60;
  store16(ip + offset::ip6_length, kTcpHeader);
  ip[offset::ip6_next] = static_cast<std::uint8_t>(Protocol::tcp);
  ip[offset::ip6_hop_limit] = kTtl;
  std::memcpy(ip + offset::ip6_source, key.source.octets.data(), 16);
  std::memcpy(ip + offset::ip6_destination, key.destination.octets.data(), 16);
  return ip + kIp6Header;
}

}  // namespace

ResetNumbers reset_to_sender(const Segment& segment) noexcept {
  if ((segment.flags & tcp::ack) != 0) return {.sequence = segment.acknowledgement};
  return {.sequence = 0, .acknowledgement = segment.end(), .acknowledges = true};
}

ResetNumbers reset_to_receiver(const Segment& segment, std::uint32_t expected) noexcept {
  const bool behind = static_cast<std::int32_t>(expected - segment.sequence) > 0;
  return {.sequence = behind ? expected : segment.sequence,
          .acknowledgement = segment.acknowledgement,
          .acknowledges = (segment.flags & tcp::ack) != 0};
}

void write_reset(Frame& frame, const FlowKey& key, const ResetNumbers& numbers) noexcept {
  const bool v4 = key.source.is_v4();
  frame.length = v4 ? kLeastFrame : kResetFrame;
  assert(frame.capacity >= frame.length);
  std::memset(frame.data + kEthernetHeader, 0, frame.length - kEthernetHeader);
  store16(frame.data + offset::ethernet_type, v4 ? kEtherTypeIpv4 : kEtherTypeIpv6);
  std::uint8_t* ip = frame.data + offset::ip;
  std::uint8_t* tcp = v4 ? write_ip4(ip, key) : write_ip6(ip, key);
  store16(tcp + offset::source_port, key.source_port);
  store16(tcp + offset::destination_port, key.destination_port);
  store32(tcp + offset::tcp_sequence, numbers.sequence);
  store32(tcp + offset::tcp_acknowledgement, numbers.acknowledgement);
  tcp[offset::tcp_data_offset] = kTcpHeader / 4 * 16;
  tcp[offset::tcp_flags] = static_cast<std::uint8_t>(tcp::rst | (numbers.acknowledges ? tcp::ack : 0));
  store_raw16(tcp + offset::tcp_checksum,
              static_cast<std::uint16_t>(~sum_of(tcp, kTcpHeader, pseudo_header_sum(key))));
}

void swap_ethernet(Frame& frame) noexcept {
  std::array<std::uint8_t, 6> destination{};
  std::memcpy(destination.data(), frame.data, 6);
  std::memcpy(frame.data, frame.data + 6, 6);
  std::memcpy(frame.data + 6, destination.data(), 6);
}

}  // namespace headgate::core
