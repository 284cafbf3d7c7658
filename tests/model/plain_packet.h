// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/ip.h"
#include "tests/packet/wire.h"

// Frames as the plain switch reads and rewrites them: octet by octet, every checksum over all that it covers.
namespace headgate::testing::plain {

/// What a look at the headers tells, in the order in which they are checked.
enum class Kind : std::uint8_t {
  foreign,          ///< neither IPv4 nor IPv6, or no whole Ethernet header
  truncated,        ///< shorter than its headers say
  malformed,        ///< a header says what can't be
  checksum,         ///< the IPv4 header's is wrong
  source_route,     ///< its sender chose the way
  extensions,       ///< more extension headers of IPv6 than the switch looks through
  udp_length,       ///< UDP that says to be shorter than its header, or longer than IP says
  no_udp_checksum,  ///< UDP over IPv6 has to have one (RFC 8200, 8.1)
  fragment,         ///< of TCP or UDP
  other,            ///< neither TCP nor UDP
  whole,
};

struct View {
  Kind kind = Kind::foreign;
  bool ipv6 = false;
  std::uint8_t protocol = 0;
  std::uint8_t ttl = 0;
  Ip source;
  Ip destination;
  std::size_t ip = 14;  ///< where the IP header begins
  std::size_t l4 = 0;   ///< where TCP or UDP begins
  std::size_t end = 0;  ///< of the datagram
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 0;
  // Of a fragment:
  bool fragment = false;
  bool more = false;
  std::uint32_t id = 0;
  std::uint32_t offset = 0;  ///< octets
  // Of TCP:
  std::uint8_t flags = 0;  ///< the six of RFC 793
  std::uint32_t sequence = 0;
  std::uint32_t acknowledgement = 0;
  std::uint32_t payload = 0;  ///< octets

  /// A fragment without the transport header.
  [[nodiscard]] bool later() const { return offset != 0; }
  [[nodiscard]] bool tcp() const { return protocol == kTcp; }
  [[nodiscard]] bool has(std::uint8_t flag) const { return (flags & flag) != 0; }
  /// Whether it asks for a connection.
  [[nodiscard]] bool opens() const { return has(kSyn) && !has(kAck) && !has(kRst) && !has(kFin); }
  /// The sequence number after this segment: SYN and FIN take one each.
  [[nodiscard]] std::uint32_t after() const {
    return sequence + payload + (has(kSyn) ? 1 : 0) + (has(kFin) ? 1 : 0);
  }
};

/// The IPv6 address that stands there.
[[nodiscard]] Ip address6(const Bytes& in, std::size_t at);
[[nodiscard]] View look(const Bytes& frame);

/// Which end of a packet is put in place of another.
enum class Side : std::uint8_t { source, destination };

/// The frame one hop further, with another address and port. A transport checksum that was right is right
/// again; one that was wrong stays wrong by as much; none stays none.
[[nodiscard]] Bytes translated(const Bytes& frame, const View& view, Side side, const Ip& address,
                               std::uint16_t port);

/// The same of the addresses alone.
void put_address(Bytes& frame, const View& view, Side side, const Ip& address);
/// One hop less, and the IPv4 header's checksum over what it says now.
void finish_ip(Bytes& frame, const View& view);

/// The sum of RFC 1071 over whole pairs of octets.
[[nodiscard]] std::uint16_t sum_of(const Bytes& octets);
/// A checksum that covered `old_sum` and now covers `new_sum` in its place: right if it was right, else as
/// wrong as before.
[[nodiscard]] std::uint16_t checksum_after(std::uint16_t field, std::uint16_t old_sum, std::uint16_t new_sum);

/// The fragments of at most `mtu` octets that a frame goes on in; itself when it is no larger.
[[nodiscard]] std::vector<Bytes> pieces(const Bytes& frame, const View& view, std::uint32_t mtu);
/// Whether it may be cut.
[[nodiscard]] bool may_be_cut(const Bytes& frame, const View& view);

/// The frame with other Ethernet addresses.
[[nodiscard]] Bytes addressed(Bytes frame, const Mac& destination, const Mac& source);

}  // namespace headgate::testing::plain
