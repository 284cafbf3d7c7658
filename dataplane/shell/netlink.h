// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "model/ip.h"

struct nlmsghdr;

// The kernel's messages about links, addresses, neighbours and routes of both families, as values. Pure.
namespace headgate::shell::netlink {

/// Whether a message says that something is (new or changed), or that it is no more.
enum class Change : std::uint8_t { present, gone };

struct Link {
  Change change = Change::present;
  int index = 0;
  std::string name;
  Mac mac;
  std::uint32_t mtu = 0;
  bool up = false;  ///< administratively up, with carrier
};
struct Address {
  Change change = Change::present;
  int index = 0;
  Ip address;
};
struct Neighbour {
  Change change = Change::present;
  int index = 0;
  Ip address;
  Mac mac;
  bool usable = false;  ///< packets may be sent to `mac`
  bool stale = false;   ///< usable, but the kernel has not heard of it for a while
};
struct Route {
  Change change = Change::present;
  int index = 0;  ///< of the interface that it leads out of
  Ip prefix;  ///< of the route's family, also that of a default route: of IPv4 it is prefix_of() with length
              ///< 0
  unsigned length = 0;
  Ip gateway;  ///< none: on the link; of IPv6 it may be link-local
  std::uint32_t metric = 0;
};

/// Anything else, or of another family, table or kind than the mirror follows; of IPv6 also what is about
/// multicast, and routes to link-local addresses, which no packet that is forwarded has.
struct Ignored {};

using Event = std::variant<Ignored, Link, Address, Neighbour, Route>;

/// What one whole message says. The message's length was checked by the caller (mnl_nlmsg_ok); attributes
/// that are missing or of a wrong length make it Ignored.
[[nodiscard]] Event parse(const nlmsghdr* message);

}  // namespace headgate::shell::netlink
