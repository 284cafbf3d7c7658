// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "dataplane/core/burst.h"
#include "model/ip.h"

namespace headgate::core {

/// Where a destination is reached: the port, and the address to resolve there.
struct NextHop {
  PortIndex port = 0;
  Ip address;
  bool operator==(const NextHop&) const = default;
};

/// The prefix of the default route of IPv4; that of IPv6 is Ip{}.
inline constexpr Ip kAnyIpv4 = [] {
  Ip any;
  any.octets[10] = any.octets[11] = 0xff;
  return any;
}();

struct Route {
  Ip prefix;            ///< its family is the route's
  unsigned length = 0;  ///< 0-32 or 0-128
  PortIndex port = 0;
  Ip gateway;  ///< none: the destination itself is on the link
  std::uint32_t metric = 0;
  bool operator==(const Route&) const = default;
};

/// An immutable copy of the kernel's main routing tables, as far as they lead out of our ports.
class Routes {
 public:
  Routes() = default;
  explicit Routes(std::vector<Route> routes);
  /// Longest prefix, then lowest metric; nothing when no route fits.
  [[nodiscard]] std::optional<NextHop> lookup(const Ip& destination) const noexcept;

 private:
  /// An address as two numbers, its first octet the highest.
  struct Number {
    std::uint64_t high = 0;
    std::uint64_t low = 0;
    auto operator<=>(const Number&) const = default;
  };
  struct Way {
    Number prefix;
    NextHop next;  ///< none: the destination itself
  };
  struct Length {
    unsigned bits = 0;  ///< of the 128: those of IPv4 have 96 and more
    Number mask;
    std::vector<Way> ways;  ///< sorted by prefix
  };
  [[nodiscard]] static Number number_of(const Ip& address) noexcept;
  [[nodiscard]] static Number mask_of_bits(unsigned bits) noexcept;
  std::vector<Length> lengths_;  ///< longest first
};

}  // namespace headgate::core
