// SPDX-License-Identifier: Apache-2.0
#include "controlplane/config/plan.h"

#include <algorithm>
#include <iterator>

#include "controlplane/config/compile.h"
#include "controlplane/config/topology.h"
#include "model/config_text.h"

namespace headgate::config {
namespace {

/// The bindings that may hold sessions: of members whose server is enabled.
std::set<Binding> live_bindings(const Config& config) {
  std::set<Binding> bindings;
  const forwarding::Generation generation = compile(config).generation;
  for (const forwarding::Service& service : generation.service())
    for (const forwarding::Member& member : service.member())
      if (find_real(config, member.real())->enabled())
        bindings.insert({service.virt(), service.vport(), service.protocol(), member.real(), member.rport()});
  return bindings;
}

}  // namespace

Plan plan(const Config& running, const Config& next) {
  Plan plan{text::diff(running, next), {}};
  std::ranges::set_difference(live_bindings(running), live_bindings(next),
                              std::inserter(plan.ended, plan.ended.end()));
  return plan;
}

std::uint64_t sessions_of(const std::set<Binding>& bindings, const forwarding::Stats& stats) {
  std::uint64_t sessions = 0;
  for (const forwarding::ServiceStats& service : stats.service())
    if (bindings.contains(
            {service.virt(), service.vport(), service.protocol(), service.real(), service.rport()}))
      sessions += service.counts().current();
  return sessions;
}

}  // namespace headgate::config
