// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "model/ip.h"

struct nlmsghdr;

// The kernel's messages about links, addresses, neighbours and IPv4 routes, as values. Pure.
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
  Ipv4 address;
};
struct Neighbour {
  Change change = Change::present;
  int index = 0;
  Ipv4 address;
  Mac mac;
  bool usable = false;  ///< packets may be sent to `mac`
  bool stale = false;   ///< usable, but the kernel has not heard of it for a while
};
struct Route {
  Change change = Change::present;
  int index = 0;  ///< of the interface that it leads out of
  Ipv4 prefix;
  unsigned length = 0;
  Ipv4 gateway;  ///< none: on the link
  std::uint32_t metric = 0;
};

/// Anything else, or of another family, table or kind than the mirror follows.
struct Ignored {};

using Event = std::variant<Ignored, Link, Address, Neighbour, Route>;

/// What one whole message says. The message's length was checked by the caller (mnl_nlmsg_ok); attributes
/// that are missing or of a wrong length make it Ignored.
[[nodiscard]] Event parse(const nlmsghdr* message);

}  // namespace headgate::shell::netlink
