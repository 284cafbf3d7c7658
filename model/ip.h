// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headgate {

/// An IPv4 address in host order. The all-zero address means "none" throughout.
struct Ipv4 {
  std::uint32_t value = 0;

  auto operator<=>(const Ipv4&) const = default;
  [[nodiscard]] constexpr bool none() const noexcept { return value == 0; }
  /// Dotted quad, exactly four decimal numbers 0-255 without leading zeros; nothing else is an address.
  [[nodiscard]] static std::optional<Ipv4> parse(std::string_view text);
  [[nodiscard]] std::string text() const;
};

/// The length of a contiguous mask (0-32), or nothing when the mask has holes.
[[nodiscard]] std::optional<unsigned> prefix_length(Ipv4 mask);
[[nodiscard]] Ipv4 mask_of(unsigned prefix_length);

/// An Ethernet address, in transmission order.
struct Mac {
  std::array<std::uint8_t, 6> octets{};

  auto operator<=>(const Mac&) const = default;
  [[nodiscard]] bool none() const noexcept { return *this == Mac{}; }
  /// Six two-digit lower-case hexadecimal groups, separated by colons.
  [[nodiscard]] std::string text() const;
};

/// A transport port in host order.
using L4Port = std::uint16_t;

/// IP protocol numbers (IANA) that the switch knows.
enum class Protocol : std::uint8_t { icmp = 1, tcp = 6, udp = 17 };

}  // namespace headgate
