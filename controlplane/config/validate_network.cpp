// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

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

bool host_address(Ipv4 address) {
  const unsigned first = address.value >> 24;
  return first != 0 && first != 127 && first < 224;
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

void check_interface(const Config& config, const Interface& interface, Problems& problems) {
  const auto wrong = [&](std::string sentence) {
    problems.push_back({if_path(interface.number()), std::move(sentence)});
  };
  const Ipv4 address = address_of(interface.addr());
  const Ipv4 mask = address_of(interface.mask());
  if (address.none()) return wrong("is enabled but has no address; set addr");
  if (!host_address(address)) wrong(fmt::format("{} can't be the address of an interface", address.text()));
  if (mask.none()) return wrong("has no mask; set mask");
  const auto length = prefix_length(mask);
  if (!length) return wrong(fmt::format("mask {} has holes", mask.text()));
  const std::uint32_t host = address.value & ~mask.value;
  if (*length < 31 && (host == 0 || host == ~mask.value))
    wrong(fmt::format("{} is the {} address of its subnet", address.text(),
                      host == 0 ? "network" : "broadcast"));
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

void check_next_hop(const Config& config, const std::string& path, Ipv4 gateway, Problems& problems) {
  const auto subnet = subnet_of(config, gateway);
  if (gateway.none())
    problems.push_back({path, "has no gateway address"});
  else if (!subnet)
    problems.push_back(
        {path, fmt::format("gateway {} is in the subnet of no enabled interface", gateway.text())});
  else if (subnet->address == gateway)
    problems.push_back(
        {path, fmt::format("gateway {} is the address of interface {}", gateway.text(), subnet->interface)});
}

void check_routes(const Config& config, Problems& problems) {
  std::map<std::pair<Ipv4, Ipv4>, int> seen;
  for (const StaticRoute& route : config.l3().route().route()) {
    const Ipv4 destination = address_of(route.destination());
    const Ipv4 mask = address_of(route.mask());
    const std::string path = fmt::format("/cfg/l3/route {} {}", destination.text(), mask.text());
    if (!prefix_length(mask))
      problems.push_back({path, fmt::format("mask {} has holes", mask.text())});
    else if ((destination.value & ~mask.value) != 0)
      problems.push_back(
          {path, fmt::format("destination {} has bits outside of its mask", destination.text())});
    if (mask.none()) problems.push_back({path, "a default route is configured by /cfg/l3/gw"});
    if (seen[{destination, mask}]++ == 1) problems.push_back({path, "is there twice"});
    check_next_hop(config, path, address_of(route.gateway()), problems);
  }
}

}  // namespace

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
}

}  // namespace headgate::config
