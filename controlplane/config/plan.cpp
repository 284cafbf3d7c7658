// SPDX-License-Identifier: Apache-2.0
#include "controlplane/config/plan.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>

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
  std::map<std::array<std::uint32_t, 5>, std::uint64_t> current;
  for (const forwarding::ServiceStats& row : stats.service())
    current[{row.virt(), row.vport(), row.protocol(), row.real(), row.rport()}] += row.counts().current();
  std::uint64_t sessions = 0;
  for (const Binding& ended : plan.ended)
    sessions += current[{ended.virt, ended.vport, ended.protocol, ended.real, ended.rport}];
  return sessions;
}

}  // namespace headgate::config
