// SPDX-License-Identifier: Apache-2.0
// Clients that stay with their server (reference 5.3, pbind clientip).
#include <algorithm>

#include <fmt/format.h>

#include "tests/model/plain_switch.h"

namespace headgate::testing::plain {

// ---- Who takes part

// By states alone, whatever the limits.
bool PlainSwitch::is_open(const Service& service, std::size_t tier) const {
  const auto opens = [](const auto& binding) { return binding->opens(); };
  if (tier == 0 && service.takes_nothing()) return false;
  return std::ranges::any_of(service.tiers[tier], [&](const Place& place) {
    return opens(place.member) || std::ranges::any_of(place.backups, opens);
  });
}

bool PlainSwitch::stands_in(const Place& place, const Binding& binding) const {
  const Binding& own = *place.member;
  const bool needed = !own.opens() || (place.overflow && !takes(own));
  return needed &&
         std::ranges::any_of(place.backups, [&](const auto& backup) { return backup.get() == &binding; });
}

// The servers of a group do, and those who step in as long as they are needed.
bool PlainSwitch::takes_part(const Service& service, const Binding& binding) const {
  const auto is_member = [&](const Place& place) { return place.member.get() == &binding; };
  if (!service.takes_nothing() && std::ranges::any_of(service.tiers[0], is_member)) return true;
  for (std::size_t tier = 0; tier < service.tiers.size(); ++tier) {
    if (!is_open(service, tier)) continue;
    const auto has_part = [&](const Place& place) { return is_member(place) || stands_in(place, binding); };
    if (std::ranges::any_of(service.tiers[tier], has_part)) return true;
    if (!takers(service, tier).empty()) return false;
  }
  return false;
}

// ---- Clients

std::shared_ptr<Binding> PlainSwitch::home(const Service& service, std::uint32_t real) const {
  for (const auto& member : service.members) {
    const bool opens = member->opens() || member->persistent;
    if (member->key.real == real && opens && takes_part(service, *member)) return member;
  }
  return nullptr;
}

// A client that is bound to a server which this service does not have has another one here.
PlainSwitch::Remembered PlainSwitch::remember(const Packet& packet, const Service& service) const {
  if (service.persist_seconds == 0) return {};
  const Ip& client = packet.view.source;
  ClientKey key{prefix_of(client, client.is_v4() ? persist_bits4_ : persist_bits6_), packet.view.destination};
  auto known = clients_.find(key);
  const auto is_it = [&](const auto& member) { return member->key.real == known->second.real; };
  if (known != clients_.end() && std::ranges::none_of(service.members, is_it)) {
    key.group = service.group;
    known = clients_.find(key);
  }
  return {key, known == clients_.end() ? nullptr : home(service, known->second.real)};
}

// The one that was chosen first, although the session may go elsewhere: only the real switch knows.
void PlainSwitch::bind_client(const ClientKey& key, const std::vector<std::shared_ptr<Binding>>& takers,
                              const Choice& choice) {
  const std::uint32_t real = choice.bound_to ? choice.bound_to(key) : 0;
  if (std::ranges::none_of(takers, [&](const auto& taker) { return taker->key.real == real; }))
    complaint_ =
        fmt::format("client {} is bound to real server {}, which takes nobody", key.client.text(), real);
  clients_[key].real = real;
}

void PlainSwitch::let_go(const ClientKey& key, std::uint32_t seconds, Tick now) {
  BoundClient& client = clients_.at(key);
  --client.users;
  client.last = now;
  client.seconds = seconds;
  client.possible.insert(seconds);
}

void PlainSwitch::agree(const ClientKey& key, std::uint32_t seconds) {
  BoundClient& client = clients_.at(key);
  if (client.users == 0 && client.possible.contains(seconds)) client.seconds = seconds;
}

void PlainSwitch::let_go(Session& session, Tick now) {
  if (const auto key = std::exchange(session.bound, std::nullopt))
    let_go(*key, session.binding->persist_seconds, now);
}

}  // namespace headgate::testing::plain
