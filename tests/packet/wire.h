// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/ip.h"
#include "tests/packet/octets.h"

// Packets as tests write and read them. Independent of the core on purpose: what it writes is compared with
// what is written here.
namespace headgate::testing {

constexpr std::uint8_t kFin = 0x01, kSyn = 0x02, kRst = 0x04, kPush = 0x08, kAck = 0x10;
/// IP protocol numbers.
constexpr std::uint8_t kIcmp = 1, kTcp = 6, kUdp = 17, kIcmp6 = 58;
/// Flags of IPv4's fragment word; its other 13 bits are the offset in units of 8 octets.
constexpr std::uint16_t kDontFragment = 0x4000, kMoreFragments = 0x2000;

/// The address a text stands for; the test ends when it is none.
[[nodiscard]] Ipv4 address(std::string_view text);
/// The same for an address of either family.
[[nodiscard]] Ip host(std::string_view text);
/// The Ethernet address of every host in these tests: 02:01 and its IPv4 address, or 02:06 and the last four
/// octets of its IPv6 address.
[[nodiscard]] Mac mac_of_host(const Ip& host);
/// The Ethernet address of the switch on a port: 02:00:00:00:00 and the port.
[[nodiscard]] Mac mac_of_port(unsigned port);

/// The checksum of RFC 1071, written plainly: pairs of octets, highest first.
[[nodiscard]] std::uint16_t internet_checksum(const Bytes& data);

/// One frame and the switch's port (1, 2, ...) where it is seen.
struct Wire {
  unsigned port = 0;
  Bytes bytes;
  bool operator==(const Wire&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Wire& wire);

/// An extension header of IPv6 (RFC 8200, 4): its own protocol number, and its octets, a multiple of 8. The
/// first octet is 0 here; the writer puts in what follows.
struct Extension {
  std::uint8_t protocol = 0;
  Bytes octets;
  bool operator==(const Extension&) const = default;
};

/// One packet over IP and Ethernet, built fluently: `ip("10.0.0.1", "10.0.0.2").tcp(40000, 80, kSyn)`, or
/// `ip("2001:db8::1", "2001:db8::2").udp(40000, 53, "query")`. The addresses tell the family. Lengths and
/// checksums are right unless a test says otherwise.
struct Packet {
  Ip source;
  Ip destination;
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 0;
  std::uint8_t flags = 0;
  std::uint32_t sequence = 0;
  std::uint32_t acknowledgement = 0;
  std::string payload;             ///< behind the headers
  bool raw = false;                ///< the payload is all that follows the IP headers, whatever the protocol
  std::uint8_t time_to_live = 64;  ///< or hop limit
  std::uint8_t protocol = kTcp;
  std::uint16_t fragment = 0;  ///< flags and offset, as IPv4 has them
  std::uint16_t window = 0;
  std::uint16_t urgent = 0;
  Bytes options;            ///< of TCP, a multiple of 4 bytes
  std::size_t padding = 0;  ///< bytes of the frame at least, zeros at its end
  std::optional<Ip> hop;    ///< the neighbour on the link when it is not the host itself
  std::uint8_t traffic_class = 0;
  std::uint32_t flow_label = 0;               ///< of IPv6
  std::uint32_t identification = 0;           ///< of IPv4, or of the fragment header
  bool fragment_header = false;               ///< of IPv6, even when `fragment` is 0 (RFC 6946)
  Bytes ip_options;                           ///< of IPv4, a multiple of 4 bytes
  std::vector<Extension> extensions;          ///< of IPv6, before a fragment header
  std::uint8_t icmp_type = 0, icmp_code = 0;  ///< of ICMP or ICMPv6
  std::uint32_t icmp_rest = 0;                ///< the four octets behind the checksum
  std::optional<std::uint16_t> checksum;      ///< the transport's when it is not the right one: 0 for none
  bool operator==(const Packet&) const = default;

