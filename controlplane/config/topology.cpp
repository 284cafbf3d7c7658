// SPDX-License-Identifier: Apache-2.0
#include "controlplane/config/topology.h"

#include <algorithm>

namespace headgate::config {
namespace {

template <class Items>
auto find(const Items& items, std::uint32_t number) -> decltype(&*items.begin()) {
  const auto found =
      std::ranges::find_if(items, [number](const auto& item) { return item.number() == number; });
  return found == items.end() ? nullptr : &*found;
}

}  // namespace

Ipv4 address_of(const std::string& text) {
  return Ipv4::parse(text).value_or(Ipv4{});
}

std::uint32_t vlan_of(const Config& config, const Port& port) {
  for (const Vlan& vlan : config.l2().vlan())
    if (std::ranges::count(vlan.member(), port.number()) != 0) return vlan.number();
  return port.pvid();
}

bool vlan_enabled(const Config& config, std::uint32_t number) {
  const Vlan* vlan = find(config.l2().vlan(), number);
  return vlan == nullptr || vlan->enabled();
}

const Port* port_of_vlan(const Config& config, std::uint32_t vlan) {
  const auto carries = [&](const Port& port) {
    return !port.device().empty() && vlan_of(config, port) == vlan;
  };
  const auto found = std::ranges::find_if(config.port(), carries);
  return found == config.port().end() ? nullptr : &*found;
}

std::vector<Subnet> subnets(const Config& config) {
  std::vector<Subnet> result;
  for (const Interface& interface : config.l3().interface()) {
    const Ipv4 address = address_of(interface.addr());
    const Ipv4 mask = address_of(interface.mask());
    if (!interface.enabled() || address.none()) continue;
    const Ipv4 broadcast = address_of(interface.broad());
    const Ipv4 last{address.value | ~mask.value};
    result.push_back(
        {interface.number(), address, mask, broadcast.none() ? last : broadcast, interface.vlan()});
  }
  return result;
}

std::optional<Subnet> subnet_of(const Config& config, Ipv4 address) {
  std::optional<Subnet> best;
  for (const Subnet& subnet : subnets(config))
    if (subnet.holds(address) && (!best || subnet.mask > best->mask)) best = subnet;
  return best;
}

const Real* find_real(const Config& config, std::uint32_t number) {
  return find(config.slb().real(), number);
}
const Group* find_group(const Config& config, std::uint32_t number) {
  return find(config.slb().group(), number);
}
const Port* find_port(const Config& config, std::uint32_t number) {
  return find(config.port(), number);
}

}  // namespace headgate::config
