// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "dataplane/core/burst.h"
#include "model/ip.h"

namespace headgate::core {

/// Where a destination is reached: the port, and the address to resolve there.
struct NextHop {
  PortIndex port = 0;
  Ipv4 address;
  bool operator==(const NextHop&) const = default;
};

struct Route {
  Ipv4 prefix;
  unsigned length = 0;
  PortIndex port = 0;
  Ipv4 gateway;  ///< none: the destination itself is on the link
  std::uint32_t metric = 0;
  bool operator==(const Route&) const = default;
};

/// An immutable copy of the kernel's main routing table, as far as it leads out of our ports.
class Routes {
 public:
  Routes() = default;
  explicit Routes(std::vector<Route> routes);
  /// Longest prefix, then lowest metric; nothing when no route fits.
  [[nodiscard]] std::optional<NextHop> lookup(Ipv4 destination) const noexcept;

 private:
  std::array<std::vector<Route>, 33> by_length_;  ///< each sorted by prefix
};

}  // namespace headgate::core
