// SPDX-License-Identifier: Apache-2.0
#include "controlplane/config/compile_services.h"

#include <algorithm>

#include "controlplane/config/checks.h"
#include "controlplane/config/formula.h"
#include "controlplane/config/link_checks.h"
#include "controlplane/config/topology.h"

namespace headgate::config {
namespace {

constexpr std::uint64_t kSecondsPerMinute = 60;
constexpr std::uint64_t kLongestIdle = 3ull * 365 * 24 * 3600;
constexpr std::uint32_t kAllBits = 32;

struct FlatService {
  const Virt& virt;
  const Service& service;
  const Group& group;
  Protocol protocol;
  Cast cast;
};

enum class Virts : std::uint8_t { enabled, all };

std::vector<FlatService> services(const Config& config, Virts which = Virts::enabled) {
  std::vector<FlatService> result;
  if (!config.slb().enabled()) return result;
  for (const Virt& virt : config.slb().virt())
    for (const Service& service : virt.service()) {
      const Group* group = find_group(config, service.group());
      if ((which == Virts::enabled && !virt.enabled()) || group == nullptr) continue;
      for (const Protocol protocol : protocols_of(service))
        result.push_back({virt, service, *group, protocol, cast_of(config, *group)});
    }
  return result;
}

/// Slow ageing stretches every idle time (reference 5.2): the configured minutes are those of slowage 0.
/// Three years are for ever, and within what the dataplane's clock can tell apart.
std::uint32_t stretched(const Config& config, std::uint64_t minutes) {
  return static_cast<std::uint32_t>(
      std::min(minutes * kSecondsPerMinute << config.slb().adv().slowage(), kLongestIdle));
}

std::uint32_t idle_minutes(const Service& service, const Real& real) {
  return service.tmout() != 0 ? service.tmout() : real.tmout();
}

/// One time for a whole service: without its own the longest of its servers, so that none lets go early.
std::uint32_t persist_seconds(const Config& config, const FlatService& from) {
  if (from.service.pbind() != PBIND_CLIENTIP) return 0;
  std::uint32_t minutes = from.service.ptmout();
  if (minutes == 0)
    for_each_player(from.cast,
                    [&](const Player& player) { minutes = std::max(minutes, player.real->tmout()); });
  return stretched(config, std::max(minutes, 1u));
}

/// The part of a client's address that decides, 0 for all of it. Of an IPv6 address twice as many bits: a
/// site has 48 there where it has 24 in IPv4.
std::uint32_t hash_bits(const FlatService& from) {
  std::uint32_t bits = kAllBits;
  if (from.group.metric().rule() == MINMISSES) bits = from.group.mhash();
  if (from.group.metric().rule() == PHASH)
    bits = prefix_length(address_of(from.group.metric().mask()).v4()).value_or(kAllBits);
  if (bits >= kAllBits) return 0;
  return address_of(from.virt.vip()).is_v4() ? bits : 2 * bits;
}

void fill(const Config& config, const FlatService& from, const Player& player, forwarding::Member& to) {
  const Real& real = *player.real;
  to.set_real(real.number());
  to.set_rip(address_of(real.rip()).wire());
  to.set_rport(real_port(from.service));
  to.set_weight(real.weight());
  to.set_idle_seconds(stretched(config, idle_minutes(from.service, real)));
  to.set_maxcon(real.maxcon());
  to.set_resting(player.resting);
  *to.mutable_target() = to_message(target_of(config, from.virt, from.service, player, from.protocol));
}

void fill(const Config& config, const FlatService& from, const CastMember& member, forwarding::Member& to) {
  fill(config, from, member.self, to);
  to.set_overflow(member.self.real->overflow() && !member.backup.empty());
  for (const Player& backup : member.backup) fill(config, from, backup, *to.add_backup());
}

void fill_choice(const FlatService& from, forwarding::Service& to) {
  to.set_group(from.group.number());
  to.set_metric(static_cast<forwarding::Metric>(from.group.metric().rule()));
  to.set_hash_bits(hash_bits(from));
  to.set_hash_port(from.service.thash() == HASH_SIP_SPORT);
  to.set_slow_start_seconds(from.group.slowstr());
  to.set_min_available(from.group.minthrsh());
  to.set_max_available(std::max(from.group.maxthrsh(), from.group.minthrsh()));
  if (has_formula(from.group))
    if (const auto terms = parse_formula(from.group.advhlth()))
      to.mutable_formula()->Assign(terms->begin(), terms->end());
}

void add_service(const Config& config, const FlatService& from, forwarding::Generation& generation) {
  forwarding::Service& service = *generation.add_service();
  service.set_virt(from.virt.number());
  service.set_vip(address_of(from.virt.vip()).wire());
  service.set_vport(from.service.vport());
  service.set_protocol(static_cast<std::uint32_t>(from.protocol));
  fill_choice(from, service);
  service.set_persist_seconds(persist_seconds(config, from));
  service.set_reset_on_expiry(from.service.clsrst());
  service.set_fast_udp(from.service.udpage());
  service.set_drop_fragments(!from.service.frag());
  for (const CastMember& member : from.cast.members) fill(config, from, member, *service.add_member());
  for (const CastFallback& stepping_in : from.cast.fallback) {
    forwarding::Fallback& fallback = *service.add_fallback();
    fallback.set_group(stepping_in.group);
    for (const CastMember& member : stepping_in.members) fill(config, from, member, *fallback.add_member());
  }
}

Target target_from(const Config& config, const FlatService& from, const Player& player) {
  const Real& real = *player.real;
  return {.address = address_of(real.rip()),
          .check = check_of(config, from.virt, from.service, &real, *player.checked_by, from.protocol),
          .policy = policy_of(config, real, health_word(&real, *player.checked_by)),
          .remedies = remedies_of(config, real, health_word(&real, *player.checked_by)),
          .enabled = real.enabled(),
          .weight = real.weight(),
          .yields_to = {}};
}

void note_backups(const Config& config, const FlatService& from, const CastMember& member,
                  std::map<TargetKey, Target>& targets) {
  if (member.self.real->preempt()) return;
  Target& target = targets.at(target_of(config, from.virt, from.service, member.self, from.protocol));
  for (const Player& backup : member.backup)
    target.yields_to.insert(target_of(config, from.virt, from.service, backup, from.protocol));
}

/// The targets of a buddy: that server's in each service of the group by that virtual port. They are probed
/// whether a virtual server that offers them is enabled or not.
std::set<TargetKey> targets_of_buddy(const Config& config, const std::vector<FlatService>& services,
                                     const Buddy& buddy, std::map<TargetKey, Target>& targets) {
  std::set<TargetKey> keys;
  for (const FlatService& from : services) {
    if (from.group.number() != buddy.group() || from.service.vport() != buddy.service()) continue;
    for (const CastMember& member : from.cast.members) {
      if (member.self.real->number() != buddy.real()) continue;
      const TargetKey key = target_of(config, from.virt, from.service, member.self, from.protocol);
      targets.try_emplace(key, target_from(config, from, member.self));
      keys.insert(key);
    }
  }
  return keys;
}

void add_buddies(const Config& config, std::map<TargetKey, Target>& targets) {
  const auto has_buddies = [](const Real& real) { return real.buddyhc().buddy_size() != 0; };
  if (std::ranges::none_of(config.slb().real(), has_buddies)) return;
  const std::vector<FlatService> all = services(config, Virts::all);
  std::map<std::uint32_t, std::set<TargetKey>> buddies;
  for (const Real& real : config.slb().real())
    for (const Buddy& buddy : real.buddyhc().buddy())
      buddies[real.number()].merge(targets_of_buddy(config, all, buddy, targets));
  for (auto& [key, target] : targets)
    if (const auto found = buddies.find(key.real); found != buddies.end()) target.buddies = found->second;
}

}  // namespace

void add_services(const Config& config, forwarding::Generation& generation) {
  for (const FlatService& service : services(config)) add_service(config, service, generation);
}

std::map<TargetKey, Target> targets_of(const Config& config) {
  std::map<TargetKey, Target> targets;
  for (const FlatService& from : services(config)) {
    for_each_player(from.cast, [&](const Player& player) {
      targets.try_emplace(target_of(config, from.virt, from.service, player, from.protocol),
                          target_from(config, from, player));
    });
    for (const CastMember& member : from.cast.members) note_backups(config, from, member, targets);
  }
  add_buddies(config, targets);
  return targets;
}

L4Port real_port(const Service& service) {
  return static_cast<L4Port>(service.rport() != 0 ? service.rport() : service.vport());
}

probe::Check check_of(const Config& config, const Virt& virt, const Service& service, const Real* real,
                      const Group& group, Protocol protocol) {
  probe::Check check =
      probe::resolve(wish_of(config, virt, service, group, health_word(real, group), protocol));
  if (real != nullptr) name_port(config, *real, check);
  return check;
}

TargetKey target_of(const Config& config, const Virt& virt, const Service& service, const Player& player,
                    Protocol protocol) {
  return {player.real->number(), real_port(service), protocol,
          check_of(config, virt, service, player.real, *player.checked_by, protocol).identity()};
}

}  // namespace headgate::config
