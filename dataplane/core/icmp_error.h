// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "dataplane/core/burst.h"
#include "dataplane/core/flow_key.h"
#include "dataplane/core/icmp.h"
#include "model/ip.h"

namespace headgate::core {

/// An ICMP or ICMPv6 error about a TCP or UDP packet (RFC 5508, 4). Offsets count from the start of the
/// frame.
struct IcmpError {
  FlowKey about;  ///< the packet it quotes, as that was sent
  Protocol protocol = Protocol::tcp;
  std::uint16_t icmp = 0;       ///< offset of its ICMP header
  std::uint16_t quoted = 0;     ///< offset of the quoted IP header
  std::uint16_t quoted_l4 = 0;  ///< offset of the quoted transport header
  std::uint16_t end = 0;        ///< of the datagram in the frame
};

/// What an ICMP message turned out to be.
enum class IcmpKind : std::uint8_t {
  other,      ///< no error, or about nothing that is balanced: the kernel's
  error,      ///< all of IcmpError is valid
  malformed,  ///< an error that quotes too little, nonsense, or a packet of somebody else than its receiver
  checksum,   ///< an error with a wrong ICMP checksum
  refused,    ///< redirect and source quench: no message for hosts behind a switch (RFC 1812, RFC 6633)
};

/// Reads the ICMP message in a frame whose IP header, at offset::ip, is `outer`, found faultless and no
/// fragment. Eight bytes of the quoted transport header are enough. The checksum is verified only of what
/// else is an error.
[[nodiscard]] IcmpKind read_icmp(const Frame& frame, const IpHeader& outer, IcmpError& out) noexcept;

/// An address and port, as one end of a session has it.
struct Endpoint {
  Ip address;
  L4Port port = 0;
};

/// Translates an error as its session's packets are: the quoted end that the switch had put there becomes
/// what its receiver knows, and so does the error's own address. `quotes_source`: it is the source of the
/// quoted packet that is replaced, and with it the error's destination; otherwise it is the quoted
/// destination, and with it the error's source, whoever sent it: the addresses of servers and of the routers
/// before them stay inside. Hop counts go down by one; all checksums, also those of the quoted packet as far
/// as they are quoted, follow.
void translate(Frame& frame, const IpHeader& outer, const IcmpError& error, const Endpoint& with,
               bool quotes_source) noexcept;

}  // namespace headgate::core
