// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dataplane/core/all.h"
#include "dataplane/core/burst.h"
#include "dataplane/core/bytes.h"
#include "dataplane/core/checksum.h"
#include "dataplane/core/ethernet.h"
#include "dataplane/core/flow_key.h"
#include "dataplane/core/ip_header.h"
#include "dataplane/core/tcp_life.h"
#include "model/ip.h"

namespace headgate::core {

// Where the fields are (RFC 791, RFC 8200, RFC 9293, RFC 768): of IP from the IP header, of TCP and UDP from
// their own.
namespace offset {
constexpr std::size_t ethernet_type = 12;
constexpr std::size_t ip = 14;
constexpr std::size_t ip_length = 2, ip_fragment = 6, ip_ttl = 8, ip_protocol = 9, ip_checksum = 10,
                      ip_source = 12, ip_destination = 16;
constexpr std::size_t ip6_length = 4, ip6_next = 6, ip6_hop_limit = 7, ip6_source = 8, ip6_destination = 24;
constexpr std::size_t source_port = 0, destination_port = 2;
constexpr std::size_t tcp_sequence = 4, tcp_acknowledgement = 8, tcp_data_offset = 12, tcp_flags = 13,
                      tcp_checksum = 16;
constexpr std::size_t udp_length = 4, udp_checksum = 6;
}  // namespace offset

constexpr std::size_t kIpHeader = 20;
constexpr std::size_t kIp6Header = 40;
constexpr std::size_t kTcpHeader = 20;
constexpr std::size_t kUdpHeader = 8;
constexpr std::uint16_t kEtherTypeIpv4 = 0x0800;
constexpr std::uint16_t kEtherTypeIpv6 = 0x86dd;

/// An IPv4 address of a header.
[[nodiscard]] inline Ip mapped(const std::uint8_t* at) noexcept {
  std::uint32_t address = 0;
  std::memcpy(&address, at, 4);
  const IpWords both{kMappedFirst, kMappedLast | std::uint64_t{address} << 32};
  Ip ip;
  std::memcpy(ip.octets.data(), &both, sizeof ip);
  return ip;
}

/// An IPv6 address of a header.
[[nodiscard]] inline Ip ip6(const std::uint8_t* at) noexcept {
  Ip ip;
  std::memcpy(ip.octets.data(), at, sizeof ip);
  return ip;
}

/// Whether TCP control bits neither open nor end a connection.
[[nodiscard]] constexpr bool is_plain(std::uint8_t flags) noexcept {
  return (flags & (tcp::syn | tcp::fin | tcp::rst | tcp::ack)) == tcp::ack;
}

/// What the header checks of one frame found.
enum class Shape : std::uint8_t {
  whole,      ///< a whole TCP segment or UDP datagram; everything below is valid
  other,      ///< IP of another protocol; the addresses are valid
  fragment,   ///< a fragment of TCP or UDP, whose flow is not known yet; ports and flags only for the first
  foreign,    ///< not untagged IP
  truncated,  ///< shorter than its headers say
  malformed,  ///< impossible version, header lengths or options
  checksum,   ///< wrong IPv4 header checksum
  source_route,  ///< the sender chose the way; the addresses are valid
  extensions,    ///< more IPv6 extension headers than are looked through; the addresses are valid
  udp_length,    ///< UDP that says to be shorter than its header or longer than the datagram
  udp_checksum,  ///< UDP over IPv6 without a checksum (RFC 8200, 8.1)
  waiting,       ///< a fragment that goes another way first: it comes again
  refused,       ///< a fragment whose fate the frame has already
};

/// How much of a TCP segment or UDP datagram a packet carries.
enum class Part : std::uint8_t {
  whole,
  first,  ///< a fragment with the start of the transport header, at least its fixed part
  later,  ///< a fragment without it
};

struct Parsed {
  FlowKey key;  ///< ports only for whole
  Shape shape = Shape::foreign;
  Part part = Part::whole;
  bool v6 = false;
  Protocol protocol = Protocol::tcp;  ///< of shape whole, other and fragment: what IP says is inside
  std::uint8_t ttl = 0;               ///< or hop limit
  std::uint8_t flags = 0;             ///< TCP control bits
  std::uint16_t l4 = 0;               ///< offset of the TCP or UDP header in the frame
  std::uint16_t end = 0;              ///< offset of the datagram's end, before Ethernet padding
  bool operator==(const Parsed&) const = default;

  [[nodiscard]] bool is_tcp() const noexcept { return protocol == Protocol::tcp; }
  [[nodiscard]] Transport transport() const noexcept { return {protocol, v6}; }
};

/// Whether a packet of shape other is ICMP, or ICMPv6 over IPv6.
[[nodiscard]] constexpr bool is_icmp(const Parsed& parsed) noexcept {
  return parsed.protocol == (parsed.v6 ? Protocol::icmp6 : Protocol::icmp);
}

/// Checks a frame's headers, every length against the bytes that are really there. Reads nothing outside.
[[nodiscard]] Parsed parse(const Frame& frame) noexcept;
/// The IP header of a frame of which parse() found one without fault.
[[nodiscard]] IpHeader header_of(const Frame& frame) noexcept;

/// The bytes of a TCP segment beyond its header.
[[nodiscard]] inline std::uint32_t payload_of(const Frame& frame, const Parsed& parsed) noexcept {
  const std::size_t header = std::size_t{frame.data[parsed.l4 + offset::tcp_data_offset]} / 16 * 4;
  return static_cast<std::uint32_t>(parsed.end - parsed.l4 - header);
}

/// The segment in a frame of shape whole that is TCP, and no later fragment. Of a first fragment it is what
/// that carries; it may end within the segment's options.
[[nodiscard]] inline Segment segment_of(const Frame& frame, const Parsed& parsed) noexcept {
  const std::uint8_t* tcp = frame.data + parsed.l4;
  const std::size_t header = std::size_t{tcp[offset::tcp_data_offset]} / 16 * 4;
  const bool cut = parsed.l4 + header > parsed.end;
  return {.flags = parsed.flags,
          .sequence = load32(tcp + offset::tcp_sequence),
          .acknowledgement = load32(tcp + offset::tcp_acknowledgement),
          .payload = cut ? 0 : payload_of(frame, parsed)};
}

}  // namespace headgate::core
