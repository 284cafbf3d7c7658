// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/core/ip_header.h"

namespace headgate::core {

// Numbers of ICMP (RFC 792, 1191) and ICMPv6 (RFC 4443), and where its fields are.
namespace icmp4 {
constexpr std::uint8_t protocol = 1;
constexpr std::uint8_t unreachable = 3, source_quench = 4, redirect = 5, time_exceeded = 11, parameter = 12;
constexpr std::uint8_t port_unreachable = 3, fragmentation_needed = 4;  // codes of unreachable
}  // namespace icmp4
namespace icmp6 {
constexpr std::uint8_t protocol = 58;
constexpr std::uint8_t unreachable = 1, too_big = 2, time_exceeded = 3, parameter = 4, redirect = 137;
constexpr std::uint8_t port_unreachable = 4;  // code of unreachable
}  // namespace icmp6

/// Type, code, checksum, and four bytes whose meaning depends on the type; behind them an error quotes.
constexpr std::size_t kIcmpHeader = 8;

/// Whether an ICMP type carries the start of a packet it complains about.
[[nodiscard]] constexpr bool is_icmp_error(bool v6, std::uint8_t type) noexcept {
  if (v6) return type < 128 || type == icmp6::redirect;  // RFC 4443, 2.1: the high bit says "no error"
  return type == icmp4::unreachable || type == icmp4::source_quench || type == icmp4::redirect ||
         type == icmp4::time_exceeded || type == icmp4::parameter;
}

/// The sum over an ICMP message, over what its checksum covers in the family of `header`: for ICMPv6 the
/// addresses too (RFC 4443, 2.3). 0xffff for a message whose checksum is right.
[[nodiscard]] std::uint16_t icmp_sum(const IpHeader& header, std::span<const std::uint8_t> message) noexcept;

}  // namespace headgate::core
