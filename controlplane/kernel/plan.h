// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <set>
#include <string>
#include <vector>

#include "model/ip.h"

// What headgated wants of the kernel: values to compare, print and keep.
namespace headgate::kernel {

/// The kernel interface of a port. With AF_XDP it is the device; else the dataplane says what it is.
struct Link {
  std::uint32_t port = 0;  ///< 0: loopback
  std::string device;      ///< empty: ask the dataplane

  auto operator<=>(const Link&) const = default;
};

struct Address {
  Link link;
  Ip address;
  unsigned prefix = 32;  ///< of a VIP all bits of its family
  Ip broadcast;          ///< none for a VIP, and in IPv6
  bool vip = false;      ///< announced to the neighbours

  auto operator<=>(const Address&) const = default;
};

struct Route {
  Ip destination;
  unsigned prefix = 0;  ///< 0: the default route of the gateway's family
  Ip gateway;

  auto operator<=>(const Route&) const = default;
  /// "10.1.0.0/16", "::/0"
  [[nodiscard]] std::string network() const {
    const std::string any = gateway.is_v4() ? "0.0.0.0" : "::";
    return (destination.none() ? any : destination.text()) + "/" + std::to_string(prefix);
  }
};

/// A service of a real server, whose replies must not leave untranslated.
struct RealService {
  Ip address;
  L4Port port = 0;

  auto operator<=>(const RealService&) const = default;
};

/// What the kernel may not touch while no dataplane takes it: no gap may let it answer or forward.
struct Guard {
  std::set<Ip> vips;
  std::set<RealService> services;

  [[nodiscard]] bool empty() const { return vips.empty() && services.empty(); }
  bool operator==(const Guard&) const = default;
};

struct Plan {
  std::vector<Link> links;  ///< to be up
  std::set<Address> addresses;
  std::set<Route> routes;
  Guard guard;

  bool operator==(const Plan&) const = default;
};

}  // namespace headgate::kernel
