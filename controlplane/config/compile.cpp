// SPDX-License-Identifier: Apache-2.0
#include "controlplane/config/compile.h"

#include <algorithm>

#include "controlplane/config/compile_services.h"
#include "controlplane/config/formula.h"
#include "controlplane/config/topology.h"
#include "model/members.h"

namespace headgate::config {
namespace {

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

forwarding::Settings settings_of(const Advanced& adv) {
  constexpr std::uint32_t kMetricUnit = 10;  // seconds, of metrci
  forwarding::Settings settings;
  settings.set_check_resets(adv.rstchk());
  settings.set_persist_bits4(prefix_length(address_of(adv.pmask()).v4()).value_or(32));
  settings.set_persist_bits6(adv.pmask6());
  settings.set_metric_seconds(adv.metrci() * kMetricUnit);
  return settings;
}

forwarding::Generation generation_of(const Config& config) {
  forwarding::Generation generation;
  for (const Port& port : config.port()) add_port(config, port, generation);
  add_services(config, generation);
  generation.mutable_ageing()->set_closed_seconds(1u << config.slb().adv().fastage());
  *generation.mutable_settings() = settings_of(config.slb().adv());
  return generation;
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
    for_each_member(service, [&](const forwarding::Member& member) {
      plan.guard.services.insert({ip_of(member.rip()), static_cast<L4Port>(member.rport())});
    });
  }
  return plan;
}

}  // namespace

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
  Compiled compiled{generation_of(config), targets_of(config), {}, {}, {}};
  for (const Group& group : config.slb().group()) {
    if (group.realthr() != 0) compiled.alert_at[group.number()] = group.realthr();
    if (has_formula(group)) compiled.formulas[group.number()] = group.advhlth();
  }
  compiled.kernel = kernel_plan(config, compiled.generation);
  return compiled;
}

}  // namespace headgate::config
