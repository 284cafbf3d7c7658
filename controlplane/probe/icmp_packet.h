// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "model/ip.h"

// ICMP echo as bytes. Pure; RFC 792 and RFC 4443.
namespace headgate::probe {

/// What makes one echo request different from every other.
struct Echo {
  std::uint16_t id = 0;
  std::uint16_t sequence = 0;
  std::uint64_t nonce = 0;  ///< random payload, so that a reply can't be guessed
  bool operator==(const Echo&) const = default;
};

constexpr std::size_t kEchoSize = 16;
using EchoPacket = std::array<std::uint8_t, kEchoSize>;

/// The echo request to an address; of ICMP with its checksum, while that of ICMPv6, over addresses that only
/// the kernel knows, is left to the kernel (RFC 3542, 3.1).
[[nodiscard]] EchoPacket echo_request(const Echo& echo, const Ip& to);

/// An ICMP message that concerns an echo of ours.
struct EchoAnswer {
  enum class What : std::uint8_t { reply, unreachable } what = What::reply;
  Ip from;    ///< reply: the sender; unreachable: the address that our request was for
  Echo echo;  ///< unreachable: without nonce
  bool operator==(const EchoAnswer&) const = default;
};

/// Reads an IPv4 packet as a raw socket delivers it: an echo reply with a good checksum, or a destination
/// unreachable that quotes an echo request. Everything else, also what is cut short, is nothing.
[[nodiscard]] std::optional<EchoAnswer> read_echo_answer(std::span<const std::uint8_t> packet);
/// Likewise an ICMPv6 message, which a raw socket delivers without its IPv6 header and with its checksum
/// verified.
[[nodiscard]] std::optional<EchoAnswer> read_echo_answer6(std::span<const std::uint8_t> message,
                                                          const Ip& sender);

}  // namespace headgate::probe
