// SPDX-License-Identifier: Apache-2.0
#include "controlplane/control/checks_in_use.h"

#include "controlplane/config/checks.h"
#include "controlplane/config/compile.h"
#include "controlplane/config/topology.h"
#include "model/schema.h"

namespace headgate::control {
namespace {

struct Served {
  const config::Virt& virt;
  const config::Service& service;
  const config::Group& group;
};

/// The type of a check by the word that names it, with the number if it has one: "https", "script7".
std::string type_of(const config::Config& config, const std::string& word) {
  const config::HealthCheck* named = config::find_check(config, word);
  return named == nullptr ? word : schema::keywords(*config::Health_descriptor())[named->type()];
}

/// `real` null: all that have no check of their own.
void put(const config::Config& config, const Served& served, const config::Real* real, ConfigReply& reply) {
  for (const Protocol protocol : config::protocols_of(served.service)) {
    CheckInUse& check = *reply.add_check();
    check.set_group(served.group.number());
    check.set_real(real == nullptr ? 0 : real->number());
    check.set_virt(served.virt.number());
    check.set_vport(served.service.vport());
    check.set_protocol(static_cast<std::uint32_t>(protocol));
    check.set_wanted(config::health_word(real, served.group));
    check.set_check(
        config::check_of(config, served.virt, served.service, real, served.group, protocol).word());
    check.set_replaces(!type_of(config, check.wanted()).starts_with(check.check()));
  }
}

}  // namespace

void put_checks_in_use(const config::Config& config, ConfigReply& reply) {
  for (const config::Virt& virt : config.slb().virt())
    for (const config::Service& service : virt.service()) {
      const config::Group* group = config::find_group(config, service.group());
      if (group == nullptr) continue;
      const Served served{virt, service, *group};
      put(config, served, nullptr, reply);
      for (const std::uint32_t member : group->member())
        if (const config::Real* real = config::find_real(config, member);
            real != nullptr && real->has_health())
          put(config, served, real, reply);
    }
}

}  // namespace headgate::control
