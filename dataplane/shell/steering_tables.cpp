// SPDX-License-Identifier: Apache-2.0
#include "dataplane/shell/steering_tables.h"

#include <arpa/inet.h>

namespace headgate::shell {
namespace {

bool vip_on_wire(const void* tables, std::uint32_t address) noexcept {
  return static_cast<const Steering*>(tables)->is_vip({ntohl(address)});
}
bool service_on_wire(const void* tables, std::uint32_t address, std::uint16_t port,
                     std::uint8_t protocol) noexcept {
  return static_cast<const Steering*>(tables)->is_service({{ntohl(address)}, ntohs(port), protocol});
}
bool local_on_wire(const void* tables, std::uint32_t address) noexcept {
  return static_cast<const Steering*>(tables)->is_local({ntohl(address)});
}

}  // namespace
}  // namespace headgate::shell

#define STEER_IS_VIP(tables, address) headgate::shell::vip_on_wire(tables, address)
#define STEER_IS_SERVICE(tables, address, port, protocol) \
  headgate::shell::service_on_wire(tables, address, port, protocol)
#define STEER_IS_LOCAL(tables, address) headgate::shell::local_on_wire(tables, address)
#include "dataplane/shell/steering_decision.h"

namespace headgate::shell {

SteeringTables steering_tables(const forwarding::Generation& generation,
                               const std::set<Ipv4>& kernel_addresses) {
  SteeringTables tables;
  tables.locals = kernel_addresses;
  for (const auto& service : generation.service()) {
    const auto protocol = static_cast<std::uint8_t>(service.protocol());
    const Ipv4 vip = ip_of(service.vip()).v4();
    tables.vips.insert(vip);
    tables.locals.erase(vip);
    for (const auto& member : service.member()) {
      const Ipv4 rip = ip_of(member.rip()).v4();
      tables.services.insert({rip, static_cast<L4Port>(member.rport()), protocol});
      tables.services.insert({rip, 0, protocol});
    }
  }
  return tables;
}

Steering::Steering(const SteeringTables& tables) {
  for (const Ipv4 address : tables.vips) vips_.insert(address.value);
  for (const ServiceKey& key : tables.services) services_.insert(key.packed());
  for (const Ipv4 address : tables.locals) locals_.insert(address.value);
}

bool Steering::takes(std::span<const std::uint8_t> frame) const noexcept {
  return steer(frame.data(), frame.data() + frame.size(), this) == STEER_SWITCH;
}

}  // namespace headgate::shell
