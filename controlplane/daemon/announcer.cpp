// SPDX-License-Identifier: Apache-2.0
#include "controlplane/daemon/announcer.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "model/members.h"

namespace headgate::daemon {
namespace {

using health::Availability;
using health::Health;

/// So many targets or members are looked at in one go: a few hundred microseconds.
constexpr unsigned kSlice = 512;
/// So many lines are handed out at a time.
constexpr std::size_t kLines = 32;

Picture::ServiceKey key_of(const forwarding::Service& service) {
  return {service.virt(), service.vport(), static_cast<Protocol>(service.protocol())};
}

/// Moves what is known of `key`, if anything.
template <class Map>
void take(Map& from, Map& to, const typename Map::key_type& key) {
  if (auto node = from.extract(key)) to.insert(std::move(node));
}

template <class Map>
void merge(const Map& from, Map& to) {
  for (const auto& [key, value] : from) to.insert_or_assign(key, value);
}

template <class Visit>
void for_each_target(const Targets& targets, std::uint32_t real, const Visit& visit) {
  for (auto at = targets.lower_bound({.real = real}); at != targets.end() && at->first.real == real; ++at)
    visit(at->first, at->second);
}

/// Whether a service serves; nothing while that is not known. A server that is full is there all the same.
std::optional<bool> serves(const health::Standby& now) {
  const bool serving = !now.taking.empty() || (now.available > 0 && !now.is_short && !now.is_false);
  return !serving && now.undecided ? std::nullopt : std::optional(serving);
}

/// Whether all are well: what one of them lacks, unless that may be there.
void join(std::optional<bool>& all, bool lacks, bool unsettled) {
  if (lacks && !unsettled) all = false;
  if (!lacks) all = all.value_or(true);
}

/// What made a target what it is.
std::string reason_of(const Watched& watched) {
  const bool last = watched.changes.empty() || watched.changes.back().to != watched.state.health;
  return last ? watched.reason : watched.changes.back().reason;
}

}  // namespace

health::ServerState server_state_of(const Targets& targets, std::uint32_t real) {
  std::vector<health::ServiceView> views;
  for_each_target(targets, real, [&](const TargetKey&, const Watched& watched) {
    views.push_back({watched.state.health, watched.heard});
  });
  return health::server_state(views);
}

// ---- Claims

void Announcer::Claims::replace(const std::set<Pair>& old, const std::set<Pair>& fresh) {
  const auto touch = [this](const Pair& pair) { touched_.try_emplace(pair, count_.contains(pair)); };
  for (const Pair& pair : fresh) {
    touch(pair);
    ++count_[pair];
  }
  for (const Pair& pair : old) {
    touch(pair);
    if (--count_.at(pair) == 0) count_.erase(pair);
  }
}

void Announcer::Claims::settle(std::set<Pair>& before, std::set<Pair>& now) {
  for (const auto& [pair, was] : std::exchange(touched_, {})) {
    if (was) before.insert(pair);
    if (count_.contains(pair)) now.insert(pair);
  }
}

// ---- The configuration

void Announcer::configure(const config::Compiled& compiled, News news) {
  const Parts old = std::exchange(parts_, {});
  std::map<std::uint32_t, Ip> old_rips = std::move(names_.rips);
  Seen seen{.before = std::exchange(told_, {}), .now = {}};
  index(compiled);
  pass_ = {.filled = std::move(pass_.filled)};
  pass_.filled.merge(std::exchange(next_, {}).filled);
  passing_ = false;
  for (const auto& [key, part] : old) replace(part, {});
  for (auto& [key, part] : parts_) {
    const auto known = old.find(key);
    part.standby.is_short = known != old.end() && known->second.standby.is_short;
    Part fresh = painted(part);
    replace({}, fresh);
    part = std::move(fresh);
    taking_[key] = part.standby.taking;
    pass_.painted.push_back(key);
    pass_.virts.insert(part.service->virt());
    pass_.groups.insert(part.service->group());
  }
  for (const auto& [key, watched] : monitor_.targets()) {
    look_at_service(key, watched, seen);
    look_at_server(key.real, seen);
  }
  finish(seen);
  Names names = names_;
  names.rips.merge(old_rips);  // what has gone is told of, too
  std::vector<Announcement> lines = settle(names, std::move(seen));
  if (news == News::told) std::ranges::move(lines, std::back_inserter(lines_));
}

void Announcer::index(const config::Compiled& compiled) {
  names_ = {.alert_at = compiled.alert_at, .formula_texts = compiled.formulas};
  services_of_.clear();
  services_of_group_.clear();
  depending_.clear();
  target_of_.clear();
  taking_.clear();
  for (const auto& [key, watched] : monitor_.targets()) {
    names_.rips[key.real] = watched.target.address;
    for (const TargetKey& buddy : watched.target.buddies) depending_[buddy].insert(key.real);
  }
  for (const forwarding::Service& service : compiled.generation.service()) index(service);
}

void Announcer::index(const forwarding::Service& service) {
  const ServiceKey key = key_of(service);
  Part& part = parts_[key];
  part.service = &service;
  names_.vips[service.virt()] = ip_of(service.vip());
  services_of_group_[service.group()].push_back(key);
  if (service.min_available() != 0) names_.minthrsh[service.group()] = service.min_available();
  for_each_member(service, [&](const forwarding::Member& member) {
    ++part.size;
    if (member.maxcon() != 0) names_.maxcon[member.real()] = member.maxcon();
    const auto target = monitor_.targets().find(config::from_message(member.target()));
    if (target == monitor_.targets().end()) return;
    target_of_[&member] = target;
    std::vector<ServiceKey>& services = services_of_[target->first];
    if (services.empty() || services.back() != key) services.push_back(key);
  });
}

// ---- Changes

void Announcer::changed(std::uint32_t real) {
  for_each_target(monitor_.targets(), real, [this](const TargetKey& key, const Watched&) { changed(key); });
}

void Announcer::learn_sessions(const forwarding::Stats& stats) {
  std::set<std::uint32_t> full;
  for (const forwarding::RealStats& real : stats.real()) {
    const auto limit = names_.maxcon.find(real.real());
    if (limit != names_.maxcon.end() && real.counts().current() >= limit->second) full.insert(real.real());
  }
  std::vector<std::uint32_t> differing;
  std::ranges::set_symmetric_difference(full, full_, std::back_inserter(differing));
  for (const std::uint32_t real : differing) changed(real);
  std::ranges::set_difference(full, full_, std::inserter(next_.filled, next_.filled.end()));
  full_ = std::move(full);
}

std::string Announcer::why_closed(const ServiceKey& key) const {
  const auto part = parts_.find(key);
  if (part == parts_.end()) return {};
  const forwarding::Service& service = *part->second.service;
  const health::Standby& standby = part->second.standby;
  if (standby.is_false)
    return fmt::format("health formula {} is false", names_.formula_texts.at(service.group()));
  if (!standby.is_short) return {};
  const bool few = standby.available < service.min_available();
  return fmt::format("{} available, {} {}", standby.available, few ? "minthrsh" : "maxthrsh",
                     few ? service.min_available() : service.max_available());
}

// ---- Looking

std::vector<Announcement> Announcer::look() {
  if (!passing_) {
    pass_ = std::exchange(next_, {});
    passing_ = !pass_.empty();
  }
  Seen seen;
  for (unsigned cost = 0; passing_ && cost < kSlice;) cost += look_at_next(seen);
  std::ranges::move(settle(names_, std::move(seen)), std::back_inserter(lines_));
  const auto end = lines_.begin() + static_cast<std::ptrdiff_t>(std::min(lines_.size(), kLines));
  std::vector<Announcement> out(std::move_iterator(lines_.begin()), std::move_iterator(end));
  lines_.erase(lines_.begin(), end);
  return out;
}

/// What that has cost, in targets and members.
unsigned Announcer::look_at_next(Seen& seen) {
  if (!pass_.targets.empty()) return look_at(pass_.targets.extract(pass_.targets.begin()).value(), seen);
  if (!pass_.services.empty()) {
    const ServiceKey key = pass_.services.extract(pass_.services.begin()).value();
    repaint(key);
    return 1 + parts_.at(key).size;
  }
  finish(seen);
  return 1;
}

unsigned Announcer::look_at(const TargetKey& key, Seen& seen) {
  const auto found = monitor_.targets().find(key);
  if (found == monitor_.targets().end()) return 1;
  unsigned cost = 1;
  look_at_service(key, found->second, seen);
  if (const auto services = services_of_.find(key); services != services_of_.end())
    pass_.services.insert(services->second.begin(), services->second.end());
  if (const auto depending = depending_.find(key); depending != depending_.end())
    for (const std::uint32_t real : depending->second) cost += look_at_buddies(real, seen);
  return cost + look_at_server(key.real, seen);
}

void Announcer::look_at_service(const TargetKey& key, const Watched& watched, Seen& seen) {
  take(told_.services, seen.before.services, key);
  seen.now.services[key] = watched.state.health;
  if (watched.state.health != Health::up) seen.now.reasons[key] = reason_of(watched);
}

unsigned Announcer::look_at_server(std::uint32_t real, Seen& seen) {
  if (seen.now.servers.contains(real)) return 0;
  take(told_.servers, seen.before.servers, real);
  const health::ServerState state = server_state_of(monitor_.targets(), real);
  seen.now.servers[real] = state.health;
  return look_at_buddies(real, seen);
}

/// How many targets that were.
unsigned Announcer::look_at_buddies(std::uint32_t real, Seen& seen) {
  unsigned count = 0;
  for_each_target(monitor_.targets(), real, [&](const TargetKey&, const Watched& watched) {
    ++count;
    if (watched.target.buddies.empty()) return;
    take(told_.buddy_down, seen.before.buddy_down, real);
    std::optional<std::string>& down = seen.now.buddy_down[real];
    if (!watched.lacks)
      down = down.value_or("");
    else if (monitor_.health_by(*watched.lacks) == Health::down)
      down = buddy_text(*watched.lacks);
  });
  return count;
}

Availability Announcer::availability(const forwarding::Member& member) const {
  const auto target = target_of_.find(&member);
  return target == target_of_.end() ? Availability::closed
                                    : monitor_.availability(target->second->first, target->second->second);
}

/// What a service is now.
Announcer::Part Announcer::painted(const Part& part) const {
  const forwarding::Service& service = *part.service;
  Part fresh{.service = &service, .size = part.size};
  fresh.standby = health::standby(
      service, {.availability = [this](const forwarding::Member& member) { return availability(member); },
                .full = full_,
                .was_short = part.standby.is_short});
  if (const auto fallback = fresh.standby.fallback) {
    const std::uint32_t group = service.fallback(*fallback).group();
    if (group != 0) fresh.stepped_in_groups.insert({service.group(), group});
    for (const std::uint32_t real : fresh.standby.taking)
      if (group == 0) fresh.stepped_in_servers.insert({service.group(), real});
  }
  if (!names_.alert_at.contains(service.group())) return fresh;
  for (const forwarding::Member& member : service.member())
    if (!member.resting() && availability(member) != Availability::closed)
      fresh.available.insert({service.group(), member.real()});
  return fresh;
}

/// What a service claims from now on.
void Announcer::replace(const Part& old, const Part& fresh) {
  failover_.replace(old.standby.failover, fresh.standby.failover);
  overflow_.replace(old.standby.overflow, fresh.standby.overflow);
  stepped_in_groups_.replace(old.stepped_in_groups, fresh.stepped_in_groups);
  stepped_in_servers_.replace(old.stepped_in_servers, fresh.stepped_in_servers);
  for (const auto& [group, real] : fresh.available) ++available_[group][real];
  for (const auto& [group, real] : old.available)
    if (auto& services = available_.at(group); --services.at(real) == 0) services.erase(real);
}

void Announcer::repaint(const ServiceKey& key) {
  Part& part = parts_.at(key);
  Part fresh = painted(part);
  replace(part, fresh);
  part = std::move(fresh);
  taking_[key] = part.standby.taking;
  pass_.painted.push_back(key);
  pass_.groups.insert(part.service->group());
  pass_.virts.insert(part.service->virt());
}

/// Of the services of a group some may lack a server that others have: what is true of the group is so of all
/// of them.
void Announcer::look_at_group(std::uint32_t group, Seen& seen) {
  if (names_.alert_at.contains(group)) {
    take(told_.available, seen.before.available, group);
    seen.now.available[group] = available_[group].size();
  }
  for (const ServiceKey& key : services_of_group_[group]) {
    const Part& part = parts_.at(key);
    if (!part.service->formula().empty()) {
      take(told_.formulas, seen.before.formulas, group);
      join(seen.now.formulas[group], part.standby.is_false, part.standby.unsettled);
    }
    if (part.service->min_available() != 0) {
      take(told_.enough, seen.before.enough, group);
      join(seen.now.enough[group], part.standby.is_short, part.standby.may_suffice);
    }
  }
}

/// A virtual server serves as long as one of its services does.
void Announcer::look_at_virt(std::uint32_t virt, Seen& seen) {
  take(told_.virts, seen.before.virts, virt);
  bool serving = false, undecided = false;
  for (auto at = parts_.lower_bound({virt, 0, Protocol{}}); at != parts_.end(); ++at) {
    if (std::get<0>(at->first) != virt) break;
    const std::optional<bool> serves_now = serves(at->second.standby);
    serving = serving || serves_now.value_or(false);
    undecided = undecided || !serves_now;
  }
  if (serving || !undecided) seen.now.virts[virt] = serving;
}

/// When all that has changed has been looked at: what that means for groups and virtual servers.
void Announcer::finish(Seen& seen) {
  for (const std::uint32_t group : pass_.groups) look_at_group(group, seen);
  for (const std::uint32_t virt : pass_.virts) look_at_virt(virt, seen);
  for (const ServiceKey& key : pass_.painted) {
    take(told_.virt_services, seen.before.virt_services, key);
    if (const auto now = serves(parts_.at(key).standby)) seen.now.virt_services[key] = *now;
  }
  failover_.settle(seen.before.failover, seen.now.failover);
  overflow_.settle(seen.before.overflow, seen.now.overflow);
  stepped_in_groups_.settle(seen.before.stepped_in_groups, seen.now.stepped_in_groups);
  stepped_in_servers_.settle(seen.before.stepped_in_servers, seen.now.stepped_in_servers);
  seen.now.full = std::move(pass_.filled);
  pass_ = {};
  passing_ = false;
}

/// The lines about what was seen, which is known from now on.
std::vector<Announcement> Announcer::settle(const Names& names, Seen seen) {
  const Picture now = carried_over(names, seen.before, std::move(seen.now));
  merge(now.services, told_.services);
  merge(now.servers, told_.servers);
  merge(now.virts, told_.virts);
  merge(now.virt_services, told_.virt_services);
  merge(now.formulas, told_.formulas);
  merge(now.enough, told_.enough);
  merge(now.available, told_.available);
  merge(now.buddy_down, told_.buddy_down);
  return announcements(names, seen.before, now);
}

}  // namespace headgate::daemon
