// SPDX-License-Identifier: Apache-2.0
#include "controlplane/daemon/announcer.h"

#include <fmt/format.h>

namespace headgate::daemon {
namespace {

using health::Health;
using health::ServerHealth;
using telemetry::Severity;

template <class Map>
auto value_or(const Map& map, const typename Map::key_type& key, typename Map::mapped_type otherwise) {
  const auto found = map.find(key);
  return found == map.end() ? otherwise : found->second;
}

void tell_servers(const Picture& before, const Picture& now, std::vector<Announcement>& lines) {
  for (const auto& [real, state] : now.servers) {
    const std::string rip = now.rips.at(real).text();
    if (state == value_or(before.servers, real, ServerHealth::unknown)) continue;
    if (state == ServerHealth::up)
      lines.push_back({Severity::notice, fmt::format("slb: real server {} operational", rip)});
    if (state == ServerHealth::failed)
      lines.push_back({Severity::alert, fmt::format("slb: cannot contact real server {}", rip)});
  }
}

void tell_services(const Picture& before, const Picture& now, std::vector<Announcement>& lines) {
  for (const auto& [key, state] : now.services) {
    const std::string service = fmt::format("{}:{}", now.rips.at(key.real).text(), key.port);
    if (state == value_or(before.services, key, Health::unknown)) continue;
    if (state == Health::up)
      lines.push_back({Severity::notice, fmt::format("slb: real service {} operational", service)});
    if (state == Health::down)
      lines.push_back({Severity::alert, fmt::format("slb: cannot contact real service {}", service)});
  }
}

void tell_virts(const Picture& before, const Picture& now, std::vector<Announcement>& lines) {
  for (const auto& [virt, available] : now.virts) {
    if (available == value_or(before.virts, virt, true)) continue;
    const std::string name = fmt::format("Virtual Server{}:{}", virt, now.vips.at(virt).text());
    if (available)
      lines.push_back({Severity::notice, "slb: Services are available for " + name});
    else
      lines.push_back({Severity::alert, "slb: No services are available for " + name});
  }
}

/// True when a member of any service is up, false when all have failed.
void note_virt(const forwarding::Service& service, const Targets& targets,
               std::map<std::uint32_t, std::set<Health>>& seen) {
  std::set<Health>& healths = seen[service.virt()];
  for (const forwarding::Member& member : service.member())
    if (const auto found = targets.find(config::from_message(member.target()));
        found != targets.end() && found->second.target.enabled)
      healths.insert(found->second.state.health);
}

}  // namespace

health::ServerState server_state_of(const Targets& targets, std::uint32_t real) {
  std::vector<health::ServiceView> views;
  for (const auto& [key, watched] : targets)
    if (key.real == real) views.push_back({watched.state.health, watched.heard});
  return health::server_state(views);
}

Picture picture_of(const forwarding::Generation& generation, const Targets& targets) {
  Picture picture;
  std::map<std::uint32_t, std::vector<health::ServiceView>> views;  // in one pass: a mass failure asks often
  for (const auto& [key, watched] : targets) {
    picture.services[key] = watched.state.health;
    picture.rips[key.real] = watched.target.address;
    views[key.real].push_back({watched.state.health, watched.heard});
  }
  for (const auto& [real, services] : views) picture.servers[real] = health::server_state(services).health;
  std::map<std::uint32_t, std::set<Health>> seen;
  for (const forwarding::Service& service : generation.service()) {
    picture.vips[service.virt()] = {service.vip()};
    note_virt(service, targets, seen);
  }
  for (const auto& [virt, healths] : seen) {
    if (healths.contains(Health::up))
      picture.virts[virt] = true;
    else if (!healths.contains(Health::unknown))
      picture.virts[virt] = false;
  }
  return picture;
}

std::vector<Announcement> announcements(const Picture& before, const Picture& now) {
  std::vector<Announcement> lines;
  tell_servers(before, now, lines);
  tell_services(before, now, lines);
  tell_virts(before, now, lines);
  return lines;
}

}  // namespace headgate::daemon
