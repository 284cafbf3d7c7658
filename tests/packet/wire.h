// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/ip.h"

// Packets as tests write and read them. Independent of the core on purpose: what it writes is compared with
// what is written here.
namespace headgate::testing {

using Bytes = std::vector<std::uint8_t>;

constexpr std::uint8_t kFin = 0x01, kSyn = 0x02, kRst = 0x04, kPush = 0x08, kAck = 0x10;

/// The address a text stands for; the test ends when it is none.
[[nodiscard]] Ipv4 address(std::string_view text);
/// The Ethernet address of every host in these tests: 02:01 and its IPv4 address.
[[nodiscard]] Mac mac_of_host(Ipv4 host);
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

/// One TCP segment over IPv4 and Ethernet, built fluently: `ip("10.0.0.1", "10.0.0.2").tcp(40000, 80, kSyn)`.
struct Packet {
  Ipv4 source;
  Ipv4 destination;
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 0;
  std::uint8_t flags = 0;
  std::uint32_t sequence = 0;
  std::uint32_t acknowledgement = 0;
  std::string payload;
  std::uint8_t time_to_live = 64;
  std::uint8_t protocol = 6;
  std::uint16_t fragment = 0;  ///< flags and offset
  std::uint16_t window = 0;
  Bytes options;            ///< of TCP, a multiple of 4 bytes
  std::size_t padding = 0;  ///< bytes of the frame at least, zeros at its end
  std::optional<Ipv4> hop;  ///< the neighbour on the link when it is not the host itself
  bool operator==(const Packet&) const = default;

  [[nodiscard]] Packet tcp(std::uint16_t from, std::uint16_t to, std::uint8_t flags,
                           std::string_view payload = "") const;
  [[nodiscard]] Packet seq(std::uint32_t value) const;
  [[nodiscard]] Packet ack(std::uint32_t value) const;
  [[nodiscard]] Packet ttl(std::uint8_t value) const;
  [[nodiscard]] Packet of_protocol(std::uint8_t value) const;
  [[nodiscard]] Packet fragmented(std::uint16_t value) const;
  [[nodiscard]] Packet with_options(Bytes value) const;
  [[nodiscard]] Packet padded(std::size_t frame_size) const;
  [[nodiscard]] Packet via(std::string_view neighbour) const;

  /// As a host or router sent it to the switch.
  [[nodiscard]] Wire in(unsigned port) const;
  /// As the switch sends it.
  [[nodiscard]] Wire out(unsigned port) const;
  /// The other direction of the connection, all else at its default.
  [[nodiscard]] Packet reply(std::uint8_t flags, std::string_view payload = "") const;
};

[[nodiscard]] Packet ip(std::string_view source, std::string_view destination);
[[nodiscard]] Packet ip(Ipv4 source, Ipv4 destination);

/// A reset as the switch builds it: padded to the least frame.
[[nodiscard]] Packet reset(const Packet& flow);

/// What is in a frame; nothing when a length or checksum in it is wrong.
[[nodiscard]] std::optional<Packet> decode(const Bytes& frame);
/// One line: `10.0.0.1:40000 > 10.0.0.2:80 S seq 1 ack 0 ttl 64 len 0`.
[[nodiscard]] std::string describe(const Packet& packet);

}  // namespace headgate::testing
