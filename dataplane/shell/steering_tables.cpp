// SPDX-License-Identifier: Apache-2.0
#include "dataplane/shell/steering_tables.h"

#include <arpa/inet.h>

#include "model/members.h"

namespace headgate::shell {
namespace {

Ip ip_on_wire(const steering_address* address) noexcept {
  Ip ip;
  static_assert(sizeof address->words == sizeof ip.octets);
  std::memcpy(ip.octets.data(), address->words, sizeof ip.octets);
  return ip;
}

bool vip_on_wire(const void* tables, const steering_address* address) noexcept {
  return static_cast<const Steering*>(tables)->is_vip(ip_on_wire(address));
}
bool service_on_wire(const void* tables, const steering_address* address, std::uint16_t port,
                     std::uint8_t protocol) noexcept {
  return static_cast<const Steering*>(tables)->is_service({ip_on_wire(address), ntohs(port), protocol});
}
bool local_on_wire(const void* tables, const steering_address* address) noexcept {
  return static_cast<const Steering*>(tables)->is_local(ip_on_wire(address));
}

}  // namespace
}  // namespace headgate::shell

#define STEER_IS_VIP(tables, address) headgate::shell::vip_on_wire(tables, address)
#define STEER_IS_SERVICE(tables, address, port, protocol) \
  headgate::shell::service_on_wire(tables, address, port, protocol)
#define STEER_IS_LOCAL(tables, address) headgate::shell::local_on_wire(tables, address)
#define STEER_FOLLOW(tables, frame, end, walk) (static_cast<void>(tables), steer_follow(frame, end, walk))
#include "dataplane/shell/steering_decision.h"

namespace headgate::shell {

SteeringTables steering_tables(const forwarding::Generation& generation,
                               const std::set<Ip>& kernel_addresses) {
  SteeringTables tables;
  tables.locals = kernel_addresses;
  for (const auto& service : generation.service()) {
    const auto protocol = static_cast<std::uint8_t>(service.protocol());
    const Ip vip = ip_of(service.vip());
    tables.vips.insert(vip);
    tables.locals.erase(vip);
    for_each_member(service, [&](const forwarding::Member& member) {
      const Ip rip = ip_of(member.rip());
      tables.services.insert({rip, static_cast<L4Port>(member.rport()), protocol});
      tables.services.insert({rip, 0, protocol});
    });
  }
  return tables;
}

Steering::Steering(const SteeringTables& tables) {
  vips_.insert(tables.vips.begin(), tables.vips.end());
  services_.insert(tables.services.begin(), tables.services.end());
  locals_.insert(tables.locals.begin(), tables.locals.end());
}

bool Steering::takes(std::span<const std::uint8_t> frame) const noexcept {
  return steer(frame.data(), frame.data() + frame.size(), this) == STEER_SWITCH;
}

}  // namespace headgate::shell
