// SPDX-License-Identifier: Apache-2.0
#include "controlplane/config/plan.h"

#include <algorithm>
#include <iterator>
#include <utility>

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
  Plan plan{text::diff(running, next), {}, {}};
  const std::set<Binding> before = live_bindings(running);
  const std::set<Binding> after = live_bindings(next);
  std::ranges::set_difference(before, after, std::inserter(plan.ended, plan.ended.end()));
  std::ranges::set_intersection(before, after, std::inserter(plan.kept, plan.kept.end()));
  return plan;
}

std::uint64_t sessions_ended(const Plan& plan, const forwarding::Stats& stats) {
  std::set<std::uint32_t> reals;                            // that keep no binding
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;  // virtual server and real server, of the others
  for (const Binding& binding : plan.ended) {
    if (std::ranges::count(plan.kept, binding.real, &Binding::real) == 0)
      reals.insert(binding.real);
    else
      pairs.insert({binding.virt, binding.real});
  }
  std::uint64_t sessions = 0;
  for (const forwarding::RealStats& real : stats.real())
    if (reals.contains(real.real())) sessions += real.counts().current();
  for (const forwarding::VirtStats& virt : stats.virt())
    if (pairs.contains({virt.virt(), virt.real()})) sessions += virt.counts().current();
  return sessions;
}

}  // namespace headgate::config
