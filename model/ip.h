// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
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

/// An address of either family, in network order; an IPv4 address is IPv4-mapped (RFC 4291, 2.5.5.2). All
/// zero means "none" throughout.
struct Ip {
  std::array<std::uint8_t, 16> octets{};

  constexpr Ip() = default;
  // Not explicit: an IPv4 address is an address.
  constexpr Ip(Ipv4 v4) noexcept {  // NOLINT(google-explicit-constructor)
    if (v4.none()) return;
    octets[10] = octets[11] = 0xff;
    for (unsigned i = 0; i < 4; ++i) octets[12 + i] = static_cast<std::uint8_t>(v4.value >> (24 - 8 * i));
  }
  auto operator<=>(const Ip&) const = default;
  constexpr bool operator==(const Ip& other) const noexcept {
    const Words a = words(), b = other.words();
    return ((a[0] ^ b[0]) | (a[1] ^ b[1])) == 0;  // without a branch or a call
  }
  [[nodiscard]] constexpr bool none() const noexcept { return *this == Ip{}; }
  [[nodiscard]] constexpr bool is_v4() const noexcept {
    constexpr std::uint32_t kMapped = 0xffff0000;  // little-endian
    return words()[0] == 0 && static_cast<std::uint32_t>(words()[1]) == kMapped;
  }
  /// How many bits an address of its family has: 32 or 128.
  [[nodiscard]] constexpr unsigned bits() const noexcept { return is_v4() ? 32 : 128; }
  /// Whether a host can have it and be reached by it from elsewhere: neither none, loopback, multicast, of
  /// IPv4 0/8 or 240/4, nor link-local of IPv6.
  [[nodiscard]] bool is_host() const noexcept;
  /// The IPv4 address; none for one of the other family.
  [[nodiscard]] constexpr Ipv4 v4() const noexcept {
    if (!is_v4()) return {};
    return {std::uint32_t{octets[12]} << 24 | std::uint32_t{octets[13]} << 16 |
            std::uint32_t{octets[14]} << 8 | octets[15]};
  }
  /// Either notation: a dotted quad as Ipv4::parse takes it, or RFC 4291, 2.2. An IPv4-mapped text is the
  /// IPv4 address.
  [[nodiscard]] static std::optional<Ip> parse(std::string_view text);
  /// A dotted quad, or the canonical text of RFC 5952.
  [[nodiscard]] std::string text() const;

  /// As messages carry it: empty for none, 4 or 16 octets in network order.
  [[nodiscard]] std::string wire() const;
  /// Of wire(), or of bytes from elsewhere: nothing when their number is not 0, 4 or 16.
  [[nodiscard]] static std::optional<Ip> from_wire(std::string_view bytes) noexcept;

 private:
  using Words = std::array<std::uint64_t, 2>;
  [[nodiscard]] constexpr Words words() const noexcept { return std::bit_cast<Words>(octets); }
};

/// The address that bytes of a checked message carry; none when they carry none.
[[nodiscard]] inline Ip ip_of(std::string_view bytes) noexcept {
  return Ip::from_wire(bytes).value_or(Ip{});
}

/// The first `length` bits of an address, counted in its own family (0-32 or 0-128), the rest zero. The
/// prefix 0.0.0.0/0 is not "none": it stays IPv4.
[[nodiscard]] Ip prefix_of(const Ip& address, unsigned length) noexcept;

/// Whether two addresses are of one family and share their first `length` bits.
[[nodiscard]] bool same_prefix(const Ip& one, const Ip& other, unsigned length) noexcept;

/// "10.10.1.100:80", "[2001:db8::100]:80": an address of IPv6 in the brackets of RFC 3986, 3.2.2.
[[nodiscard]] std::string endpoint_text(const Ip& address, std::uint16_t port);

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
enum class Protocol : std::uint8_t { icmp = 1, tcp = 6, udp = 17, icmp6 = 58 };

}  // namespace headgate
