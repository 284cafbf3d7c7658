// SPDX-License-Identifier: Apache-2.0
#include "controlplane/daemon/announcer.h"

#include <optional>

#include <fmt/format.h>

#include "model/ports.h"

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

/// What was known of a service before this check of it.
Health known_before(const Picture& before, const TargetKey& key) {
  if (const auto same = before.services.find(key); same != before.services.end()) return same->second;
  for (const auto& [other, state] : before.services)
    if (other.real == key.real && other.port == key.port && other.protocol == key.protocol) return state;
  return Health::unknown;
}

void tell_services(const Picture& before, const Picture& now, std::vector<Announcement>& lines) {
  for (const auto& [key, state] : now.services) {
    const std::string service = endpoint_text(now.rips.at(key.real), key.port);
    if (state == known_before(before, key)) continue;
    if (state == Health::up)
      lines.push_back({Severity::notice, fmt::format("slb: real service {} operational", service)});
    if (state == Health::down)
      lines.push_back({Severity::alert, fmt::format("slb: cannot contact real service {}", service)});
  }
}

/// A single service is told about only where others of its virtual server go on; else the server's line says
/// it.
void tell_virt_services(const Picture& before, const Picture& now, std::vector<Announcement>& lines) {
  for (const auto& [key, available] : now.virt_services) {
    const auto& [virt, vport, protocol] = key;
    if (available == value_or(before.virt_services, key, true)) continue;
    if (!value_or(now.virts, virt, false) || !value_or(before.virts, virt, true)) continue;
    const std::string name =
        fmt::format("service {}{} of Virtual Server{}:{}", port_text(static_cast<L4Port>(vport)),
                    protocol == Protocol::udp ? " udp" : "", virt, now.vips.at(virt).text());
    if (available)
      lines.push_back({Severity::notice, "slb: Real servers are available for " + name});
    else
      lines.push_back({Severity::alert, "slb: No real servers are available for " + name});
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

/// True when a member takes new sessions, false when none does; nothing while one that may is not proven.
std::optional<bool> available(const forwarding::Service& service, const Monitor& monitor) {
  bool unknown = false;
  for (const forwarding::Member& member : service.member()) {
    const auto found = monitor.targets().find(config::from_message(member.target()));
    if (found == monitor.targets().end()) continue;
    if (monitor.admission(found->second, found->first) == health::Admission::open) return true;
    const bool may = found->second.target.enabled && monitor.operation(member.real()) == forwarding::ENABLED;
    unknown = unknown || (may && found->second.state.health == Health::unknown);
  }
  return unknown ? std::nullopt : std::optional(false);
}

/// A virtual server serves as long as one of its services does.
void note_service(const forwarding::Service& service, const Monitor& monitor, Picture& picture,
                  std::set<std::uint32_t>& undecided) {
  picture.vips[service.virt()] = ip_of(service.vip());
  const auto serves = available(service, monitor);
  if (!serves) undecided.insert(service.virt());
  if (!serves) return;
  picture.virt_services[{service.virt(), service.vport(), static_cast<Protocol>(service.protocol())}] =
      *serves;
  bool& virt = picture.virts.try_emplace(service.virt(), false).first->second;
  virt = virt || *serves;
}

}  // namespace

health::ServerState server_state_of(const Targets& targets, std::uint32_t real) {
  std::vector<health::ServiceView> views;
  for (const auto& [key, watched] : targets)
    if (key.real == real) views.push_back({watched.state.health, watched.heard});
  return health::server_state(views);
}

Picture picture_of(const forwarding::Generation& generation, const Monitor& monitor) {
  Picture picture;
  std::map<std::uint32_t, std::vector<health::ServiceView>> views;  // in one pass: a mass failure asks often
  for (const auto& [key, watched] : monitor.targets()) {
    picture.services[key] = watched.state.health;
    picture.rips[key.real] = watched.target.address;
    views[key.real].push_back({watched.state.health, watched.heard});
  }
  for (const auto& [real, services] : views) picture.servers[real] = health::server_state(services).health;
  std::set<std::uint32_t> undecided;
  for (const forwarding::Service& service : generation.service())
    note_service(service, monitor, picture, undecided);
  std::erase_if(picture.virts,
                [&](const auto& entry) { return !entry.second && undecided.contains(entry.first); });
  return picture;
}

Picture carried_over(const Picture& before, Picture now) {
  for (auto& [real, state] : now.servers)
    if (state == ServerHealth::unknown) state = value_or(before.servers, real, ServerHealth::unknown);
  for (auto& [key, state] : now.services)
    if (state == Health::unknown) state = known_before(before, key);
  for (const auto& [virt, available] : before.virts)
    if (now.vips.contains(virt)) now.virts.try_emplace(virt, available);
  return now;
}

std::vector<Announcement> announcements(const Picture& before, const Picture& now) {
  std::vector<Announcement> lines;
  tell_servers(before, now, lines);
  tell_services(before, now, lines);
  tell_virt_services(before, now, lines);
  tell_virts(before, now, lines);
  return lines;
}

}  // namespace headgate::daemon
