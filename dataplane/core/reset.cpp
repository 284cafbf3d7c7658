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

// The TCP checksum covers the addresses, the protocol and the length of the segment too (RFC 9293, 3.1).
std::uint16_t pseudo_header_sum(const std::uint8_t* ip) noexcept {
  std::array<std::uint8_t, 12> pseudo{};
  std::memcpy(pseudo.data(), ip + offset::ip_source, 8);
  pseudo[9] = static_cast<std::uint8_t>(Protocol::tcp);
  store16(pseudo.data() + 10, kTcpHeader);
  return sum_of(pseudo.data(), pseudo.size());
}

void write_ip(std::uint8_t* ip, const FlowKey& key) noexcept {
  ip[0] = 0x45;
  store16(ip + offset::ip_length, kIpHeader + kTcpHeader);
  ip[offset::ip_ttl] = kTtl;
  ip[offset::ip_protocol] = static_cast<std::uint8_t>(Protocol::tcp);
  store32(ip + offset::ip_source, key.source.value);
  store32(ip + offset::ip_destination, key.destination.value);
  store_raw16(ip + offset::ip_checksum, static_cast<std::uint16_t>(~sum_of(ip, kIpHeader)));
}

}  // namespace

ResetNumbers reset_to_sender(const Segment& segment) noexcept {
  if ((segment.flags & tcp::ack) != 0) return {.sequence = segment.acknowledgement};
  return {.sequence = 0, .acknowledgement = segment.end(), .acknowledges = true};
}

ResetNumbers reset_to_receiver(const Segment& segment) noexcept {
  return {.sequence = segment.sequence,
          .acknowledgement = segment.acknowledgement,
          .acknowledges = (segment.flags & tcp::ack) != 0};
}

void write_reset(Frame& frame, const FlowKey& key, const ResetNumbers& numbers) noexcept {
  assert(frame.capacity >= kResetFrame);
  std::memset(frame.data + kEthernetHeader, 0, kResetFrame - kEthernetHeader);
  store16(frame.data + offset::ethernet_type, kEtherTypeIpv4);
  std::uint8_t* ip = frame.data + offset::ip;
  write_ip(ip, key);
  std::uint8_t* tcp = ip + kIpHeader;
  store16(tcp + offset::source_port, key.source_port);
  store16(tcp + offset::destination_port, key.destination_port);
  store32(tcp + offset::tcp_sequence, numbers.sequence);
  store32(tcp + offset::tcp_acknowledgement, numbers.acknowledgement);
  tcp[offset::tcp_data_offset] = kTcpHeader / 4 * 16;
  tcp[offset::tcp_flags] = static_cast<std::uint8_t>(tcp::rst | (numbers.acknowledges ? tcp::ack : 0));
  store_raw16(tcp + offset::tcp_checksum,
              static_cast<std::uint16_t>(~sum_of(tcp, kTcpHeader, pseudo_header_sum(ip))));
  frame.length = kResetFrame;
}

void swap_ethernet(Frame& frame) noexcept {
  std::array<std::uint8_t, 6> destination{};
  std::memcpy(destination.data(), frame.data, 6);
  std::memcpy(frame.data, frame.data + 6, 6);
  std::memcpy(frame.data + 6, destination.data(), 6);
}

}  // namespace headgate::core
