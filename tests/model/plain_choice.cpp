// SPDX-License-Identifier: Apache-2.0
// Choosing: which servers may take a new session (reference 3.1 and 3.2).
#include <algorithm>

#include <fmt/format.h>

#include "tests/model/plain_switch.h"

namespace headgate::testing::plain {

using core::Fate;

namespace {

Outcome only(Fate fate) {
  return {.fate = fate};
}

}  // namespace

// ---- Who takes sessions

std::uint64_t PlainSwitch::sessions_of(const Binding& binding) const {
  return tallies_.at({'r', binding.key.real, 0}).current;
}

bool PlainSwitch::takes(const Binding& binding) const {
  const bool full = binding.maxcon != 0 && sessions_of(binding) >= binding.maxcon;
  return binding.opens() && !full;
}

// A member, or those who stand in for it. What is degraded is asked last, and so is who stands in for it.
void PlainSwitch::add_takers(const Place& place, Takers& takers) const {
  const Binding& own = *place.member;
  const auto list = [&](const Binding& binding) -> Bindings& {
    return own.degraded() || binding.degraded() ? takers.last : takers.first;
  };
  if (takes(own)) return list(own).push_back(place.member);
  if (own.opens() && !place.overflow) return;
  for (const auto& backup : place.backups) {
    if (takes(*backup)) list(*backup).push_back(backup);
  }
}

// Of the first group that has any.
PlainSwitch::Takers PlainSwitch::takers(const Service& service) const {
  for (std::size_t tier = 0; tier < service.tiers.size(); ++tier) {
    Takers out = takers(service, tier);
    if (!out.empty()) return out;
  }
  return {};
}

PlainSwitch::Takers PlainSwitch::takers(const Service& service, std::size_t tier) const {
  Takers out;
  if (tier == 0 && service.takes_nothing()) return out;
  for (const Place& place : service.tiers[tier]) add_takers(place, out);
  return out;
}

// Whether the server has no other session of this client's address and port that is still alive.
bool PlainSwitch::is_free(const Packet& packet, const Binding& binding) {
  const Found other = holder(packet, binding);
  return other == sessions_.end() || other->over();
}

// ---- Opening

Outcome PlainSwitch::open(const Packet& packet, const Service& service, const Choice& choice) {
  if (const auto refused = may_open(packet)) return only(*refused);
  if (packet.view.fragment && service.drop_fragments) return only(Fate::drop_fragment);
  forget_as(choice, packet, service);
  const Remembered client = remember(packet, service);
  const bool at_home =
      client.home && (client.home->maxcon == 0 || sessions_of(*client.home) < client.home->maxcon);
  const Takers all = takers(service);
  const bool refused = all.empty() && !at_home;
  Bindings candidates;
  for (const Bindings& round : {all.first, all.last}) {
    if (!candidates.empty()) break;
    candidates = round;
    std::erase_if(candidates, [&](const auto& candidate) { return !is_free(packet, *candidate); });
  }
  if (at_home && is_free(packet, *client.home)) candidates = {client.home};
  if (client.key && !refused && !client.home)
    bind_client(*client.key, all.first.empty() ? all.last : all.first, choice);
  if (client.key && clients_.contains(*client.key)) ++clients_[*client.key].users;
  const Outcome outcome = open_at(packet, service, choice, candidates, client);
  const bool bound = outcome.fate == Fate::to_real;
  if (!bound && client.key && clients_.contains(*client.key))
    let_go(*client.key, service.persist_seconds, packet.now);
  return outcome;
}

Outcome PlainSwitch::open_at(const Packet& packet, const Service& service, const Choice& choice,
                             const std::vector<std::shared_ptr<Binding>>& candidates,
                             const Remembered& client) {
  if (candidates.empty()) {
    if (!packet.view.tcp()) return only(Fate::drop_no_real);
    Outcome outcome = only(Fate::reset_no_real);
    outcome.sent = answer_reset(packet);
    return outcome;
  }
  for (const auto& candidate : candidates) {
    const bool chosen = choice.server == candidate->key.rip && choice.port == candidate->rport();
    const Fate fate = fate_at(packet, *candidate);
    if (fate != choice.fate || (fate == Fate::to_real && !chosen)) continue;
    const bool told_so = told_mtu(packet.view, refused(fate, *candidate).mtu) == choice.mtu;
    if (fate == Fate::drop_too_big && choice.mtu != 0 && !told_so) continue;
    if (fate == Fate::drop_table_full && packet.view.tcp()) ++begun_.handshakes;
    if (fate != Fate::to_real) return refused(fate, *candidate);
    if (!client.home && service.metric == forwarding::LEASTCONNS &&
        !is_least_loaded(service, packet, *candidate))
      complaint_ = fmt::format("real server {} has not the fewest sessions", candidate->key.real);
    return bind(packet, candidate, client.key);
  }
  complaint_ = fmt::format("{} by {}:{} is no choice of the service", core::name(choice.fate),
                           choice.server.text(), choice.port);
  return only(fate_at(packet, *candidates.front()));
}

// A session that is over and would be in the way of the new one is forgotten, at whichever servers the real
// switch looked; what it had of a limit is free again.
void PlainSwitch::forget_as(const Choice& choice, const Packet& packet, const Service& service) {
  if (!choice.remembers) return;
  const auto look_at = [&](const Binding& binding) {
    const Found before = holder(packet, binding);
    if (before != sessions_.end() && before->over() && !choice.remembers(*before)) forget(before, packet.now);
  };
  for (const auto& tier : service.tiers) {
    for (const Place& place : tier) {
      look_at(*place.member);
      for (const auto& backup : place.backups) look_at(*backup);
    }
  }
}

Outcome PlainSwitch::refused(Fate fate, const Binding& chosen) const {
  if (fate != Fate::drop_too_big) return only(fate);
  return {.fate = fate, .mtu = mtus_.at(way_to(chosen.key.rip)->port)};
}

// What becomes of a packet that opens a session if this server is chosen.
Fate PlainSwitch::fate_at(const Packet& packet, const Binding& binding) {
  const auto to_real = way_to(binding.key.rip);
  if (!to_real || !way_to(packet.view.source)) return Fate::drop_no_route;
  if (!leaves(packet, mtus_.at(to_real->port))) return Fate::drop_too_big;
  const bool makes_room = holder(packet, binding) != sessions_.end();
  return sessions_.size() >= capacity_ && !makes_room ? Fate::drop_table_full : Fate::to_real;
}

// Sessions by weight, as what the server says it can bear makes that: in 1/256, and at least one of these.
std::uint64_t PlainSwitch::load_of(const Binding& binding) const {
  const auto said = shares_.find(binding.target);
  const std::uint64_t share = said == shares_.end() || said->second == 0 ? 1000 : said->second;
  const std::uint64_t weight = std::max<std::uint64_t>(binding.weight * 256 * share / 1000, 1);
  return (sessions_of(binding) << 24) / weight;
}

// A server that still has a connection with the same client port is passed over, and then any other may be
// taken; a degraded one waits for those that are not; nor does a stand-in have to be the least loaded of all.
bool PlainSwitch::is_least_loaded(const Service& service, const Packet& packet, const Binding& chosen) {
  bool less = false, passed_over = service.takes_nothing();
  for (const Place& place : service.tiers[0]) {
    passed_over = passed_over || !takes(*place.member) || !is_free(packet, *place.member) ||
                  place.member->degraded() != chosen.degraded();
    less = less || load_of(*place.member) < load_of(chosen);
  }
  return !less || passed_over;
}

Outcome PlainSwitch::bind(const Packet& packet, const std::shared_ptr<Binding>& binding,
                          const std::optional<ClientKey>& client) {
  const Found before = holder(packet, *binding);
  if (before != sessions_.end()) forget(before, packet.now);
  Session session{.client = packet.view.source,
                  .client_port = packet.view.source_port,
                  .binding = binding,
                  .seen = packet.now,
                  .began = packet.now,
                  .bound = client};
  session.half_open = packet.view.tcp();
  sessions_.push_back(session);
  count(session, 1);
  ++begun_.sessions;
  if (session.half_open) ++begun_.handshakes;
  return forward(packet, sessions_.back(), true);
}

}  // namespace headgate::testing::plain
