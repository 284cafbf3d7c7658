// SPDX-License-Identifier: Apache-2.0
#include "controlplane/daemon/announcer.h"

#include <fmt/format.h>

#include "model/members.h"
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
      lines.push_back({Severity::notice, fmt::format("slb: real server {} operational", rip), rip});
    if (state == ServerHealth::failed)
      lines.push_back({Severity::alert, fmt::format("slb: cannot contact real server {}", rip), rip});
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
      lines.push_back({Severity::notice, fmt::format("slb: real service {} operational", service), service});
    if (state == Health::degraded)
      lines.push_back({Severity::warning, fmt::format("slb: real service {} degraded", service), service});
    if (state == Health::down)
      lines.push_back(
          {Severity::alert, fmt::format("slb: cannot contact real service {}", service), service});
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
      lines.push_back({Severity::notice, "slb: Real servers are available for " + name, name});
    else
      lines.push_back({Severity::alert, "slb: No real servers are available for " + name, name});
  }
}

void tell_virts(const Picture& before, const Picture& now, std::vector<Announcement>& lines) {
  for (const auto& [virt, available] : now.virts) {
    if (available == value_or(before.virts, virt, true)) continue;
    const std::string name = fmt::format("Virtual Server{}:{}", virt, now.vips.at(virt).text());
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

std::string rip_of(const Picture& before, const Picture& now, std::uint32_t real) {
  return value_or(now.rips, real, value_or(before.rips, real, Ip{})).text();
}

void tell_standby(const Picture& before, const Picture& now, std::vector<Announcement>& lines) {
  const auto note = [&](const char* what, const std::string& who, std::string_view whom) {
    lines.push_back({Severity::notice, fmt::format("slb: {} {} for {}", who, what, whom),
                     fmt::format("{} for {}", who, whom)});
  };
  const auto server = [&](std::uint32_t real) { return rip_of(before, now, real); };
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

void tell_full(const Picture& before, const Picture& now, std::vector<Announcement>& lines) {
  for (const std::uint32_t real : now.full)
    if (!before.full.contains(real))
      lines.push_back(
          {Severity::alert, fmt::format("slb: real server {} has reached its maximum of {} sessions",
                                        rip_of(before, now, real), value_or(now.maxcon, real, 0))});
}

/// Once for each fall to the threshold or below it.
void tell_few(const Picture& before, const Picture& now, std::vector<Announcement>& lines) {
  for (const auto& [group, threshold] : now.alert_at) {
    const auto was = before.available.find(group);
    const auto is = now.available.find(group);
    if (was == before.available.end() || is == now.available.end()) continue;
    if (was->second.size() <= threshold || is->second.size() > threshold) continue;
    lines.push_back({Severity::alert,
                     fmt::format("slb: real server group {} has {} available server{} left "
                                 "(realthr {})",
                                 group, is->second.size(), is->second.size() == 1 ? "" : "s", threshold)});
  }
}

void tell_formulas(const Picture& before, const Picture& now, std::vector<Announcement>& lines) {
  for (const auto& [group, holds] : now.formulas) {
    if (!holds || *holds == value_or(before.formulas, group, {}).value_or(true)) continue;
    const std::string formula =
        fmt::format("real server group {}: health formula {}", group, value_or(now.formula_texts, group, ""));
    const std::string subject = fmt::format("health formula of real server group {}", group);
    if (*holds)
      lines.push_back({Severity::notice, fmt::format("slb: {} is true again", formula), subject});
    else
      lines.push_back({Severity::alert, fmt::format("slb: {} is false: no new sessions", formula), subject});
  }
}

void tell_buddies(const Picture& before, const Picture& now, std::vector<Announcement>& lines) {
  for (const auto& [real, down] : now.buddy_down) {
    const std::string was = value_or(before.buddy_down, real, {}).value_or("");
    if (!down || down->empty() == was.empty()) continue;
    const std::string rip = rip_of(before, now, real);
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

/// What is known of the buddies of a target.
void note_buddies(const Monitor& monitor, const TargetKey& key, const Watched& watched, Picture& picture) {
  if (watched.target.buddies.empty()) return;
  std::optional<std::string>& down = picture.buddy_down[key.real];
  if (!watched.lacks)
    down = down.value_or("");
  else if (monitor.health_by(*watched.lacks) == Health::down)
    down = buddy_text(*watched.lacks);
}

/// Puts the services of a generation into a picture.
class Painter {
 public:
  Painter(const Monitor& monitor, const Picture& before, const std::set<std::uint32_t>& full,
          Picture& picture)
      : monitor_(monitor), before_(before), full_(full), picture_(picture) {}

  void add(const forwarding::Service& service) {
    const Picture::ServiceKey key{service.virt(), service.vport(), static_cast<Protocol>(service.protocol())};
    const auto availability = [this](const forwarding::Member& member) {
      return monitor_.availability(config::from_message(member.target()));
    };
    const health::Standby now = health::standby(
        service,
        {.availability = availability, .full = full_, .was_short = before_.closed_short.contains(key)});
    picture_.vips[service.virt()] = ip_of(service.vip());
    picture_.taking[key] = now.taking;
    if (now.is_short) picture_.closed_short.insert(key);
    if (!service.formula().empty()) note_formula(service.group(), now);
    picture_.failover.insert(now.failover.begin(), now.failover.end());
    picture_.overflow.insert(now.overflow.begin(), now.overflow.end());
    if (now.fallback) add_fallback(service, service.fallback(*now.fallback), now);
    for (const forwarding::Member& member : service.member())
      if (!member.resting() && availability(member) != health::Availability::closed)
        picture_.available[service.group()].insert(member.real());
    picture_.available.try_emplace(service.group());
    settle_virt(key, now);
  }

  /// A virtual server serves as long as one of its services does.
  void finish() {
    std::erase_if(picture_.virts,
                  [&](const auto& entry) { return !entry.second && undecided_.contains(entry.first); });
  }

 private:
  void add_fallback(const forwarding::Service& service, const forwarding::Fallback& fallback,
                    const health::Standby& now) {
    if (fallback.group() != 0)
      picture_.stepped_in_groups.insert({service.group(), fallback.group()});
    else
      for (const std::uint32_t real : now.taking) picture_.stepped_in_servers.insert({service.group(), real});
  }

  /// Of the services of a group some may lack a server that others have.
  void note_formula(std::uint32_t group, const health::Standby& now) {
    std::optional<bool>& holds = picture_.formulas[group];
    if (now.is_false && !now.unsettled) holds = false;
    if (!now.is_false) holds = holds.value_or(true);
  }

  void settle_virt(const Picture::ServiceKey& key, const health::Standby& now) {
    const std::uint32_t virt_number = std::get<0>(key);
    // A server that is full is there all the same.
    const bool serves = !now.taking.empty() || (now.available > 0 && !now.is_short && !now.is_false);
    if (!serves && now.undecided) {
      undecided_.insert(virt_number);
      return;
    }
    picture_.virt_services[key] = serves;
    bool& virt = picture_.virts.try_emplace(virt_number, false).first->second;
    virt = virt || serves;
  }

  const Monitor& monitor_;
  const Picture& before_;
  const std::set<std::uint32_t>& full_;
  Picture& picture_;
  std::set<std::uint32_t> undecided_;
};

}  // namespace

health::ServerState server_state_of(const Targets& targets, std::uint32_t real) {
  std::vector<health::ServiceView> views;
  for (const auto& [key, watched] : targets)
    if (key.real == real) views.push_back({watched.state.health, watched.heard});
  return health::server_state(views);
}

Picture picture_of(const config::Compiled& compiled, const Monitor& monitor, const Picture& before,
                   const std::set<std::uint32_t>& full) {
  Picture picture;
  std::map<std::uint32_t, std::vector<health::ServiceView>> views;  // in one pass: a mass failure asks often
  for (const auto& [key, watched] : monitor.targets()) {
    picture.services[key] = watched.state.health;
    picture.rips[key.real] = watched.target.address;
    views[key.real].push_back({watched.state.health, watched.heard});
    note_buddies(monitor, key, watched, picture);
  }
  for (const auto& [real, services] : views) picture.servers[real] = health::server_state(services).health;
  Painter painter(monitor, before, full, picture);
  for (const forwarding::Service& service : compiled.generation.service()) {
    painter.add(service);
    for_each_member(service, [&](const forwarding::Member& member) {
      picture.maxcon[member.real()] = member.maxcon();
      if (full.contains(member.real())) picture.full.insert(member.real());
    });
  }
  painter.finish();
  picture.alert_at = compiled.alert_at;
  picture.formula_texts = compiled.formulas;
  return picture;
}

std::set<std::uint32_t> full_servers(const forwarding::Generation& generation,
                                     const forwarding::Stats& stats) {
  std::map<std::uint32_t, std::uint64_t> current;
  for (const forwarding::RealStats& real : stats.real()) current[real.real()] = real.counts().current();
  std::set<std::uint32_t> full;
  for (const forwarding::Service& service : generation.service())
    for_each_member(service, [&](const forwarding::Member& member) {
      if (member.maxcon() != 0 && value_or(current, member.real(), 0) >= member.maxcon())
        full.insert(member.real());
    });
  return full;
}

Picture carried_over(const Picture& before, Picture now) {
  for (auto& [real, state] : now.servers)
    if (state == ServerHealth::unknown) state = value_or(before.servers, real, ServerHealth::unknown);
  for (auto& [key, state] : now.services)
    if (state == Health::unknown) state = known_before(before, key);
  for (const auto& [virt, available] : before.virts)
    if (now.vips.contains(virt)) now.virts.try_emplace(virt, available);
  for (auto& [group, holds] : now.formulas)
    if (!holds) holds = value_or(before.formulas, group, {});
  for (auto& [real, down] : now.buddy_down)
    if (!down) down = value_or(before.buddy_down, real, {});
  return now;
}

std::vector<Announcement> announcements(const Picture& before, const Picture& now) {
  std::vector<Announcement> lines;
  tell_servers(before, now, lines);
  tell_services(before, now, lines);
  tell_full(before, now, lines);
  tell_few(before, now, lines);
  tell_formulas(before, now, lines);
  tell_buddies(before, now, lines);
  tell_standby(before, now, lines);
  tell_virt_services(before, now, lines);
  tell_virts(before, now, lines);
  return lines;
}

}  // namespace headgate::daemon
