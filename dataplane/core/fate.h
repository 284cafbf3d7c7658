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
  to_real,            ///< translated and sent to the real server of its session
  to_client,          ///< translated and sent to the client of its session
  reset_no_real,      ///< SYN answered with a reset: no server of the service is available
  reset_terminated,   ///< belongs to a terminated session: its ends were sent resets
  punt,               ///< not for the switch: the kernel's
  drop_truncated,     ///< shorter than its headers say
  drop_bad_header,    ///< header with impossible version or lengths
  drop_bad_checksum,  ///< IPv4 header checksum is wrong
  drop_fragment,      ///< IPv4 fragment
  drop_land,          ///< source and destination are the same (LAND attack)
  drop_no_flags,      ///< TCP without any control bit
  drop_ttl,           ///< time to live ran out here
  drop_too_big,       ///< larger than the way out allows
  drop_client_port,   ///< for a service, but came in where client processing is off
  drop_server_port,   ///< from a real service, but came in where server processing is off
  drop_no_vport,      ///< for a VIP, on a port without service
  drop_no_session,    ///< in the middle of a connection that the switch does not know
  drop_bad_reset,     ///< reset of no session, or outside of its connection's window
  drop_oos_fin,       ///< FIN of no session (out of state)
  drop_martian,       ///< for a service, from an address that no client can have
  drop_no_real,       ///< datagram for a service of which no server is available
  drop_table_full,    ///< would open a session, but there is no room for one
  drop_no_route,      ///< no route to where it has to go
  drop_no_neighbour,  ///< no room to remember its next hop
};

constexpr std::size_t kFates = static_cast<std::size_t>(Fate::drop_no_neighbour) + 1;

/// The name as counters print it: "to_real".
[[nodiscard]] std::string_view name(Fate fate) noexcept;

}  // namespace headgate::core
