// SPDX-License-Identifier: Apache-2.0
#include "controlplane/config/plan.h"

#include <algorithm>
#include <iterator>

#include "controlplane/config/compile.h"
#include "controlplane/config/topology.h"
#include "model/config_text.h"
#include "model/members.h"

namespace headgate::config {
namespace {

/// The bindings that may hold sessions: of members, backups and groups that step in, whose server is enabled.
std::set<Binding> live_bindings(const Config& config) {
  std::set<Binding> bindings;
  const forwarding::Generation generation = compile(config).generation;
  for (const forwarding::Service& service : generation.service())
    for_each_member(service, [&](const forwarding::Member& member) {
      if (!find_real(config, member.real())->enabled()) return;
      bindings.insert({service.virt(), service.vport(), service.protocol(), member.real(), member.rport(),
                       service.group(), ip_of(service.vip()).text(), ip_of(member.rip()).text()});
    });
  return bindings;
}

}  // namespace

Plan plan(const Config& running, const Config& next) {
  Plan plan{text::diff(running, next), {}};
  const std::set<Binding> after = live_bindings(next);
  std::ranges::set_difference(live_bindings(running), after, std::inserter(plan.ended, plan.ended.end()));
  return plan;
}

std::uint64_t sessions_ended(const Plan& plan, const forwarding::Stats& stats) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (const Binding& ended : plan.ended) pairs.insert({ended.virt, ended.real});
  std::uint64_t sessions = 0;
  for (const forwarding::VirtStats& virt : stats.virt())
    if (pairs.contains({virt.virt(), virt.real()})) sessions += virt.counts().current();
  return sessions;
}

}  // namespace headgate::config
