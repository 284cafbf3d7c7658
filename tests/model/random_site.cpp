// SPDX-License-Identifier: Apache-2.0
#include "tests/model/random_site.h"

#include <algorithm>
#include <array>

namespace headgate::testing {
RandomSite::RandomSite(Dice& dice, Limits limits) : limits_(limits) {
  for (std::uint32_t real = 1; real <= kReals; ++real) idle_seconds_[real] = dice.between(4, 60);
  for (int service = 0; service < 4; ++service) add_service(dice);
}

Ip RandomSite::address(unsigned net, std::uint32_t host, bool ipv6) {
  if (!ipv6) return Ipv4{0x0a0a0000 + 256 * net + host};
  Ip out;
  out.octets = {0x20, 0x01, 0x0d, 0xb8, 0, static_cast<std::uint8_t>(net)};
  out.octets[15] = static_cast<std::uint8_t>(host);
  return out;
}

Ip RandomSite::rip(std::uint32_t real, bool ipv6) const {
  return address(port_of(real), (moved_.contains(real) ? 20 : 10) + real, ipv6);
}

RandomSite::Service RandomSite::random_service(Dice& dice) const {
  static constexpr std::array<std::pair<int, int>, 4> kPorts = {
      {{80, 8080}, {443, 8080}, {53, 53}, {81, 81}}};
  static constexpr std::array kMetrics = {
      forwarding::LEASTCONNS, forwarding::ROUNDROBIN, forwarding::HASH,
      forwarding::MINMISSES,  forwarding::PHASH,      forwarding::RESPONSE,
      forwarding::BANDWIDTH,  forwarding::SVCLEAST,   forwarding::HEALTH};
  const auto [vport, rport] = dice.one_of(kPorts);
  Service service{.virt = dice.between(1, kVirts),
                  .vport = static_cast<std::uint16_t>(vport),
                  .rport = static_cast<std::uint16_t>(rport),
                  .protocol = dice.percent(vport == 53 ? 80 : 20) ? kUdp : kTcp,
                  .group = dice.between(1, 3),
                  .metric = dice.one_of(kMetrics),
                  .fast_udp = dice.percent(50),
                  .reset_on_expiry = dice.percent(50),
                  .drop_fragments = dice.percent(15)};
  for (std::uint32_t real = 1; real <= kReals; ++real) {
    if (dice.percent(50)) service.weights[real] = dice.between(1, dice.percent(80) ? 4 : 48);
  }
  if (limits_ == Limits::some && dice.percent(70)) add_stand_ins(dice, service);
  return service;
}

// Limits apart, who takes sessions when others do not.
void RandomSite::add_stand_ins(Dice& dice, Service& service) {
  const auto some = [&] {
    std::vector<std::uint32_t> reals;
    for (std::uint32_t real = 1; real <= kReals; ++real) {
      if (dice.percent(25)) reals.push_back(real);
    }
    return reals;
  };
  for (const auto& [real, weight] : service.weights) {
    if (dice.percent(50)) service.overflowing.insert(real);
    if (dice.percent(8)) service.resting.insert(real);
    if (dice.percent(30)) service.backups[real] = some();
    std::erase(service.backups[real], real);
  }
  if (dice.percent(60)) service.persist_seconds = dice.between(1, 60);
  if (dice.percent(30)) service.least = dice.between(1, 3);
  service.enough = dice.below(4);
  while (dice.percent(25)) service.fallbacks.push_back({dice.percent(50) ? 0 : dice.between(3, 5), some()});
  if (!service.weights.empty() && dice.percent(30)) add_formula(dice, service);
}

// In postfix order: members, and joins wherever there are two values to be joined.
void RandomSite::add_formula(Dice& dice, Service& service) {
  std::uint32_t members = dice.between(1, 5), values = 0;
  while (members > 0 || values > 1) {
    forwarding::Term& term = service.formula.emplace_back();
    if (members > 0 && (values < 2 || dice.percent(50))) {
      term.set_real(dice.one_of(service.weights).first);
      --members;
      ++values;
    } else {
      term.set_join(dice.percent(50) ? forwarding::Term::AND : forwarding::Term::OR);
      --values;
    }
  }
}

void RandomSite::add_service(Dice& dice) {
  const Service fresh = random_service(dice);
  const bool known = std::ranges::any_of(services_, [&](const Service& service) {
    return service.virt == fresh.virt && service.vport == fresh.vport && service.protocol == fresh.protocol;
  });
  if (!known) services_.push_back(fresh);
}

void RandomSite::change(Dice& dice) {
  const std::uint32_t real = dice.between(1, kReals);
  const auto toggle = [&](std::set<std::uint32_t>& set) {
    if (set.erase(real) == 0) set.insert(real);
  };
  switch (dice.below(8)) {
    case 0:
      return add_service(dice);
    case 1:
      if (!services_.empty()) services_.erase(services_.begin() + dice.below(services_.size()));
      return;
    case 2:
      idle_seconds_[real] = dice.between(4, 60);
      if (limits_ == Limits::some) maxcons_[real] = dice.percent(50) ? 0 : dice.between(1, 8);
      return;
    case 3:
      return dice.percent(30) ? toggle(moved_) : toggle(http_);
    case 4:
      return change_settings(dice);
    default:
      if (!services_.empty()) change_service(dice, services_[dice.below(services_.size())]);
  }
}

void RandomSite::change_service(Dice& dice, Service& service) {
  const Service other = random_service(dice);
  switch (dice.below(6)) {
    case 0:
      service.metric = other.metric;
      return;
    case 1:
      service.group = other.group;
      return;
    case 2:
      service.fast_udp = other.fast_udp;
      service.reset_on_expiry = other.reset_on_expiry;
      service.drop_fragments = other.drop_fragments;
      return;
    case 3:
      service.rport = other.rport;
      return;
    default:
      service.weights = other.weights;
      service.overflowing = other.overflowing;
      service.resting = other.resting;
      service.backups = other.backups;
      service.persist_seconds = other.persist_seconds;
      service.formula = other.formula;
      service.least = other.least;
      service.enough = other.enough;
      service.fallbacks = other.fallbacks;
  }
}

void RandomSite::change_settings(Dice& dice) {
  client_processing_ = !dice.percent(5);
  server_processing_ = !dice.percent(5);
  check_resets_ = dice.percent(50);
  answer_closed_ports_ = dice.percent(50);
  closed_seconds_ = dice.between(0, 4);
  if (limits_ == Limits::some) persist_bits_ = dice.percent(70) ? 0 : dice.between(28, 32);
}

forwarding::Member RandomSite::member(const Service& from, std::uint32_t real) const {
  forwarding::Member member;
  const auto weight = from.weights.find(real);
  const auto maxcon = maxcons_.find(real);
  member.set_real(real);
  member.set_rip(rip(real, is_ipv6(from.virt)).wire());
  member.set_rport(from.rport);
  member.set_weight(weight == from.weights.end() ? 1 : weight->second);
  member.set_idle_seconds(idle_seconds_.at(real));
  member.set_maxcon(maxcon == maxcons_.end() ? 0 : maxcon->second);
  auto& target = *member.mutable_target();
  target.set_real(real);
  target.set_port(from.rport);
  target.set_protocol(from.protocol);
  target.set_check(http_.contains(real) ? "http" : "tcp");
  return member;
}

forwarding::Service RandomSite::service(const Service& from) const {
  forwarding::Service service;
  service.set_virt(from.virt);
  service.set_vip(vip(from.virt).wire());
  service.set_vport(from.vport);
  service.set_protocol(from.protocol);
  service.set_group(from.group);
  service.set_metric(from.metric);
  service.set_fast_udp(from.fast_udp);
  service.set_reset_on_expiry(from.reset_on_expiry);
  service.set_drop_fragments(from.drop_fragments);
  service.set_persist_seconds(from.persist_seconds);
  service.set_min_available(from.least);
  service.set_max_available(from.enough);
  service.mutable_formula()->Assign(from.formula.begin(), from.formula.end());
  for (const auto& [real, weight] : from.weights) {
    auto& added = *service.add_member() = member(from, real);
    added.set_overflow(from.overflowing.contains(real));
    added.set_resting(from.resting.contains(real));
    const auto backups = from.backups.find(real);
    if (backups == from.backups.end()) continue;
    for (const std::uint32_t backup : backups->second) *added.add_backup() = member(from, backup);
  }
  for (const auto& fallback : from.fallbacks) {
    auto& added = *service.add_fallback();
    added.set_group(fallback.group);
    for (const std::uint32_t real : fallback.reals) *added.add_member() = member(from, real);
  }
  return service;
}

forwarding::Generation RandomSite::generation() const {
  forwarding::Generation out;
  out.set_number(number_);
  for (unsigned number = 1; number <= kPorts; ++number) {
    auto& port = *out.add_port();
    port.set_number(number);
    port.set_client(number == 1 && client_processing_);
    port.set_server(number != 1 && server_processing_);
  }
  out.mutable_ageing()->set_closed_seconds(closed_seconds_);
  out.mutable_settings()->set_check_resets(check_resets_);
  out.mutable_settings()->set_answer_closed_ports(answer_closed_ports_);
  out.mutable_settings()->set_persist_bits4(persist_bits_);
  out.mutable_settings()->set_persist_bits6(persist_bits_ == 0 ? 0 : persist_bits_ + 96);
  for (const Service& from : services_) *out.add_service() = service(from);
  return out;
}

forwarding::States RandomSite::states(Dice& dice) const {
  forwarding::States out;
  const bool whole = dice.percent(10);
  const std::uint32_t chance = whole ? 90 : 15;
  out.set_whole(whole);
  std::map<std::string, forwarding::Target> targets;
  for (const Service& from : services_) {
    for (std::uint32_t real = 1; real <= kReals; ++real) {
      const forwarding::Target target = member(from, real).target();
      targets[target.SerializeAsString()] = target;
    }
  }
  for (const auto& [name, target] : targets) {
    if (!dice.percent(chance)) continue;
    auto& state = *out.add_target();
    *state.mutable_target() = target;
    state.set_admission(dice.percent(50)   ? forwarding::OPEN
                        : dice.percent(40) ? forwarding::LAST
                        : dice.percent(40) ? forwarding::DRAINING
                                           : forwarding::CLOSED);
    state.set_score(dice.below(11));
    if (dice.percent(30))
      state.set_share(dice.percent(50) ? dice.between(1, 1500) : 1000 * dice.between(1, 48));
    state.set_persistent(dice.percent(50));
  }
  if (dice.percent(20)) {
    auto& operation = *out.add_operation();
    operation.set_real(dice.between(1, kReals));
    operation.set_operation(dice.percent(50) ? forwarding::DRAIN : forwarding::ENABLED);
  }
  return out;
}

std::map<std::pair<unsigned, bool>, Ip> RandomSite::addresses(Dice& dice) {
  std::map<std::pair<unsigned, bool>, Ip> out;
  for (unsigned port = 1; port <= kPorts; ++port) {
    for (const bool ipv6 : {false, true}) {
      if (!dice.percent(10)) out[{port, ipv6}] = address(port, 1, ipv6);
    }
  }
  return out;
}

std::vector<core::Route> RandomSite::routes(Dice& dice) const {
  std::vector<core::Route> out;
  for (const bool ipv6 : {false, true}) {
    const unsigned length = ipv6 ? 64 : 24;
    const auto network = [&](unsigned net) { return prefix_of(address(net, 1, ipv6), length); };
    for (const std::uint8_t net : {1, 2, 3})
      out.push_back(
          {.prefix = network(net), .length = length, .port = static_cast<core::PortIndex>(net - 1)});
    if (dice.percent(30)) out.back().gateway = address(3, 254, ipv6);
    out.push_back({.prefix = ipv6 ? Ip{} : core::kAnyIpv4, .length = 0, .gateway = address(1, 254, ipv6)});
    if (!dice.percent(20)) continue;
    // A better way to one part of a network, and a worse one to all of it.
    const Ip gateway = address(2, 253, ipv6);
    out.push_back({.prefix = network(3), .length = length + 4, .port = 1, .gateway = gateway});
    out.push_back({.prefix = network(3), .length = length, .port = 1, .metric = 5});
  }
  return out;
}

}  // namespace headgate::testing
