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
  /// The routes of one length. Numbers are addresses, their first octet the highest.
  template <class Number>
  struct Length {
    Number mask = 0;
    std::vector<Number> prefixes;  ///< sorted
    std::vector<NextHop> next;     ///< of each; without an address: the destination itself
  };
  /// Those of a family, the longest first.
  template <class Number>
  using Lengths = std::vector<Length<Number>>;

  template <class Number>
  void add(Lengths<Number>& lengths, const std::vector<Route>& same_length, Number mask);
  template <class Number>
  [[nodiscard]] static const NextHop* find(const Lengths<Number>& lengths, Number destination) noexcept;

  Lengths<std::uint32_t> of_v4_;
  Lengths<unsigned __int128> of_v6_;
};

}  // namespace headgate::core
