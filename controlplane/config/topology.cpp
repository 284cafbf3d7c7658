// SPDX-License-Identifier: Apache-2.0
#include "controlplane/config/topology.h"

#include <algorithm>
#include <charconv>

#include "model/ports.h"

namespace headgate::config {
namespace {

template <class Items>
auto find(const Items& items, std::uint32_t number) -> decltype(&*items.begin()) {
  const auto found =
      std::ranges::find_if(items, [number](const auto& item) { return item.number() == number; });
  return found == items.end() ? nullptr : &*found;
}

/// The broadcast address that IPv4 has by default.
Ip last_address(const Ip& address, unsigned length) {
  if (!address.is_v4()) return {};
  return Ipv4{address.v4().value | ~mask_of(length).value};
}

}  // namespace

Ip address_of(const std::string& text) {
  return Ip::parse(text).value_or(Ip{});
}

std::optional<unsigned> prefix_length_of(const std::string& text, const Ip& address) {
  if (const auto mask = Ipv4::parse(text)) return address.is_v4() ? prefix_length(*mask) : std::nullopt;
  unsigned length = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && length <= address.bits() ? std::optional(length) : std::nullopt;
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
    const Ip address = address_of(interface.addr());
    if (!interface.enabled() || address.none()) continue;
    const unsigned length = prefix_length_of(interface.mask(), address).value_or(address.bits());
    const Ip broadcast = address_of(interface.broad());
    result.push_back({interface.number(), address, length,
                      broadcast.none() ? last_address(address, length) : broadcast, interface.vlan()});
  }
  return result;
}

std::optional<Subnet> subnet_of(const Config& config, const Ip& address) {
  std::optional<Subnet> best;
  for (const Subnet& subnet : subnets(config))
    if (subnet.holds(address) && (!best || subnet.length > best->length)) best = subnet;
  return best;
}

std::vector<Protocol> protocols_of(const Service& service) {
  const bool tcp = service.protocol() == PROTOCOL_TCP;
  const bool custom = service.udp() == UDP_AUTO && is_udp_port(static_cast<std::uint16_t>(service.vport()));
  const bool udp = !tcp || custom || service.udp() == UDP_ENA;
  std::vector<Protocol> protocols;
  if (tcp) protocols.push_back(Protocol::tcp);
  if (udp) protocols.push_back(Protocol::udp);
  return protocols;
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