  [[nodiscard]] Packet tcp(std::uint16_t from, std::uint16_t to, std::uint8_t flags,
                           std::string_view payload = "") const;
  [[nodiscard]] Packet udp(std::uint16_t from, std::uint16_t to, std::string_view payload = "") const;
  /// ICMP or ICMPv6, as the family is.
  [[nodiscard]] Packet icmp(std::uint8_t type, std::uint8_t code, std::uint32_t rest = 0,
                            std::string_view payload = "") const;
  /// The payload of an ICMP error: the beginning of the packet it is about, `octets` behind its IP header.
  [[nodiscard]] Packet about(const Packet& packet, std::size_t octets = 8) const;
  /// Any protocol, its octets as they are.
  [[nodiscard]] Packet carrying(std::uint8_t protocol, const Bytes& octets) const;

  [[nodiscard]] Packet seq(std::uint32_t value) const;
  [[nodiscard]] Packet ack(std::uint32_t value) const;
  [[nodiscard]] Packet ttl(std::uint8_t value) const;
  [[nodiscard]] Packet of_protocol(std::uint8_t value) const;
  [[nodiscard]] Packet fragmented(std::uint16_t value) const;
  [[nodiscard]] Packet id(std::uint32_t value) const;
  [[nodiscard]] Packet classed(std::uint8_t traffic_class, std::uint32_t flow_label = 0) const;
  [[nodiscard]] Packet with_options(Bytes value) const;
  [[nodiscard]] Packet with_ip_options(Bytes value) const;
  [[nodiscard]] Packet with_extension(std::uint8_t protocol, Bytes octets) const;
  [[nodiscard]] Packet with_checksum(std::uint16_t value) const;
  [[nodiscard]] Packet padded(std::size_t frame_size) const;
  [[nodiscard]] Packet via(std::string_view neighbour) const;

  /// The packet in fragments that carry at most so many octets, a multiple of 8, in their order. Each is a
  /// packet whose payload is its part of the datagram.
  [[nodiscard]] std::vector<Packet> fragments(std::size_t octets, std::uint32_t identification) const;

  /// Neither address is IPv4.
  [[nodiscard]] bool is_ipv6() const { return !source.is_v4() && !destination.is_v4(); }
  /// A part of a datagram, not a whole one.
  [[nodiscard]] bool is_fragment() const {
    return (fragment & static_cast<std::uint16_t>(~kDontFragment)) != 0;
  }
  /// From its IP header on.
  [[nodiscard]] Bytes datagram() const;
  /// As a host or router sent it to the switch.
  [[nodiscard]] Wire in(unsigned port) const;
  /// As the switch sends it.
  [[nodiscard]] Wire out(unsigned port) const;
  /// The other direction of a TCP connection, all else at its default.
  [[nodiscard]] Packet reply(std::uint8_t flags, std::string_view payload = "") const;
  /// Likewise for UDP.
  [[nodiscard]] Packet answer(std::string_view payload = "") const;
};
std::ostream& operator<<(std::ostream& out, const Packet& packet);

[[nodiscard]] Packet ip(std::string_view source, std::string_view destination);
[[nodiscard]] Packet ip(const Ip& source, const Ip& destination);

/// A reset as the switch builds it: padded to the least frame.
[[nodiscard]] Packet reset(const Packet& flow);

/// What is in a frame; nothing when a length or checksum in it is wrong. A UDP checksum of zero over IPv4 is
/// none, and right.
[[nodiscard]] std::optional<Packet> decode(const Bytes& frame);
/// One line: `10.0.0.1:40000 > 10.0.0.2:80 S seq 1 ack 0 ttl 64 len 0`.
[[nodiscard]] std::string describe(const Packet& packet);
/// What differs between two frames, field by field: a line each, empty when they are the same.
[[nodiscard]] std::string differences(const Wire& expected, const Wire& actual);

}  // namespace headgate::testing
