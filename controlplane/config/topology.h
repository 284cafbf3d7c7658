// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "model/config.pb.h"
#include "model/ip.h"

// How ports, VLANs and interfaces fit together. Pure, over a configuration that need not be valid.
namespace headgate::config {

/// An enabled interface with an address.
struct Subnet {
  std::uint32_t interface = 0;
  Ip address;
  unsigned length = 0;  ///< of the prefix
  Ip broadcast;         ///< as configured, else the last address of the subnet; none in IPv6
  std::uint32_t vlan = 1;

  [[nodiscard]] bool holds(const Ip& other) const { return same_prefix(address, other, length); }
};

/// The address of a field, none when it does not parse.
[[nodiscard]] Ip address_of(const std::string& text);
/// The length of a PREFIX, as far as it is one of an address's family: IPv4 has masks and lengths to 32, IPv6
/// lengths to 128 only.
[[nodiscard]] std::optional<unsigned> prefix_length_of(const std::string& text, const Ip& address);

/// The VLAN of a port: the one that lists it as a member, else its pvid. Adding a port to a VLAN is what
/// moves it there, as administrators of the family expect; validation refuses a pvid that says something
/// else.
[[nodiscard]] std::uint32_t vlan_of(const Config& config, const Port& port);
/// VLANs exist when a port or interface uses them; only one that was configured can be disabled.
[[nodiscard]] bool vlan_enabled(const Config& config, std::uint32_t vlan);
/// The port that carries a VLAN; there is at most one in a valid configuration.
[[nodiscard]] const Port* port_of_vlan(const Config& config, std::uint32_t vlan);

[[nodiscard]] std::vector<Subnet> subnets(const Config& config);
/// The subnet that an address belongs to; the longest mask when there are several.
[[nodiscard]] std::optional<Subnet> subnet_of(const Config& config, const Ip& address);

/// The protocols that a service is balanced for, TCP first (reference 2.4).
[[nodiscard]] std::vector<Protocol> protocols_of(const Service& service);

[[nodiscard]] const Real* find_real(const Config& config, std::uint32_t number);
[[nodiscard]] const Group* find_group(const Config& config, std::uint32_t number);
[[nodiscard]] const Port* find_port(const Config& config, std::uint32_t number);

}  // namespace headgate::config
