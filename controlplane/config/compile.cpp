// SPDX-License-Identifier: Apache-2.0
#include "controlplane/config/compile.h"

#include <algorithm>

#include "controlplane/config/topology.h"

namespace headgate::config {
namespace {

constexpr std::uint64_t kSecondsPerMinute = 60;
constexpr std::uint64_t kLongestIdle = 3ull * 365 * 24 * 3600;

struct FlatService {
  const Virt& virt;
  const Service& service;
  const Group& group;
  Protocol protocol;
};

/// The services that are switched: of enabled virtual servers, while balancing is on.
std::vector<FlatService> services(const Config& config) {
  std::vector<FlatService> result;
  if (!config.slb().enabled()) return result;
  for (const Virt& virt : config.slb().virt())
    for (const Service& service : virt.service()) {
      const Group* group = find_group(config, service.group());
      if (!virt.enabled() || group == nullptr) continue;
      for (const Protocol protocol : protocols_of(service))
        result.push_back({virt, service, *group, protocol});
    }
  return result;
}

bool usable(const Real* real) {
  return real != nullptr && !address_of(real->rip()).none();
}

/// Slow ageing stretches every idle time (reference 5.2): the configured minutes are those of slowage 0.
/// Three years are for ever, and within what the dataplane's clock can tell apart.
std::uint32_t idle_seconds(const Config& config, const Service& service, const Real& real) {
  const std::uint64_t minutes = service.tmout() != 0 ? service.tmout() : real.tmout();
  return static_cast<std::uint32_t>(
      std::min(minutes * kSecondsPerMinute << config.slb().adv().slowage(), kLongestIdle));
}

void add_member(const Config& config, const FlatService& from, const Real& real, forwarding::Service& to) {
  forwarding::Member& member = *to.add_member();
  member.set_real(real.number());
  member.set_rip(address_of(real.rip()).wire());
  member.set_rport(real_port(from.service));
  member.set_weight(real.weight());
  member.set_idle_seconds(idle_seconds(config, from.service, real));
  *member.mutable_target() =
      to_message(target_of(config, from.virt, from.service, real.number(), from.protocol));
}

void add_service(const Config& config, const FlatService& from, forwarding::Generation& generation) {
  forwarding::Service& service = *generation.add_service();
  service.set_virt(from.virt.number());
  service.set_vip(address_of(from.virt.vip()).wire());
  service.set_vport(from.service.vport());
  service.set_protocol(static_cast<std::uint32_t>(from.protocol));
  service.set_group(from.group.number());
  service.set_metric(static_cast<forwarding::Metric>(from.group.metric()));
  for (const std::uint32_t number : from.group.member())
    if (const Real* real = find_real(config, number); usable(real)) add_member(config, from, *real, service);
}

void add_port(const Config& config, const Port& from, forwarding::Generation& generation) {
  const std::uint32_t vlan = vlan_of(config, from);
  if (from.device().empty() || !vlan_enabled(config, vlan)) return;
  forwarding::Port& port = *generation.add_port();
  port.set_number(from.number());
  port.set_device(from.device());
  port.set_driver(static_cast<forwarding::Driver>(from.driver()));
  port.set_vlan(vlan);
  for (const SlbPort& processing : config.slb().port()) {
    if (processing.number() != from.number()) continue;
    port.set_client(processing.client());
    port.set_server(processing.server());
  }
}

forwarding::Generation generation_of(const Config& config) {
  forwarding::Generation generation;
  for (const Port& port : config.port()) add_port(config, port, generation);
  for (const FlatService& service : services(config)) add_service(config, service, generation);
  generation.mutable_ageing()->set_closed_seconds(1u << config.slb().adv().fastage());
  return generation;
}

std::map<TargetKey, Target> targets_of(const Config& config) {
  std::map<TargetKey, Target> targets;
  for (const auto& [virt, service, group, protocol] : services(config))
    for (const std::uint32_t number : group.member()) {
      const Real* real = find_real(config, number);
      if (!usable(real)) continue;
      targets[target_of(config, virt, service, number, protocol)] = {
          .address = address_of(real->rip()),
          .check = check_of(config, virt, service, group, protocol),
          .policy = {std::chrono::seconds(real->inter()), real->retry(), real->restr()},
          .enabled = real->enabled()};
    }
  return targets;
}

kernel::Link link_of(const Port& port) {
  return {port.number(), port.driver() == XDP_SOCKET ? port.device() : std::string()};
}

/// A VIP belongs to the interface whose subnet holds it; one that clients reach by a route, to the loopback.
kernel::Address vip_address(const Config& config, const Ip& vip) {
  const auto subnet = subnet_of(config, vip);
  const Port* port = subnet ? port_of_vlan(config, subnet->vlan) : nullptr;
  return {port != nullptr ? link_of(*port) : kernel::Link{0, "lo"}, vip, vip.bits(), {}, true};
}

/// The enabled gateway of a family with the lowest number; none when there is none.
Ip default_gateway(const Config& config, bool ipv4) {
  const Gateway* lowest = nullptr;
  for (const Gateway& gateway : config.l3().gateway()) {
    if (!gateway.enabled() || address_of(gateway.addr()).is_v4() != ipv4) continue;
    if (lowest == nullptr || gateway.number() < lowest->number()) lowest = &gateway;
  }
  return lowest == nullptr ? Ip{} : address_of(lowest->addr());
}

void add_routes(const Config& config, kernel::Plan& plan) {
  for (const StaticRoute& route : config.l3().route().route()) {
    const Ip gateway = address_of(route.gateway());
    plan.routes.insert({address_of(route.destination()),
                        prefix_length_of(route.mask(), gateway).value_or(gateway.bits()), gateway});
  }
  for (const bool ipv4 : {true, false})
    if (const Ip gateway = default_gateway(config, ipv4); !gateway.none())
      plan.routes.insert({{}, 0, gateway});
}

kernel::Plan kernel_plan(const Config& config, const forwarding::Generation& generation) {
  kernel::Plan plan;
  for (const forwarding::Port& port : generation.port())
    plan.links.push_back(link_of(*find_port(config, port.number())));
  for (const Subnet& subnet : subnets(config))
    if (const Port* port = port_of_vlan(config, subnet.vlan); port != nullptr)
      plan.addresses.insert({link_of(*port), subnet.address, subnet.length, subnet.broadcast, false});
  add_routes(config, plan);
  for (const forwarding::Service& service : generation.service()) {
    const Ip vip = ip_of(service.vip());
    plan.addresses.insert(vip_address(config, vip));
    plan.guard.vips.insert(vip);
    for (const forwarding::Member& member : service.member())
      plan.guard.services.insert({ip_of(member.rip()), static_cast<L4Port>(member.rport())});
  }
  return plan;
}

probe::Kind kind_of(Health health) {
  switch (health) {
    case HEALTH_TCP:
      return probe::Kind::tcp;
    case HEALTH_HTTP:
      return probe::Kind::http;
    case HEALTH_ICMP:
      return probe::Kind::icmp;
  }
  return probe::Kind::tcp;
}

}  // namespace

L4Port real_port(const Service& service) {
  return static_cast<L4Port>(service.rport() != 0 ? service.rport() : service.vport());
}

probe::Check check_of(const Config& config, const Virt& virt, const Service& service, const Group& group,
                      Protocol protocol) {
  if (protocol == Protocol::udp) return {probe::Kind::icmp, {}, {}};
  return probe::resolve({.health = kind_of(group.health()),
                         .content = group.content(),
                         .hname = service.hname(),
                         .dname = virt.dname(),
                         .vport = static_cast<L4Port>(service.vport()),
                         .allow_http_anywhere = config.slb().adv().allowhc()});
}

TargetKey target_of(const Config& config, const Virt& virt, const Service& service, std::uint32_t real,
                    Protocol protocol) {
  const Group* group = find_group(config, service.group());
  const probe::Check check =
      group != nullptr ? check_of(config, virt, service, *group, protocol) : probe::Check{};
  return {real, real_port(service), protocol, check.identity()};
}

forwarding::Target to_message(const TargetKey& key) {
  forwarding::Target target;
  target.set_real(key.real);
  target.set_port(key.port);
  target.set_protocol(static_cast<std::uint32_t>(key.protocol));
  target.set_check(key.check);
  return target;
}

TargetKey from_message(const forwarding::Target& target) {
  return {target.real(), static_cast<L4Port>(target.port()), static_cast<Protocol>(target.protocol()),
          target.check()};
}

Compiled compile(const Config& config) {
  Compiled compiled{generation_of(config), targets_of(config), {}};
  compiled.kernel = kernel_plan(config, compiled.generation);
  return compiled;
}

}  // namespace headgate::config
