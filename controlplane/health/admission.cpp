// SPDX-License-Identifier: Apache-2.0
#include "controlplane/health/admission.h"

#include <algorithm>

namespace headgate::health {

Admission admission(const Standing& standing) {
  if (!standing.configured) return Admission::closed;
  if (standing.health == Health::down) return standing.grace ? Admission::draining : Admission::closed;
  if (!serves(standing.health) || !standing.operating) return Admission::draining;
  return standing.health == Health::up ? Admission::open : Admission::last;
}

ServerState server_state(std::span<const ServiceView> services) {
  const auto is = [](Health health) {
    return [health](const ServiceView& view) { return view.health == health; };
  };
  const auto serving = [](const ServiceView& view) { return serves(view.health); };
  if (std::ranges::any_of(services, serving)) return {ServerHealth::up, 4};
  if (services.empty() || !std::ranges::all_of(services, is(Health::down))) return {};
  const bool heard = std::ranges::any_of(services, &ServiceView::heard);
  return {ServerHealth::failed, heard ? 4u : 3u};
}

}  // namespace headgate::health
