// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dataplane/core/burst.h"
#include "dataplane/core/checksum.h"
#include "dataplane/core/ethernet.h"
#include "dataplane/core/flow_key.h"
#include "dataplane/core/tcp_life.h"
#include "model/ip.h"

namespace headgate::core {

// Where the fields are (RFC 791, RFC 9293, RFC 768); IPv4 fields from the IP header, TCP fields from its own.
namespace offset {
constexpr std::size_t ethernet_type = 12;
constexpr std::size_t ip = 14;
constexpr std::size_t ip_length = 2, ip_fragment = 6, ip_ttl = 8, ip_protocol = 9, ip_checksum = 10,
                      ip_source = 12, ip_destination = 16;
constexpr std::size_t source_port = 0, destination_port = 2;
constexpr std::size_t tcp_sequence = 4, tcp_acknowledgement = 8, tcp_data_offset = 12, tcp_flags = 13,
                      tcp_checksum = 16;
}  // namespace offset

constexpr std::size_t kIpHeader = 20;
constexpr std::size_t kTcpHeader = 20;
constexpr std::uint16_t kEtherTypeIpv4 = 0x0800;

/// Network order in memory, host order in hand.
[[nodiscard]] inline std::uint16_t load16(const std::uint8_t* at) noexcept {
  std::uint16_t value = 0;
  std::memcpy(&value, at, 2);
  return __builtin_bswap16(value);
}
[[nodiscard]] inline std::uint32_t load32(const std::uint8_t* at) noexcept {
  std::uint32_t value = 0;
  std::memcpy(&value, at, 4);
  return __builtin_bswap32(value);
}
inline void store16(std::uint8_t* at, std::uint16_t value) noexcept {
  value = __builtin_bswap16(value);
  std::memcpy(at, &value, 2);
}
inline void store32(std::uint8_t* at, std::uint32_t value) noexcept {
  value = __builtin_bswap32(value);
  std::memcpy(at, &value, 4);
}
/// Words as they lie in memory, for checksums.
[[nodiscard]] inline std::uint16_t load_raw16(const std::uint8_t* at) noexcept {
  std::uint16_t value = 0;
  std::memcpy(&value, at, 2);
  return value;
}
inline void store_raw16(std::uint8_t* at, std::uint16_t value) noexcept {
  std::memcpy(at, &value, 2);
}

/// What the header checks of one frame found.
enum class Shape : std::uint8_t {
  tcp,        ///< a whole TCP segment over IPv4; everything below is valid
  other,      ///< IPv4 of another protocol; the addresses are valid
  fragment,   ///< an IPv4 fragment; the addresses are valid
  foreign,    ///< not untagged IPv4
  truncated,  ///< shorter than its headers say
  malformed,  ///< impossible version or header lengths
  checksum,   ///< wrong IPv4 header checksum
};

struct Parsed {
  FlowKey key;  ///< ports only for tcp
  Shape shape = Shape::foreign;
  bool udp = false;  ///< of shape other: that is UDP
  std::uint8_t ttl = 0;
  std::uint8_t flags = 0;       ///< TCP control bits
  std::uint8_t l4 = 0;          ///< offset of the TCP header in the frame
  std::uint16_t ip_length = 0;  ///< the datagram's, without Ethernet padding
  bool operator==(const Parsed&) const = default;
};

/// Checks a frame's headers, every length against the bytes that are really there. Reads nothing outside.
[[nodiscard]] Parsed parse(const Frame& frame) noexcept;

/// Whether all conditions hold, with one branch for the lot: each is evaluated, so none may depend on
/// another.
template <class... Conditions>
[[nodiscard]] constexpr bool all(Conditions... conditions) noexcept {
  return (static_cast<unsigned>(conditions) & ...) != 0;
}

/// parse() for nearly all frames, without a call and with hardly a branch: untagged Ethernet, an IPv4 header
/// without options, a whole TCP segment. False: anything else, and `parsed` is to be had from parse().
[[nodiscard]] inline bool parse_usual(const Frame& frame, Parsed& parsed) noexcept {
  if (frame.length < kEthernetHeader + kIpHeader + kTcpHeader) return false;
  const std::uint8_t* ip = frame.data + offset::ip;
  const std::uint8_t* tcp = ip + kIpHeader;
  constexpr std::uint16_t kFragment = 0x3fff;  // more fragments, or an offset
  const std::uint16_t length = load16(ip + offset::ip_length);
  const std::size_t header = std::size_t{tcp[offset::tcp_data_offset]} / 16 * 4;
  const bool usual =
      all(load16(frame.data + offset::ethernet_type) == kEtherTypeIpv4, ip[0] == 0x45,
          ip[offset::ip_protocol] == static_cast<std::uint8_t>(Protocol::tcp),
          (load16(ip + offset::ip_fragment) & kFragment) == 0, kEthernetHeader + length <= frame.length,
          header >= kTcpHeader, kIpHeader + header <= length, sum_of_20(ip) == 0xffff);
  if (!usual) return false;
  const std::uint32_t ports = load32(tcp + offset::source_port);
  parsed.key = {.source = {load32(ip + offset::ip_source)},
                .destination = {load32(ip + offset::ip_destination)},
                .source_port = static_cast<L4Port>(ports >> 16),
                .destination_port = static_cast<L4Port>(ports)};
  parsed.shape = Shape::tcp;
  parsed.ttl = ip[offset::ip_ttl];
  parsed.flags = tcp[offset::tcp_flags] & 0x3f;
  parsed.l4 = kEthernetHeader + kIpHeader;
  parsed.ip_length = length;
  return true;
}

/// The segment in a frame of shape tcp.
[[nodiscard]] inline Segment segment_of(const Frame& frame, const Parsed& parsed) noexcept {
  const std::uint8_t* tcp = frame.data + parsed.l4;
  const std::size_t header = std::size_t{tcp[offset::tcp_data_offset]} / 16 * 4;
  return {.flags = parsed.flags,
          .sequence = load32(tcp + offset::tcp_sequence),
          .acknowledgement = load32(tcp + offset::tcp_acknowledgement),
          .payload = static_cast<std::uint32_t>(offset::ip + parsed.ip_length - parsed.l4 - header)};
}

}  // namespace headgate::core
