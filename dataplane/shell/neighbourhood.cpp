// SPDX-License-Identifier: Apache-2.0
#include "dataplane/shell/neighbourhood.h"

namespace headgate::shell {
namespace {

constexpr std::uint64_t kAskAgainNs = 50'000'000;
/// A neighbour is in use when a packet went to it so recently.
constexpr std::int32_t kInUseTicks = 30 * Tick::kPerSecond;
constexpr std::int32_t kWaitingTicks = 3 * Tick::kPerSecond;

}  // namespace

void Neighbourhood::set_ports(const Ports& ports) {
  port_by_interface_.clear();
  interface_by_port_.clear();
  for (const OpenPort& port : ports.open()) {
    const netlink::Link* link = mirror_.link(port.kernel_interface);
    if (link == nullptr) continue;
    port_by_interface_[link->index] = port.index;
    interface_by_port_[port.index] = link->index;
  }
}

std::optional<core::PortIndex> Neighbourhood::port_of(int interface_index) const {
  const auto found = port_by_interface_.find(interface_index);
  return found == port_by_interface_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<core::Route> Neighbourhood::routes() const {
  std::vector<core::Route> routes;
  for (const netlink::Route& route : mirror_.routes()) {
    const auto port = port_of(route.index);
    if (!port) continue;
    routes.push_back({.prefix = route.prefix,
                      .length = route.length,
                      .port = *port,
                      .gateway = route.gateway,
                      .metric = route.metric});
  }
  return routes;
}

core::PortAddresses Neighbourhood::addresses(const std::set<Ip>& vips) const {
  core::PortAddresses out;
  for (const auto& [port, interface] : interface_by_port_) {
    out.v4[port] = mirror_.address_on(interface, false, vips);
    out.v6[port] = mirror_.address_on(interface, true, vips);
  }
  return out;
}

void Neighbourhood::carry_over(const netlink::Neighbour& neighbour, core::PortIndex port) {
  if (neighbour.usable) {
    hops_.resolve(port, neighbour.address, neighbour.mac);
  } else {
    hops_.forget(port, neighbour.address);
  }
}

void Neighbourhood::sync_all() {
  for (std::size_t i = 0; i < core::Hops::kSlots; ++i) {
    const auto known = hops_.neighbour(static_cast<core::HopIndex>(i));
    if (!known || !known->resolved) continue;
    const auto interface = interface_by_port_.find(known->port);
    if (interface == interface_by_port_.end() ||
        !mirror_.neighbours().contains({interface->second, known->address})) {
      hops_.forget(known->port, known->address);
    }
  }
  for (const auto& [key, neighbour] : mirror_.neighbours()) {
    if (const auto port = port_of(key.first)) carry_over(neighbour, *port);
  }
}

void Neighbourhood::sync(const std::set<KernelMirror::NeighbourKey>& changed) {
  for (const auto& key : changed) {
    const auto port = port_of(key.first);
    if (!port) continue;
    const auto found = mirror_.neighbours().find(key);
    if (found != mirror_.neighbours().end()) {
      carry_over(found->second, *port);
    } else {
      hops_.forget(*port, key.second);
    }
  }
}

void Neighbourhood::solicit(core::HopIndex index, const core::Hops::Neighbour& neighbour,
                            std::uint64_t now_ns) {
  const auto interface = interface_by_port_.find(neighbour.port);
  if (interface == interface_by_port_.end()) return;
  const auto [asked, first] = asked_ns_.try_emplace(index, now_ns);
  if (!first && now_ns - asked->second < kAskAgainNs) return;
  asked->second = now_ns;
  mirror_.solicit(interface->second, neighbour.address);
}

void Neighbourhood::want(std::span<const core::HopIndex> hops, std::uint64_t now_ns) {
  for (const core::HopIndex index : hops) {
    const auto neighbour = hops_.neighbour(index);
    if (neighbour && !neighbour->resolved) solicit(index, *neighbour, now_ns);
  }
}

std::size_t Neighbourhood::renew(Tick now, std::uint64_t now_ns) {
  std::erase_if(asked_ns_, [&](const auto& entry) { return now_ns - entry.second >= kAskAgainNs; });
  std::size_t forgotten = 0;
  for (std::size_t i = 0; i < core::Hops::kSlots; ++i) {
    const auto index = static_cast<core::HopIndex>(i);
    const auto neighbour = hops_.neighbour(index);
    if (!neighbour) continue;
    const std::int32_t unused = now.since(neighbour->used);
    if (!neighbour->resolved) {
      if (unused <= kWaitingTicks) solicit(index, *neighbour, now_ns);
      forgotten += unused > static_cast<std::int32_t>(kForgottenSeconds * Tick::kPerSecond);
      continue;
    }
    if (unused > kInUseTicks) continue;
    const auto interface = interface_by_port_.find(neighbour->port);
    if (interface == interface_by_port_.end()) continue;
    const auto known = mirror_.neighbours().find({interface->second, neighbour->address});
    if (known == mirror_.neighbours().end() || known->second.stale) solicit(index, *neighbour, now_ns);
  }
  return forgotten;
}

}  // namespace headgate::shell
