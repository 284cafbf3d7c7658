// SPDX-License-Identifier: Apache-2.0
#include "controlplane/daemon/announcements.h"

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

void tell_servers(const Names& names, const Picture& before, const Picture& now,
                  std::vector<Announcement>& lines) {
  for (const auto& [real, state] : now.servers) {
    const std::string rip = names.rips.at(real).text();
    if (state == value_or(before.servers, real, ServerHealth::unknown)) continue;
    if (state == ServerHealth::up)
      lines.push_back({Severity::notice, fmt::format("slb: real server {} operational", rip), rip});
    if (state == ServerHealth::failed)
      lines.push_back({Severity::alert, fmt::format("slb: cannot contact real server {}", rip), rip});
  }
}

/// What was known of a service before this check of it.
Health known_before(const Picture& before, const TargetKey& key) {
  if (const auto same = before.services.find(key); same != before.services.end()) return same->second;
  const auto other = before.services.lower_bound({key.real, key.port, key.protocol, ""});
  const bool found = other != before.services.end() && other->first.real == key.real &&
                     other->first.port == key.port && other->first.protocol == key.protocol;
  return found ? other->second : Health::unknown;
}

void tell_services(const Names& names, const Picture& before, const Picture& now,
                   std::vector<Announcement>& lines) {
  for (const auto& [key, state] : now.services) {
    const std::string service = endpoint_text(names.rips.at(key.real), key.port);
    if (state == known_before(before, key)) continue;
    if (state == Health::up)
      lines.push_back({Severity::notice, fmt::format("slb: real service {} operational", service), service});
    const std::string why =
        fmt::format(" (real server {}): {}", key.real, value_or(now.reasons, key, "no answer"));
    if (state == Health::degraded)
      lines.push_back(
          {Severity::warning, fmt::format("slb: real service {} degraded{}", service, why), service});
    if (state == Health::down)
      lines.push_back(
          {Severity::alert, fmt::format("slb: cannot contact real service {}{}", service, why), service});
  }
}

/// A single service is told about only where others of its virtual server go on; else the server's line says
/// it.
void tell_virt_services(const Names& names, const Picture& before, const Picture& now,
                        std::vector<Announcement>& lines) {
  for (const auto& [key, available] : now.virt_services) {
    const auto& [virt, vport, protocol] = key;
    if (available == value_or(before.virt_services, key, true)) continue;
    if (!value_or(now.virts, virt, false) || !value_or(before.virts, virt, true)) continue;
    const std::string name =
        fmt::format("service {}{} of Virtual Server{}:{}", port_text(static_cast<L4Port>(vport)),
                    protocol == Protocol::udp ? " udp" : "", virt, names.vips.at(virt).text());
    if (available)
      lines.push_back({Severity::notice, "slb: Real servers are available for " + name, name});
    else
      lines.push_back({Severity::alert, "slb: No real servers are available for " + name, name});
  }
}

void tell_virts(const Names& names, const Picture& before, const Picture& now,
                std::vector<Announcement>& lines) {
  for (const auto& [virt, available] : now.virts) {
    if (available == value_or(before.virts, virt, true)) continue;
    const std::string name = fmt::format("Virtual Server{}:{}", virt, names.vips.at(virt).text());
    if (available)
      lines.push_back({Severity::notice, "slb: Services are available for " + name, name});
    else
      lines.push_back({Severity::alert, "slb: No services are available for " + name, name});
  }
}

/// What began and what ended between two sets, in words of `tell`.
template <class Set, class Tell>
void tell_changes(const Set& before, const Set& now, const Tell& tell) {
  for (const auto& one : now)
    if (!before.contains(one)) tell(one, "activated");
  for (const auto& one : before)
    if (!now.contains(one)) tell(one, "deactivated");
}

std::string rip_of(const Names& names, std::uint32_t real) {
  return value_or(names.rips, real, Ip{}).text();
}

void tell_standby(const Names& names, const Picture& before, const Picture& now,
                  std::vector<Announcement>& lines) {
  const auto note = [&](const char* what, const std::string& who, std::string_view whom) {
    lines.push_back({Severity::notice, fmt::format("slb: {} {} for {}", who, what, whom),
                     fmt::format("{} for {}", who, whom)});
  };
  const auto server = [&](std::uint32_t real) { return rip_of(names, real); };
  tell_changes(before.failover, now.failover, [&](const Picture::Pair& pair, const char* what) {
    note(what, "backup server " + server(pair.second), "real server " + server(pair.first));
  });
  tell_changes(before.overflow, now.overflow, [&](const Picture::Pair& pair, const char* what) {
    note(what, "overflow server " + server(pair.second), "real server " + server(pair.first));
  });
  tell_changes(
      before.stepped_in_servers, now.stepped_in_servers, [&](const Picture::Pair& pair, const char* what) {
        note(what, "backup server " + server(pair.second), fmt::format("real server group {}", pair.first));
      });
  tell_changes(before.stepped_in_groups, now.stepped_in_groups,
               [&](const Picture::Pair& pair, const char* what) {
                 note(what, fmt::format("backup group {}", pair.second),
                      fmt::format("real server group {}", pair.first));
               });
}

