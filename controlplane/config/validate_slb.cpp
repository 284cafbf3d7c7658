// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "controlplane/config/roles.h"
#include "controlplane/config/topology.h"
#include "controlplane/config/validate.h"
#include "model/ports.h"

namespace headgate::config {
namespace {

using Problems = std::vector<Problem>;

std::string real_path(std::uint32_t number) {
  return fmt::format("/cfg/slb/real {}", number);
}
std::string virt_path(std::uint32_t number) {
  return fmt::format("/cfg/slb/virt {}", number);
}
std::string service_path(const Virt& virt, const Service& service) {
  return fmt::format("{}/service {}", virt_path(virt.number()),
                     port_text(static_cast<std::uint16_t>(service.vport())));
}

/// What an address is to the interfaces: "the address of interface 1"; empty when it is free. In a subnet of
/// two addresses or one there is no broadcast address (RFC 3021).
std::string role_among_interfaces(const Config& config, const Ip& address) {
  for (const Subnet& subnet : subnets(config)) {
    if (subnet.address == address) return fmt::format("the address of interface {}", subnet.interface);
    const bool broadcasts = address.is_v4() && subnet.length + 1 < address.bits();
    if (broadcasts && subnet.broadcast == address)
      return fmt::format("the broadcast address of interface {}", subnet.interface);
  }
  return {};
}

bool fits(IpVersion version, const Ip& address) {
  return version == IPVER_ANY || (version == IPVER_V4) == address.is_v4();
}

void check_real(const Config& config, const Real& real, Problems& problems) {
  const auto wrong = [&](std::string sentence) {
    problems.push_back({real_path(real.number()), std::move(sentence)});
  };
  const Ip rip = address_of(real.rip());
  if (rip.none()) {
    if (real.enabled()) wrong("is enabled but has no address; set rip");
    return;
  }
  if (!rip.is_host()) wrong(fmt::format("{} can't be the address of a server", rip.text()));
  if (!fits(real.ipver(), rip)) wrong(fmt::format("ipver does not fit the address {}", rip.text()));
  if (const std::string role = role_among_interfaces(config, rip); !role.empty())
    wrong(fmt::format("rip {} is {}", rip.text(), role));
}

/// Counters, states and sessions are kept by the number of the server: one address, one number.
void check_rips(const Config& config, Problems& problems) {
  std::map<Ip, std::uint32_t> first;
  for (const Real& real : config.slb().real()) {
    const Ip rip = address_of(real.rip());
    if (rip.none() || !real.enabled()) continue;
    const auto [found, fresh] = first.emplace(rip, real.number());
    if (!fresh)
      problems.push_back({real_path(real.number()), fmt::format("rip {} is already that of real server {}",
                                                                rip.text(), found->second)});
  }
}

void check_port(const Config& config, const SlbPort& port, Problems& problems) {
  const Port* physical = find_port(config, port.number());
  if (physical == nullptr || physical->device().empty())
    problems.push_back(
        {fmt::format("/cfg/slb/port {}", port.number()),
         fmt::format("port {} has no device; set one in /cfg/port {}", port.number(), port.number())});
}

void check_vip(const Config& config, const Virt& virt, Problems& problems) {
  const auto wrong = [&](std::string sentence) {
    problems.push_back({virt_path(virt.number()), std::move(sentence)});
  };
  const Ip vip = address_of(virt.vip());
  if (vip.none()) return wrong("is enabled but has no address; set vip");
  if (!vip.is_host()) wrong(fmt::format("{} can't be the address of a virtual server", vip.text()));
  if (!fits(virt.ipver(), vip)) wrong(fmt::format("ipver does not fit the address {}", vip.text()));
  if (const std::string role = role_among_interfaces(config, vip); !role.empty())
    wrong(fmt::format("vip {} is {}", vip.text(), role));
  for (const Real& real : config.slb().real())
    if (address_of(real.rip()) == vip)
      wrong(fmt::format("vip {} is the rip of real server {}", vip.text(), real.number()));
}

/// Addresses are translated within their family.
template <class Wrong>
void check_families(const Config& config, const Virt& virt, const Group& group, Wrong wrong) {
  const Ip vip = address_of(virt.vip());
  if (!virt.enabled() || vip.none()) return;
  const Real* foreign = nullptr;
  for_each_player(cast_of(config, group), [&](const Player& player) {
    if (foreign == nullptr && address_of(player.real->rip()).is_v4() != vip.is_v4()) foreign = player.real;
  });
  if (foreign == nullptr) return;
  const bool member = std::ranges::count(group.member(), foreign->number()) != 0;
  wrong(fmt::format("vip {} can't be served by real server {}{} of group {}: its rip {} is of another family",
                    vip.text(), foreign->number(), member ? "" : ", a backup", group.number(),
                    address_of(foreign->rip()).text()));
}

template <class Wrong>
void check_protocols(const Service& service, Wrong wrong) {
  if (service.udp() == UDP_STATELESS)
    wrong("udp stateless is not built yet; use ena, which keeps a session for each client");
  if (service.protocol() == PROTOCOL_UDP && service.udp() == UDP_DIS)
    wrong("protocol is udp and udp is dis: nothing is left to balance");
}

void check_service(const Config& config, const Virt& virt, const Service& service, Problems& problems) {
  const auto wrong = [&](std::string sentence) {
    problems.push_back({service_path(virt, service), std::move(sentence)});
  };
  const Group* group = find_group(config, service.group());
  if (group == nullptr) return wrong(fmt::format("group {} does not exist", service.group()));
  check_families(config, virt, *group, wrong);
  check_protocols(service, wrong);
}

/// Two virtual servers may share an address, but not an address and a port (reports 112).
void check_unique(const Config& config, Problems& problems) {
  std::map<std::tuple<Ip, std::uint32_t, Protocol>, std::uint32_t> first;
  for (const Virt& virt : config.slb().virt()) {
    if (!virt.enabled() || address_of(virt.vip()).none()) continue;
    for (const Service& service : virt.service())
      for (const Protocol protocol : protocols_of(service)) {
        const auto [found, fresh] =
            first.emplace(std::tuple(address_of(virt.vip()), service.vport(), protocol), virt.number());
        if (fresh) continue;
        problems.push_back(
            {service_path(virt, service),
             fmt::format("{} port {} is already served by virtual server {}", virt.vip(),
                         port_text(static_cast<std::uint16_t>(service.vport())), found->second)});
        break;  // once for both protocols
      }
  }
}

}  // namespace

void validate_slb(const Config& config, Problems& problems) {
  for (const Real& real : config.slb().real()) check_real(config, real, problems);
  check_rips(config, problems);
  validate_groups(config, problems);
  validate_buddies(config, problems);
  validate_health(config, problems);
  validate_links(config, problems);
  for (const SlbPort& port : config.slb().port())
    if (port.client() || port.server()) check_port(config, port, problems);
  for (const Virt& virt : config.slb().virt()) {
    if (virt.enabled()) check_vip(config, virt, problems);
    for (const Service& service : virt.service()) check_service(config, virt, service, problems);
  }
  check_unique(config, problems);
}

std::vector<Problem> validate(const Config& config) {
  std::vector<Problem> problems;
  validate_network(config, problems);
  validate_slb(config, problems);
  return problems;
}

}  // namespace headgate::config
