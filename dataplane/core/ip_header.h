// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/ip.h"

namespace headgate::core {

/// What is wrong with an IP header.
enum class HeaderFault : std::uint8_t {
  none,
  truncated,     ///< shorter than its headers say
  malformed,     ///< impossible version, lengths or options
  checksum,      ///< wrong IPv4 header checksum
  source_route,  ///< the sender chose the way: RFC 7126, 4.3 and 4.4; RFC 5095
  extensions,    ///< more IPv6 extension headers than are looked through
};

/// One IP header of either family with its options or extension headers, up to the transport header. Offsets
/// count from its first byte.
struct IpHeader {
  Ip source;
  Ip destination;
  bool v6 = false;
  bool more = false;                  ///< more fragments follow
  std::uint8_t protocol = 0;          ///< of what stands at `l4`; IPv6: the last next header looked at
  std::uint8_t ttl = 0;               ///< or hop limit
  std::uint16_t l4 = 0;               ///< offset of the transport header, or of a later fragment's data
  std::uint16_t fragment_offset = 0;  ///< bytes
  std::uint32_t id = 0;               ///< of the datagram, where it is a fragment
  std::uint32_t length = 0;           ///< of the datagram by its own words, this header included

  [[nodiscard]] bool fragment() const noexcept { return more || fragment_offset != 0; }
  [[nodiscard]] bool later_fragment() const noexcept { return fragment_offset != 0; }
};

/// Whether the bytes must hold all the datagram, or only what an ICMP error quotes of its start.
enum class Extent : std::uint8_t { whole, quoted };

/// IPv6 extension headers that are looked through, by number and in bytes.
constexpr std::size_t kMostExtensions = 8;
constexpr std::size_t kMostExtensionBytes = 192;

/// Reads the header at `ip`, of which `room` bytes may be read. Options are walked, IPv6 extension headers
/// followed: hop-by-hop (first only), destination options, routing, fragment, in any number up to the bounds.
/// An atomic fragment (RFC 6946) is no fragment; of a true one, nothing may follow the fragment header but
/// the transport's. The checksum of a quoted header is not checked: it is what a stranger made of it. Fields
/// are valid only when there is no fault.
[[nodiscard]] HeaderFault read_ip(const std::uint8_t* ip, std::size_t room, Extent extent,
                                  IpHeader& out) noexcept;

/// The address at `at`: 4 or 16 bytes. 0.0.0.0 is IPv4, not "none".
[[nodiscard]] Ip load_ip(const std::uint8_t* at, bool v6) noexcept;
/// Writes it, in the family that `v6` says.
void store_ip(std::uint8_t* at, bool v6, const Ip& address) noexcept;

}  // namespace headgate::core
