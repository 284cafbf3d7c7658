// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "controlplane/kernel/plan.h"

// What has to be done to the kernel, and what of it is ours. Pure.
namespace headgate::kernel {

/// An address on an interface that exists.
struct PlacedAddress {
  std::string device;
  Ip address;
  unsigned prefix = 32;

  auto operator<=>(const PlacedAddress&) const = default;
};

struct Placed {
  std::set<PlacedAddress> addresses;
  std::set<Route> routes;
  std::set<PlacedAddress> subnets;  ///< networks that are on an interface, not behind a gateway

  bool operator==(const Placed&) const = default;
};

/// What headgated has put into the kernel and has to take out again. Kept on disk, so that the next headgated
/// adopts it, and `headgated --withdraw` finds it.
struct Owned {
  Placed placed;
  std::map<std::string, std::string> sysctls;  ///< path -> value before us

  bool operator==(const Owned&) const = default;
};

struct Changes {
  Placed add;
  Placed remove;
  Placed owned;  ///< afterwards
  /// Addresses that are there, link-local ones among them, but whose subnet is not any more: somebody flushed
  /// the routes.
  std::set<PlacedAddress> cut_off;
};

/// The link-local address that an interface with this Ethernet address has by itself (RFC 4291, appendix A).
[[nodiscard]] PlacedAddress link_local(const std::string& device, const Mac& mac);
/// Those interfaces among the addresses' that speak IPv6 and have no link-local address but one of ours:
/// without one, the kernel asks for no neighbour.
[[nodiscard]] std::set<std::string> without_link_local(const Placed& wanted, const Placed& owned,
                                                       const Placed& actual);

/// Adds what is wanted and not there, removes what is ours and no longer wanted. What is there without being
/// ours was set by the administrator: it is used, not owned, and never removed.
[[nodiscard]] Changes reconcile(const Placed& wanted, const Placed& owned, const Placed& actual);

/// The file's text; lines that can't be read are left out.
[[nodiscard]] std::string write_owned(const Owned& owned);
[[nodiscard]] Owned read_owned(std::string_view text);

}  // namespace headgate::kernel
