// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "model/ip.h"

// How a neighbour is asked for its Ethernet address, as bytes. Pure; RFC 826 and RFC 4861.
namespace headgate::probe {

/// Who asks.
struct Asker {
  Ip address;
  Mac mac;
  bool operator==(const Asker&) const = default;
};

/// "Who has `wanted`?", behind an Ethernet header.
[[nodiscard]] std::array<std::uint8_t, 28> arp_request(const Asker& asker, const Ip& wanted);
/// The same in IPv6: an ICMPv6 message, whose checksum is left to the kernel (RFC 3542, 3.1).
[[nodiscard]] std::array<std::uint8_t, 32> solicitation(const Asker& asker, const Ip& wanted);
/// The multicast address to which that is sent (RFC 4291, 2.7.1).
[[nodiscard]] Ip solicited_node(const Ip& wanted);

/// An answer of ARP.
struct ArpReply {
  Ip from;
  Asker to;
  bool operator==(const ArpReply&) const = default;
};
/// Reads what follows an Ethernet header. Requests, and what is cut short or not about Ethernet and IPv4, are
/// nothing.
[[nodiscard]] std::optional<ArpReply> read_arp_reply(std::span<const std::uint8_t> packet);
/// The address that an ICMPv6 message advertises in answer to a solicitation; nothing for others.
[[nodiscard]] std::optional<Ip> read_advertisement(std::span<const std::uint8_t> message);

}  // namespace headgate::probe
