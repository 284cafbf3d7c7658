// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "dataplane/core/fate.h"
#include "tests/model/plain_packet.h"

// ICMP and ICMPv6 errors (RFC 792, RFC 4443), read, translated and made.
namespace headgate::testing::plain {

/// What an ICMP message is to the switch.
struct Error {
  enum class Kind : std::uint8_t {
    none,  ///< no error, or about what is neither TCP nor UDP
    bad,   ///< it quotes too little, or what its receiver has not sent; is damaged; or gives orders
    good,
  };
  Kind kind = Kind::none;
  View quoted;  ///< of a good one: the packet that it is about, as that was sent
};

[[nodiscard]] Error read_error(const Bytes& frame, const View& view);

/// The frame one hop further, about the packet as its sender had sent it: `side` of the quoted one becomes
/// this address and port, and the other side of the error itself the address. Quoted checksums change as the
/// packet's had, the error's own are made anew.
[[nodiscard]] Bytes translated(const Bytes& frame, const View& view, const Error& error, Side side,
                               const Ip& address, std::uint16_t port);

/// Whether a packet may be answered with an error (RFC 1812, 4.3.2.7; RFC 4443, 2.4 e).
[[nodiscard]] bool may_be_answered(const Bytes& frame, const View& view);
/// The MTU that a sender is told when it is `mtu` that its packet does not fit.
[[nodiscard]] std::uint32_t told_mtu(const View& view, std::uint32_t mtu);
/// The MTU that an error tells.
[[nodiscard]] std::uint32_t mtu_of(const Bytes& error);
/// The error that tells a packet's sender about its fate; `mtu` is told with drop_too_big.
[[nodiscard]] Bytes own_error(const Bytes& frame, const View& view, core::Fate fate, const Ip& from,
                              std::uint32_t mtu);

/// A unicast address of another host (RFC 1122, 3.2.1.3; RFC 4291, 2.7).
[[nodiscard]] bool is_of_a_host(const Ip& address);

}  // namespace headgate::testing::plain
