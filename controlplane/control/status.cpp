// SPDX-License-Identifier: Apache-2.0
#include "controlplane/control/status.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "controlplane/config/topology.h"
#include "model/schema.h"

namespace headgate::control {
namespace {

using daemon::Monitor;
using daemon::Watched;

struct Look {
  const config::Config& config;
  const Monitor& monitor;
  const Surroundings& around;
};

std::uint32_t milliseconds_of(std::chrono::microseconds took) {
  return static_cast<std::uint32_t>(std::chrono::duration_cast<std::chrono::milliseconds>(took).count());
}

State state_of(health::Health health) {
  if (health == health::Health::up) return UP;
  if (health == health::Health::degraded) return DEGRADED;
  return health == health::Health::down ? FAILED : NOT_CHECKED;
}

/// What serves but lacks a buddy is blocked.
State state_of(const Watched& watched) {
  return watched.lacks && health::serves(watched.state.health) ? BLOCKED : state_of(watched.state.health);
}

/// Being disabled, by configuration or by an operator, is shown before health.
bool disabled(const Look& look, const config::Real& real) {
  return !real.enabled() || look.monitor.operation(real.number()) != forwarding::ENABLED;
}

State state_of(const Look& look, const config::Real& real) {
  if (disabled(look, real)) return DISABLED;
  const health::ServerHealth health = daemon::server_state_of(look.monitor.targets(), real.number()).health;
  const auto any = [&](State state) {
    return std::ranges::any_of(look.monitor.targets(), [&](const auto& entry) {
      return entry.first.real == real.number() && state_of(entry.second) == state;
    });
  };
  if (health == health::ServerHealth::up) return any(UP) ? UP : any(DEGRADED) ? DEGRADED : BLOCKED;
  return health == health::ServerHealth::failed ? FAILED : NOT_CHECKED;
}

/// Since when a target is in its state: a buddy that is missed began that, too.
std::uint64_t since_unix_ms(const Look& look, const config::TargetKey& key, const Watched& watched) {
  if (!watched.target.enabled) return look.monitor.disabled_since_unix_ms(key.real);
  if (!watched.lacks) return watched.since_unix_ms;
  const auto buddy = look.monitor.targets().find(*watched.lacks);
  const bool known = buddy != look.monitor.targets().end();
  return std::max(watched.since_unix_ms, known ? buddy->second.since_unix_ms : 0);
}

/// Since when a server is in its state: as long as that of its services which has served longest; when none
/// does, since the last one stopped.
std::uint64_t since_unix_ms(const Look& look, const config::Real& real) {
  if (disabled(look, real)) return look.monitor.disabled_since_unix_ms(real.number());
  std::optional<std::uint64_t> serving;
  std::uint64_t stopped = 0;
  for (const auto& [key, watched] : look.monitor.targets()) {
    if (key.real != real.number()) continue;
    const std::uint64_t since = since_unix_ms(look, key, watched);
    if (health::serves(watched.state.health))
      serving = std::min(serving.value_or(since), since);
    else
      stopped = std::max(stopped, since);
  }
  return serving.value_or(stopped);
}

void add_target(const Look& look, const config::TargetKey& key, const Watched& watched, RealStatus& real) {
  TargetStatus& status = *real.add_target();
  status.set_real(key.real);
  status.set_rport(key.port);
  status.set_protocol(static_cast<std::uint32_t>(key.protocol));
  status.set_check(watched.target.policy.inter.count() == 0 ? "none" : watched.target.check.word());
  const bool serves = watched.target.enabled && !watched.held;
  status.set_state(serves ? state_of(watched) : DISABLED);
  if (watched.lacks) status.set_buddy(daemon::buddy_text(*watched.lacks));
  status.set_since_unix_ms(since_unix_ms(look, key, watched));
  status.set_reason(watched.reason);
  status.set_response_ms(milliseconds_of(watched.took));
  status.set_last_check_unix_ms(watched.last_check_unix_ms);
  status.set_failures_in_row(watched.state.failures);
  status.set_successes_in_row(watched.state.successes);
  status.set_score(watched.state.score);
  status.set_share(watched.share);
  status.set_took_us(static_cast<std::uint64_t>(watched.took.count()));
  status.set_next_check_unix_ms(look.monitor.next_check_unix_ms(watched));
  status.set_failed(look.monitor.failed(watched));
  if (look.around.changes_of != key.real) return;
  for (const daemon::Change& change : watched.changes) *status.add_change() = daemon::to_message(change);
  for (const daemon::Deed& deed : watched.deeds) *status.add_deed() = daemon::to_message(deed);
}

void add_real(const Look& look, const config::Real& real, StatusReply& reply) {
  RealStatus& status = *reply.add_real();
  const Ip rip = config::address_of(real.rip());
  status.set_number(real.number());
  status.set_name(real.name());
  status.set_rip(rip.text());
  const auto neighbour = look.around.neighbours.find(rip);
  status.set_mac(neighbour == look.around.neighbours.end() ? Mac{}.text() : neighbour->second.text());
  if (const auto subnet = config::subnet_of(look.config, rip)) {
    const config::Port* port = config::port_of_vlan(look.config, subnet->vlan);
    status.set_vlan(subnet->vlan);
    status.set_port(port == nullptr ? 0 : port->number());
  }
  status.set_health_layer(daemon::server_state_of(look.monitor.targets(), real.number()).layer);
  status.set_state(state_of(look, real));
  status.set_operation(look.monitor.operation(real.number()));
  status.set_maxcon(real.maxcon());
  status.set_backup(real.backup());
  const auto current = look.around.current.find(real.number());
  status.set_current(current == look.around.current.end() ? 0 : current->second);
  for (const auto& [key, watched] : look.monitor.targets())
    if (key.real == real.number()) {
      add_target(look, key, watched, status);
      status.set_held(status.held() || watched.held);
    }
  status.set_since_unix_ms(since_unix_ms(look, real));
}

void fill_member(const Look& look, std::uint32_t number, const Watched* watched, MemberStatus& member) {
  const config::Real* real = config::find_real(look.config, number);
  member.set_real(number);
  member.set_group_enabled(true);
  member.set_state(NOT_CHECKED);
  if (real == nullptr) return;
  member.set_rip(config::address_of(real->rip()).text());
  member.set_backup(real->backup());
  if (watched != nullptr) {
    member.set_state(state_of(*watched));
    member.set_response_ms(milliseconds_of(watched->took));
    member.set_reason(watched->reason);
  }
  if (disabled(look, *real) || (watched != nullptr && watched->held)) member.set_state(DISABLED);
}

/// What a server that is up does for a service: serve, serve in part, or stand by.
State part_of(const Look& look, const daemon::Announcer::ServiceKey& key, const config::Player& player,
              const Watched& watched) {
  constexpr std::uint64_t kMsPerSecond = 1000;
  const std::uint32_t number = player.real->number();
  const auto taking = look.around.announcer.taking().find(key);
  if (look.around.announcer.full().contains(number)) return OVERFLOW;
  if (taking == look.around.announcer.taking().end() || player.resting) return state_of(watched.state.health);
  const bool degraded = watched.state.health == health::Health::degraded;
  const bool passed_over = taking->second.empty() || !look.around.announcer.why_closed(key).empty();
  if (degraded) return passed_over && !taking->second.contains(number) ? BLOCKED : DEGRADED;
  if (!taking->second.contains(number)) return BLOCKED;
  const std::uint64_t up_for =
      look.around.now_unix_ms - std::min(watched.since_unix_ms, look.around.now_unix_ms);
  return up_for < player.checked_by->slowstr() * kMsPerSecond ? SLOWSTART : UP;
}

const Watched* watched_of(const Look& look, const config::TargetKey& key) {
  const auto found = look.monitor.targets().find(key);
  return found == look.monitor.targets().end() ? nullptr : &found->second;
}

struct Served {
  const config::Virt& virt;
  const config::Service& service;
  const config::Group& group;
  Protocol protocol;
};

/// What a server is to a service.
MemberStatus member_of(const Look& look, const Served& served, const config::Player& player) {
  const config::TargetKey target =
      config::target_of(look.config, served.virt, served.service, player, served.protocol);
  const Watched* watched = watched_of(look, target);
  MemberStatus member;
  fill_member(look, player.real->number(), watched, member);
  member.set_group_enabled(!player.resting);
  const daemon::Announcer::ServiceKey key{served.virt.number(), served.service.vport(), served.protocol};
  if (member.state() == UP || member.state() == DEGRADED)
    member.set_state(part_of(look, key, player, *watched));
  return member;
}

/// Members in their order, then who stands by for them; each server once.
void add_players(const Look& look, const Served& served, ServiceStatus& status) {
  const config::Cast cast = config::cast_of(look.config, served.group);
  std::set<std::uint32_t> listed;
  const auto add = [&](const config::Player& player, bool standby) {
    if (!listed.insert(player.real->number()).second) return;
    MemberStatus& member = *status.add_member();
    member = member_of(look, served, player);
    member.set_standby(standby);
  };
  for (const config::CastMember& member : cast.members) add(member.self, false);
  config::for_each_player(cast, [&](const config::Player& player) { add(player, true); });
}

/// "none", "3", "g2 then g3"
std::string backup_text(const config::Group& group) {
  const std::string& second = group.secbkp();
  return second == "none" ? group.backup() : group.backup() + " then " + second;
}

void add_service(const Look& look, const config::Virt& virt, const config::Service& service,
                 Protocol protocol, VirtStatus& to) {
  ServiceStatus& status = *to.add_service();
  status.set_vport(service.vport());
  status.set_rport(config::real_port(service));
  status.set_group(service.group());
  status.set_protocol(static_cast<std::uint32_t>(protocol));
  const config::Group* group = config::find_group(look.config, service.group());
  if (group == nullptr) return;
  status.set_check(config::check_of(look.config, virt, service, nullptr, *group, protocol).word());
  status.set_backup(backup_text(*group));
  if (service.pbind() == config::PBIND_CLIENTIP) status.set_pbind("clientip");
  status.set_closed(look.around.announcer.why_closed({virt.number(), service.vport(), protocol}));
  add_players(look, {virt, service, *group, protocol}, status);
}

State state_of(const VirtStatus& virt) {
  bool checked = true, degraded = false;
  for (const ServiceStatus& service : virt.service())
    for (const MemberStatus& member : service.member()) {
      if (!member.group_enabled()) continue;
      const bool serves = member.state() == UP || member.state() == OVERFLOW || member.state() == SLOWSTART;
      if (serves) return UP;
      checked = checked && member.state() != NOT_CHECKED;
      degraded = degraded || member.state() == DEGRADED;
    }
  if (degraded) return DEGRADED;
  return checked ? NO_SERVICES_UP : NOT_CHECKED;
}

/// The services of a virtual server, and what it is by them.
void add_services(const Look& look, const config::Virt& virt, VirtStatus& status) {
  for (const config::Service& service : virt.service())
    for (const Protocol protocol : config::protocols_of(service))
      add_service(look, virt, service, protocol, status);
  status.set_state(virt.enabled() && look.config.slb().enabled() ? state_of(status) : DISABLED);
}

/// UP or DEGRADED, as the best is who takes new sessions of a service for a virtual server; else
/// NO_SERVICES_UP: a server that is full, or that rests, is none.
State taken_by(const Look& look, const config::Virt& virt) {
  bool any = false, up = false;
  for (const auto& [key, taking] : look.around.announcer.taking()) {
    const auto& [number, vport, protocol] = key;
    const auto service = std::ranges::find(virt.service(), vport, &config::Service::vport);
    if (number != virt.number() || service == virt.service().end()) continue;
    const config::Group* group = config::find_group(look.config, service->group());
    if (group == nullptr) continue;
    config::for_each_player(config::cast_of(look.config, *group),
                            [&, protocol = protocol, &taking = taking](const config::Player& player) {
                              if (!taking.contains(player.real->number())) return;
                              const Watched* watched = watched_of(
                                  look, config::target_of(look.config, virt, *service, player, protocol));
                              any = true;
                              up = up || (watched != nullptr && watched->state.health == health::Health::up);
                            });
  }
  if (up) return UP;
  return any ? DEGRADED : NO_SERVICES_UP;
}

void add_virt(const Look& look, const config::Virt& virt, StatusReply& reply) {
  VirtStatus& status = *reply.add_virt();
  const Ip vip = config::address_of(virt.vip());
  status.set_number(virt.number());
  status.set_vip(vip.text());
  status.set_vname(virt.vname());
  const auto subnet = config::subnet_of(look.config, vip);
  const config::Port* port = subnet ? config::port_of_vlan(look.config, subnet->vlan) : nullptr;
  const auto mac = port == nullptr ? look.around.port_macs.end() : look.around.port_macs.find(port->number());
  status.set_mac(mac == look.around.port_macs.end() ? Mac{}.text() : mac->second.text());
  add_services(look, virt, status);
}

/// What says most of a server, from the best to the worst.
std::ptrdiff_t rank(State state) {
  constexpr State kOrder[] = {UP, SLOWSTART, OVERFLOW, DEGRADED, BLOCKED, NOT_CHECKED, FAILED, DISABLED};
  return std::ranges::find(kOrder, state) - std::begin(kOrder);
}

template <class Do>
void for_each_service_of(const Look& look, const config::Group& group, Do act) {
  for (const config::Virt& virt : look.config.slb().virt())
    for (const config::Service& service : virt.service()) {
      if (service.group() != group.number()) continue;
      for (const Protocol protocol : config::protocols_of(service))
        act(Served{virt, service, group, protocol});
    }
}

/// Of a group that only stands by for others: what a member is to the services of those.
void as_backup(const Look& look, const config::Group& group, std::uint32_t real, MemberStatus& best) {
  const auto consider = [&](const Served& served, const config::CastFallback& fallback) {
    for (const config::CastMember& member : fallback.members)
      if (fallback.group == group.number() && member.self.real->number() == real) {
        MemberStatus here = member_of(look, served, member.self);
        if (rank(here.state()) < rank(best.state()) || best.state() == NOT_CHECKED) best = std::move(here);
      }
  };
  for (const config::Group& other : look.config.slb().group())
    for_each_service_of(look, other, [&](const Served& served) {
      for (const config::CastFallback& fallback : config::cast_of(look.config, other).fallback)
        consider(served, fallback);
    });
}

/// The best of what a member is to any service of the group.
MemberStatus best_of(const Look& look, const config::Group& group, std::uint32_t real) {
  const bool resting = std::ranges::count(group.resting(), real) != 0;
  const config::Player player{config::find_real(look.config, real), &group, resting};
  MemberStatus best;
  fill_member(look, real, nullptr, best);
  bool first = true;
  for_each_service_of(look, group, [&](const Served& served) {
    if (player.real == nullptr) return;
    MemberStatus here = member_of(look, served, player);
    if (first || rank(here.state()) < rank(best.state())) best = std::move(here);
    first = false;
  });
  if (first) as_backup(look, group, real, best);
  best.set_group_enabled(!resting);
  return best;
}

void add_group(const Look& look, const config::Group& group, StatusReply& reply) {
  GroupStatus& status = *reply.add_group();
  const auto keyword = [](const auto* descriptor, int number) {
    return descriptor->FindValueByNumber(number)->options().GetExtension(config::keyword);
  };
  status.set_number(group.number());
  status.set_name(group.name());
  status.set_metric(keyword(config::Metric_descriptor(), group.metric().rule()));
  status.set_check(group.health());
  for_each_service_of(look, group, [&](const Served& served) {
    status.set_check(
        config::check_of(look.config, served.virt, served.service, nullptr, group, served.protocol).word());
    const std::string closed =
        look.around.announcer.why_closed({served.virt.number(), served.service.vport(), served.protocol});
    if (status.closed().empty()) status.set_closed(closed);
  });
  for (const std::uint32_t member : group.member()) *status.add_member() = best_of(look, group, member);
  status.set_backup(backup_text(group));
}

void add_port(const Look& look, const config::SlbPort& port, StatusReply& reply) {
  SlbPortStatus& status = *reply.add_port();
  const config::Port* physical = config::find_port(look.config, port.number());
  const auto up = look.around.ports_up.find(port.number());
  status.set_number(port.number());
  status.set_device(physical == nullptr ? std::string() : physical->device());
  status.set_client(port.client());
  status.set_server(port.server());
  status.set_up(up != look.around.ports_up.end() && up->second);
}

}  // namespace

StatusReply status_of(const config::Config& config, const Monitor& monitor, const Surroundings& around) {
  const Look look{config, monitor, around};
  StatusReply reply;
  reply.set_slb_on(config.slb().enabled());
  for (const config::Real& real : config.slb().real()) add_real(look, real, reply);
  for (const config::Virt& virt : config.slb().virt()) add_virt(look, virt, reply);
  for (const config::Group& group : config.slb().group()) add_group(look, group, reply);
  for (const config::SlbPort& port : config.slb().port()) add_port(look, port, reply);
  return reply;
}

std::optional<State> virt_state_of(const config::Config& config, const Monitor& monitor,
                                   const Surroundings& around, std::uint32_t virt) {
  const auto found = std::ranges::find(config.slb().virt(), virt, &config::Virt::number);
  if (found == config.slb().virt().end()) return std::nullopt;
  const Look look{config, monitor, around};
  VirtStatus status;
  add_services(look, *found, status);
  const bool serves = status.state() == UP || status.state() == DEGRADED;
  return serves ? taken_by(look, *found) : status.state();
}

}  // namespace headgate::control
