// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "controlplane/config/topology.h"
#include "controlplane/config/validate.h"

namespace headgate::config {
namespace {

using Problems = std::vector<Problem>;

std::string port_path(std::uint32_t number) {
  return fmt::format("/cfg/port {}", number);
}
std::string if_path(std::uint32_t number) {
  return fmt::format("/cfg/l3/if {}", number);
}

void check_devices(const Config& config, Problems& problems) {
  std::map<std::string, std::uint32_t> first;
  for (const Port& port : config.port()) {
    if (port.device().empty()) continue;
    const auto [found, fresh] = first.emplace(port.device(), port.number());
    if (!fresh)
      problems.push_back({port_path(port.number()),
                          fmt::format("device {} is already used by port {}", port.device(), found->second)});
  }
}

/// There is no layer-2 switching: a VLAN is carried by one port.
void check_one_port_a_vlan(const Config& config, Problems& problems) {
  std::map<std::uint32_t, std::uint32_t> first;
  for (const Port& port : config.port()) {
    if (port.device().empty()) continue;
    const auto [found, fresh] = first.emplace(vlan_of(config, port), port.number());
    if (fresh) continue;
    problems.push_back(
        {port_path(port.number()),
         fmt::format("ports {} and {} are both in VLAN {}; there is no layer-2 switching, so each port "
                     "needs a VLAN of its own",
                     found->second, port.number(), found->first)});
  }
}

void check_members(const Config& config, Problems& problems) {
  std::map<std::uint32_t, std::uint32_t> first;
  for (const Vlan& vlan : config.l2().vlan()) {
    const std::string path = fmt::format("/cfg/l2/vlan {}", vlan.number());
    for (const std::uint32_t member : vlan.member()) {
      const auto [found, fresh] = first.emplace(member, vlan.number());
      const Port* port = find_port(config, member);
      if (!fresh)
        problems.push_back({path, fmt::format("port {} is already in VLAN {}; a port is in one VLAN", member,
                                              found->second)});
      if (port == nullptr)
        problems.push_back({path, fmt::format("port {} is not configured in /cfg/port", member)});
      else if (port->has_pvid() && port->pvid() != 1 && port->pvid() != vlan.number())
        problems.push_back(
            {path, fmt::format("port {} has pvid {}; set it to {} or remove the port from this VLAN", member,
                               port->pvid(), vlan.number())});
    }
  }
}

std::string unfit_mask(const std::string& mask, const Ip& address) {
  return fmt::format("mask {} does not fit {}; allowed is {}", mask, address.text(),
                     address.is_v4() ? "a subnet mask, or a length 1-32" : "a prefix length 1-128");
}

/// What an address that no host may have is: "network", "broadcast"; "anycast" the first of an IPv6 subnet,
/// which is its routers' (RFC 4291, 2.6.1). Empty for all others, and in subnets of two addresses or one.
std::string_view special_of_subnet(const Ip& address, unsigned length) {
  if (length + 1 >= address.bits()) return {};
  if (prefix_of(address, length) == address) return address.is_v4() ? "network" : "anycast";
  const bool last = address.is_v4() && (address.v4().value | mask_of(length).value) == ~0u;
  return last ? "broadcast" : std::string_view();
}

void check_interface(const Config& config, const Interface& interface, Problems& problems) {
  const auto wrong = [&](std::string sentence) {
    problems.push_back({if_path(interface.number()), std::move(sentence)});
  };
  const Ip address = address_of(interface.addr());
  if (address.none()) return wrong("is enabled but has no address; set addr");
  if (!address.is_host()) wrong(fmt::format("{} can't be the address of an interface", address.text()));
  if (!interface.has_mask()) return wrong("has no mask; set mask");
  const auto length = prefix_length_of(interface.mask(), address);
  if (!length) return wrong(unfit_mask(interface.mask(), address));
  if (const std::string_view special = special_of_subnet(address, *length); !special.empty())
    wrong(fmt::format("{} is the {} address of its subnet", address.text(), special));
  if (!address.is_v4() && interface.has_broad()) wrong("IPv6 has no broadcast address; set broad to 0.0.0.0");
  if (port_of_vlan(config, interface.vlan()) == nullptr)
    wrong(fmt::format("VLAN {} has no port; give a port with a device that VLAN", interface.vlan()));
  else if (!vlan_enabled(config, interface.vlan()))
    wrong(fmt::format("VLAN {} is disabled", interface.vlan()));
}

void check_overlaps(const Config& config, Problems& problems) {
  const std::vector<Subnet> all = subnets(config);
  for (auto later = all.begin(); later != all.end(); ++later)
    for (auto earlier = all.begin(); earlier != later; ++earlier) {
      if (!earlier->holds(later->address) && !later->holds(earlier->address)) continue;
      problems.push_back({if_path(later->interface),
                          fmt::format("its subnet overlaps with that of interface {}", earlier->interface)});
    }
}

void check_next_hop(const Config& config, const std::string& path, const Ip& gateway, Problems& problems) {
  const auto subnet = subnet_of(config, gateway);
  if (gateway.none())
    problems.push_back({path, "has no gateway address"});
  else if (!subnet)
    problems.push_back(
        {path, fmt::format("gateway {} is in the subnet of no enabled interface", gateway.text())});
  else if (subnet->address == gateway)
    problems.push_back(
        {path, fmt::format("gateway {} is the address of interface {}", gateway.text(), subnet->interface)});
  for (const Virt& virt : config.slb().virt())
    if (virt.enabled() && !gateway.none() && address_of(virt.vip()) == gateway)
      problems.push_back(
          {path, fmt::format("gateway {} is the vip of virtual server {}", gateway.text(), virt.number())});
}

void check_routes(const Config& config, Problems& problems) {
  std::map<std::pair<Ip, unsigned>, int> seen;
  for (const StaticRoute& route : config.l3().route().route()) {
    const Ip destination = address_of(route.destination());
    const Ip gateway = address_of(route.gateway());
    const auto length = prefix_length_of(route.mask(), destination);
    const std::string path = fmt::format("/cfg/l3/route {} {}", destination.text(), route.mask());
    if (destination.none() || length == 0u)
      problems.push_back({path, "a default route is configured by /cfg/l3/gw"});
    else if (!length)
      problems.push_back({path, unfit_mask(route.mask(), destination)});
    else if (prefix_of(destination, *length) != destination)
      problems.push_back(
          {path, fmt::format("destination {} has bits outside of its mask", destination.text())});
    else if (seen[{destination, *length}]++ == 1)
      problems.push_back({path, "is there twice"});
    if (!gateway.none() && gateway.is_v4() != destination.is_v4())
      problems.push_back({path, fmt::format("gateway {} is of another family", gateway.text())});
    else
      check_next_hop(config, path, gateway, problems);
  }
}

}  // namespace

/// What comes for a VIP goes to real servers.
void check_state_server(const Config& config, Problems& problems) {
  const StateServer& state = config.sys().state();
  if (!state.enabled()) return;
  const Ip addr = address_of(state.addr());
  const bool loopback = addr.is_v4() ? addr.v4().value >> 24 == 127 : state.addr() == "::1";
  if (!addr.is_host() && !loopback)
    problems.push_back({"/cfg/sys/state", fmt::format("addr {} is no address of a host", state.addr())});
  for (const Virt& virt : config.slb().virt())
    if (address_of(virt.vip()) == addr)
      problems.push_back(
          {"/cfg/sys/state", fmt::format("addr {} is that of virtual server {}; give one of the "
                                         "switch's own",
                                         state.addr(), virt.number())});
}

void validate_network(const Config& config, Problems& problems) {
  check_devices(config, problems);
  check_one_port_a_vlan(config, problems);
  check_members(config, problems);
  for (const Interface& interface : config.l3().interface())
    if (interface.enabled()) check_interface(config, interface, problems);
  check_overlaps(config, problems);
  for (const Gateway& gateway : config.l3().gateway())
    if (gateway.enabled())
      check_next_hop(config, fmt::format("/cfg/l3/gw {}", gateway.number()), address_of(gateway.addr()),
                     problems);
  check_routes(config, problems);
  check_state_server(config, problems);
}

}  // namespace headgate::config
