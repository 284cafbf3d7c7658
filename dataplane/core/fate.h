// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace headgate::core {

/// What became of a packet. Each packet gets exactly one, and there is no other way to drop one: packets in
/// equals the sum over all fates.
enum class Fate : std::uint8_t {
  to_real,                ///< translated and sent to the real server of its session
  to_client,              ///< translated and sent to the client of its session
  error_to_real,          ///< ICMP error about a packet of a session, translated and sent to its real server
  error_to_client,        ///< ICMP error about a packet of a session, translated and sent to its client
  reset_no_real,          ///< SYN answered with a reset: no server of the service is available
  reset_terminated,       ///< belongs to a terminated session: its ends were sent resets
  punt,                   ///< not for the switch: the kernel's
  drop_truncated,         ///< shorter than its headers say
  drop_bad_header,        ///< header with impossible version or lengths
  drop_bad_checksum,      ///< IPv4 header checksum is wrong
  drop_source_route,      ///< its sender chose the way: IPv4 source route, IPv6 routing header
  drop_extensions,        ///< more IPv6 extension headers than are looked through
  drop_udp_length,        ///< UDP length that can't be
  drop_udp_checksum,      ///< UDP over IPv6 without a checksum
  drop_fragment,          ///< fragment of a datagram that was refused, or the same as another one
  drop_fragment_bad,      ///< fragment of an impossible size or position
  drop_fragment_tiny,     ///< first fragment without the transport header, or one that would overwrite it
  drop_fragment_overlap,  ///< fragment that contradicts another one
  drop_fragment_early,    ///< fragment whose first one did not come in time
  drop_error_bad,  ///< ICMP error that quotes too little or nonsense, has a wrong checksum, or is a redirect
  drop_error_no_session,  ///< ICMP error about a packet of no session
  drop_land,              ///< source and destination are the same (LAND attack)
  drop_no_flags,          ///< TCP without any control bit
  drop_ttl,               ///< time to live ran out here
  drop_too_big,           ///< larger than the way out allows
  drop_client_port,       ///< for a service, but came in where client processing is off
  drop_server_port,       ///< from a real service, but came in where server processing is off
  drop_no_vport,          ///< for a VIP, on a port without service
  drop_no_session,        ///< in the middle of a connection that the switch does not know
  drop_bad_reset,         ///< reset of no session, or outside of its connection's window
  drop_oos_fin,           ///< FIN of no session (out of state)
  drop_martian,           ///< for a service, from an address that no client can have
  drop_no_real,           ///< datagram for a service of which no server is available
  drop_table_full,        ///< would open a session, but there is no room for one
  drop_no_route,          ///< no route to where it has to go
  drop_no_neighbour,      ///< no room to remember its next hop
};

constexpr std::size_t kFates = static_cast<std::size_t>(Fate::drop_no_neighbour) + 1;

/// The name as counters print it: "to_real".
[[nodiscard]] std::string_view name(Fate fate) noexcept;

}  // namespace headgate::core