void tell_full(const Names& names, const Picture& before, const Picture& now,
               std::vector<Announcement>& lines) {
  for (const std::uint32_t real : now.full)
    if (!before.full.contains(real))
      lines.push_back(
          {Severity::alert, fmt::format("slb: real server {} has reached its maximum of {} sessions",
                                        rip_of(names, real), value_or(names.maxcon, real, 0))});
}

/// Once for each fall to the threshold or below it.
void tell_few(const Names& names, const Picture& before, const Picture& now,
              std::vector<Announcement>& lines) {
  for (const auto& [group, threshold] : names.alert_at) {
    const auto was = before.available.find(group);
    const auto is = now.available.find(group);
    if (was == before.available.end() || is == now.available.end()) continue;
    if (was->second <= threshold || is->second > threshold) continue;
    lines.push_back({Severity::alert, fmt::format("slb: real server group {} has {} available server{} left "
                                                  "(realthr {})",
                                                  group, is->second, is->second == 1 ? "" : "s", threshold)});
  }
}

void tell_formulas(const Names& names, const Picture& before, const Picture& now,
                   std::vector<Announcement>& lines) {
  for (const auto& [group, holds] : now.formulas) {
    if (!holds || *holds == value_or(before.formulas, group, {}).value_or(true)) continue;
    const std::string formula = fmt::format("real server group {}: health formula {}", group,
                                            value_or(names.formula_texts, group, ""));
    const std::string subject = fmt::format("health formula of real server group {}", group);
    if (*holds)
      lines.push_back({Severity::notice, fmt::format("slb: {} is true again", formula), subject});
    else
      lines.push_back({Severity::alert, fmt::format("slb: {} is false: no new sessions", formula), subject});
  }
}

void tell_thresholds(const Names& names, const Picture& before, const Picture& now,
                     std::vector<Announcement>& lines) {
  for (const auto& [group, enough] : now.enough) {
    if (!enough || *enough == value_or(before.enough, group, {}).value_or(true)) continue;
    const std::string subject = fmt::format("thresholds of real server group {}", group);
    if (*enough)
      lines.push_back({Severity::notice,
                       fmt::format("slb: real server group {} has enough available servers again", group),
                       subject});
    else
      lines.push_back({Severity::alert,
                       fmt::format("slb: real server group {} has fewer available servers than minthrsh {}: "
                                   "no new sessions",
                                   group, value_or(names.minthrsh, group, 0)),
                       subject});
  }
}

void tell_buddies(const Names& names, const Picture& before, const Picture& now,
                  std::vector<Announcement>& lines) {
  for (const auto& [real, down] : now.buddy_down) {
    const std::string was = value_or(before.buddy_down, real, {}).value_or("");
    if (!down || down->empty() == was.empty()) continue;
    const std::string rip = rip_of(names, real);
    const std::string subject = "buddies of real server " + rip;
    if (down->empty())
      lines.push_back({Severity::notice, fmt::format("slb: {} are up again", subject), subject});
    else
      lines.push_back(
          {Severity::alert,
           fmt::format("slb: real server {} takes no new sessions: its buddy {} is not up", rip, *down),
           subject});
  }
}

}  // namespace

Picture carried_over(const Names& names, const Picture& before, Picture now) {
  for (auto& [real, state] : now.servers)
    if (state == ServerHealth::unknown) state = value_or(before.servers, real, ServerHealth::unknown);
  for (auto& [key, state] : now.services)
    if (state == Health::unknown) state = known_before(before, key);
  for (const auto& [virt, available] : before.virts)
    if (names.vips.contains(virt)) now.virts.try_emplace(virt, available);
  for (const auto& [key, available] : before.virt_services)
    if (names.vips.contains(std::get<0>(key))) now.virt_services.try_emplace(key, available);
  for (auto& [group, holds] : now.formulas)
    if (!holds) holds = value_or(before.formulas, group, {});
  for (auto& [group, enough] : now.enough)
    if (!enough) enough = value_or(before.enough, group, {});
  for (auto& [real, down] : now.buddy_down)
    if (!down) down = value_or(before.buddy_down, real, {});
  return now;
}

std::vector<Announcement> announcements(const Names& names, const Picture& before, const Picture& now) {
  std::vector<Announcement> lines;
  tell_servers(names, before, now, lines);
  tell_services(names, before, now, lines);
  tell_full(names, before, now, lines);
  tell_few(names, before, now, lines);
  tell_formulas(names, before, now, lines);
  tell_thresholds(names, before, now, lines);
  tell_buddies(names, before, now, lines);
  tell_standby(names, before, now, lines);
  tell_virt_services(names, before, now, lines);
  tell_virts(names, before, now, lines);
  return lines;
}

}  // namespace headgate::daemon
