// SPDX-License-Identifier: Apache-2.0
// Everything but packets: configuration, states, time, counts.
#include <algorithm>

#include "tests/model/plain_switch.h"

namespace headgate::testing::plain {
namespace {

// What the core promises beside the reference (dataplane/core/switch.h).
constexpr std::uint32_t kHalfOpenTicks = 32 * Tick::kPerSecond;
constexpr std::uint32_t kToldTicks = 8 * Tick::kPerSecond;

TargetKey key_of(const forwarding::Target& target) {
  return {target.real(), target.port(), target.protocol(), target.check()};
}

BindingKey key_of(const forwarding::Service& service, std::uint32_t group, const forwarding::Member& member) {
  return {.virt = service.virt(),
          .vport = service.vport(),
          .protocol = service.protocol(),
          .group = group,
          .real = member.real(),
          .rport = member.rport(),
          .vip = *Ip::from_wire(service.vip()),
          .rip = *Ip::from_wire(member.rip())};
}

bool covers(const core::Route& route, const Ip& address) {
  const bool ipv4 = address.is_v4();
  if (route.prefix.is_v4() != ipv4) return false;
  const unsigned first = ipv4 ? 96 : 0;
  for (unsigned bit = first; bit < first + route.length; ++bit) {
    const std::uint8_t mask = static_cast<std::uint8_t>(0x80 >> bit % 8);
    if (((route.prefix.octets[bit / 8] ^ address.octets[bit / 8]) & mask) != 0) return false;
  }
  return true;
}

}  // namespace

// ---- Configuration

void PlainSwitch::publish(const forwarding::Generation& generation) {
  const auto before = std::exchange(bindings_, {});
  const auto services = std::exchange(services_, {});
  for (const auto& [key, binding] : before) binding->live = false;
  bindings_ = before;
  for (const auto& service : generation.service()) {
    services_[{*Ip::from_wire(service.vip()), static_cast<std::uint16_t>(service.vport()),
               static_cast<std::uint8_t>(service.protocol())}] = take_service(service);
  }
  for (const auto& [key, binding] : before) {
    if (binding->live) continue;
    admit(*binding, {});
    bindings_.erase(key);
  }
  client_ports_.clear();
  server_ports_.clear();
  for (const auto& port : generation.port()) {
    if (port.client()) client_ports_.insert(port.number());
    if (port.server()) server_ports_.insert(port.number());
  }
  closed_ticks_ = 2 * std::max(generation.ageing().closed_seconds(), 1u) * Tick::kPerSecond;
  check_resets_ = generation.settings().check_resets();
  answer_closed_ports_ = generation.settings().answer_closed_ports();
  const auto bits = [](std::uint32_t told, unsigned most) { return told == 0 ? most : told; };
  persist_bits4_ = bits(generation.settings().persist_bits4(), 32);
  persist_bits6_ = bits(generation.settings().persist_bits6(), 128);
  for (auto& [key, service] : services_) {
    const auto known = services.find(key);
    service.closed = known != services.end() && known->second.closed;
  }
  close_groups();
  forget_targets();
}

// Members come first: what they are, they are as somebody's backup too.
PlainSwitch::Service PlainSwitch::take_service(const forwarding::Service& service) {
  Service taken{.metric = service.metric(),
                .drop_fragments = service.drop_fragments(),
                .group = service.group(),
                .persist_seconds = service.persist_seconds(),
                .least = service.min_available(),
                .enough = std::max(service.min_available(), service.max_available()),
                .formula = {service.formula().begin(), service.formula().end()}};
  for (const auto& [key, binding] : bindings_) binding->placed = false;
  const auto take_one = [&](std::uint32_t group, const forwarding::Member& member) {
    const auto binding = take_member(service, group, member);
    if (std::ranges::find(taken.members, binding) == taken.members.end()) taken.members.push_back(binding);
    return binding;
  };
  const auto take = [&](std::uint32_t group, const auto& members) {
    std::vector<Place> tier;
    for (const auto& member : members)
      tier.push_back({.member = take_one(group, member), .overflow = member.overflow()});
    taken.tiers.push_back(tier);
  };
  const auto group_of = [&](const auto& fallback) {
    return fallback.group() == 0 ? service.group() : fallback.group();
  };
  take(service.group(), service.member());
  for (const auto& fallback : service.fallback()) take(group_of(fallback), fallback.member());
  const auto take_backups = [&](std::uint32_t group, const auto& members, std::vector<Place>& tier) {
    for (int i = 0; i < members.size(); ++i) {
      for (const auto& backup : members[i].backup())
        tier[static_cast<std::size_t>(i)].backups.push_back(take_one(group, backup));
    }
  };
  take_backups(service.group(), service.member(), taken.tiers[0]);
  for (int i = 0; i < service.fallback_size(); ++i)
    take_backups(group_of(service.fallback(i)), service.fallback(i).member(),
                 taken.tiers[static_cast<std::size_t>(i) + 1]);
  return taken;
}

std::shared_ptr<Binding> PlainSwitch::take_member(const forwarding::Service& service, std::uint32_t group,
                                                  const forwarding::Member& member) {
  const BindingKey key = key_of(service, group, member);
  auto& binding = bindings_[key];
  if (!binding) binding = std::make_shared<Binding>(Binding{.key = key});
  if (std::exchange(binding->placed, true)) return binding;
  binding->live = true;
  binding->maxcon = member.maxcon();
  binding->resting = member.resting();
  binding->target = key_of(member.target());
  binding->weight = member.weight();
  binding->idle_ticks = member.idle_seconds() * Tick::kPerSecond;
  binding->persist_seconds = service.persist_seconds();
  binding->fast_udp = service.fast_udp();
  binding->drop_fragments = service.drop_fragments();
  binding->reset_on_expiry = service.reset_on_expiry();
  for (const TallyKey& tally : tallies_of(*binding)) tallies_[tally];
  const auto state = states_.find(binding->target);
  if (state != states_.end()) admit(*binding, state->second);
  return binding;
}

// ---- States

void PlainSwitch::set_states(const forwarding::States& states) {
  if (states.whole()) states_.clear();
  for (const auto& state : states.target()) {
    const State now{state.admission(), state.persistent()};
    states_[key_of(state.target())] = now;
    shares_[key_of(state.target())] = state.share();
    for (const auto& [key, binding] : bindings_) {
      if (binding->target == key_of(state.target())) admit(*binding, now);
    }
  }
  close_groups();
  forget_targets();
}

// Closing ends every session that is not over by itself.
void PlainSwitch::admit(Binding& binding, State state) {
  const bool rests = binding.resting && state.admission >= forwarding::OPEN;
  const forwarding::Admission admission = rests ? forwarding::DRAINING : state.admission;
  binding.persistent = state.persistent && admission == forwarding::DRAINING;
  const bool closes = binding.admission != forwarding::CLOSED && admission == forwarding::CLOSED;
  binding.admission = admission;
  if (!closes) return;
  for (Session& session : sessions_) {
    if (session.binding.get() != &binding || session.closed()) continue;
    if (session.counted) ++terminated_;
    uncount(session);
    session.terminated = true;
  }
}

// From the last term backwards: a join, then its right part, then its left one.
bool PlainSwitch::is_false(const Service& service) {
  auto term = service.formula.rbegin();
  const std::function<bool()> value = [&]() -> bool {
    const forwarding::Term& here = *term++;
    if (here.join() == forwarding::Term::MEMBER)
      return std::ranges::any_of(service.tiers[0], [&](const Place& place) {
        return place.member->key.real == here.real() && place.member->opens();
      });
    const bool right = value(), left = value();
    return here.join() == forwarding::Term::AND ? left && right : left || right;
  };
  return !service.formula.empty() && !value();
}

// A group with too few servers that are available takes no new sessions, until there are enough.
void PlainSwitch::close_groups() {
  for (auto& [key, service] : services_) {
    const auto available =
        std::ranges::count_if(service.tiers[0], [](const Place& place) { return place.member->opens(); });
    const std::uint32_t needed = service.closed ? service.enough : service.least;
    service.closed = service.least != 0 && static_cast<std::uint32_t>(available) < needed;
    service.untrue = is_false(service);
  }
}

// What was told of a target is remembered with it.
void PlainSwitch::forget_targets() {
  const auto forgotten = [&](const auto& about) {
    const bool used = std::ranges::any_of(
        bindings_, [&](const auto& binding) { return binding.second->target == about.first; });
    return !used && !states_.contains(about.first);
  };
  std::erase_if(told_, forgotten);
  std::erase_if(shares_, forgotten);
}

// ---- Time

std::uint32_t PlainSwitch::lifetime(const Session& session) const {
  const std::uint32_t idle = session.binding->idle_ticks;
  if (session.terminated) {
    const bool told = !session.tcp() || (session.told_client && session.told_real);
    return told ? std::min(idle, kToldTicks) : idle;
  }
  if (!session.tcp()) {
    const bool fast = session.binding->fast_udp && session.connection.answered();
    return fast ? std::min(idle, closed_ticks_) : idle;
  }
  if (session.closed()) return closed_ticks_;
  return session.connection.life() == Life::syn ? std::min(idle, kHalfOpenTicks) : idle;
}

std::vector<Sent> PlainSwitch::sweep(Tick now) {
  std::vector<Sent> resets;
  for (auto& [key, client] : clients_) client.possible.clear();
  for (Found session = sessions_.begin(); session != sessions_.end();) {
    if (session->terminated) {
      session->half_open = false;
      let_go(*session, now);
    }
    if (now.since(session->seen) <= static_cast<std::int32_t>(lifetime(*session))) {
      ++session;
      continue;
    }
    const Connection& connection = session->connection;
    const Life life = connection.life();
    const bool connected = session->tcp() && !session->terminated;
    if (connected && life == Life::syn && !connection.answered()) ++session->binding->unanswered;
    const bool alive = connected && life != Life::syn && life != Life::closed;
    if (alive && session->binding->reset_on_expiry && find_ways(*session)) {
      const auto [client, real] = std::pair(connection.client().acked, connection.real().acked);
      resets.push_back(tell(*session, true, {real, client, true}));
      resets.push_back(tell(*session, false, {client, real, true}));
    }
    session = forget(session, now);
  }
  return resets;
}

// ---- Sessions

PlainSwitch::Found PlainSwitch::find(const View& view, bool& from_client) {
  return std::ranges::find_if(sessions_, [&](const Session& session) {
    const BindingKey& key = session.binding->key;
    if (session.protocol() != view.protocol) return false;
    const bool asks = session.client == view.source && session.client_port == view.source_port &&
                      key.vip == view.destination && key.vport == view.destination_port;
    const bool replies = key.rip == view.source && key.rport == view.source_port &&
                         session.client == view.destination && session.client_port == view.destination_port;
    if (asks || replies) from_client = asks;
    return asks || replies;
  });
}

// The session of another service whose replies would look the same.
PlainSwitch::Found PlainSwitch::holder(const Packet& packet, const Binding& binding) {
  View reply = packet.view;
  reply.source = binding.key.rip;
  reply.source_port = binding.rport();
  reply.destination = packet.view.source;
  reply.destination_port = packet.view.source_port;
  bool from_client = false;
  return find(reply, from_client);
}

PlainSwitch::Found PlainSwitch::forget(Found session, Tick now) {
  let_go(*session, now);
  uncount(*session);
  return sessions_.erase(session);
}

void PlainSwitch::uncount(Session& session) {
  if (std::exchange(session.counted, false)) count(session, -1);
}

// ---- Counts

std::array<TallyKey, 3> PlainSwitch::tallies_of(const Binding& binding) {
  const BindingKey& key = binding.key;
  return {TallyKey{'r', key.real, 0}, TallyKey{'g', key.group, key.real}, TallyKey{'v', key.virt, key.real}};
}

void PlainSwitch::count(const Session& session, int change) {
  for (const TallyKey& key : tallies_of(*session.binding)) {
    Tally& tally = tallies_[key];
    tally.current += static_cast<std::uint64_t>(change);
    tally.highest = std::max(tally.highest, tally.current);
    if (change > 0) ++tally.total;
  }
}

std::uint64_t PlainSwitch::half_open() const {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(sessions_, [](const Session& session) { return session.half_open; }));
}

std::map<TargetKey, std::pair<std::uint32_t, std::uint32_t>> PlainSwitch::take_failures(Tick now) {
  std::map<TargetKey, std::pair<std::uint32_t, std::uint32_t>> failures;
  std::set<TargetKey> waiting;
  for (const auto& [key, told] : told_) {
    if (now.since(told) < static_cast<std::int32_t>(Tick::kPerSecond)) waiting.insert(key);
  }
  for (const auto& [key, binding] : bindings_) {
    const bool failed = binding->refused != 0 || binding->unanswered != 0;
    if (!failed || waiting.contains(binding->target)) continue;
    failures[binding->target].first += std::exchange(binding->refused, 0);
    failures[binding->target].second += std::exchange(binding->unanswered, 0);
    told_[binding->target] = now;
  }
  return failures;
}

void PlainSwitch::clear_stats() {
  fates_ = {};
  fragmented_before_ = fragments_.total();
  packets_in_ = terminated_ = resets_ = errors_ = errors_withheld_ = 0;
  for (auto& [key, tally] : tallies_) tally = {.current = tally.current, .highest = tally.current};
  for (auto& [key, binding] : bindings_) binding->packets = binding->octets = 0;
}

// ---- Ways

std::optional<Way> PlainSwitch::way_to(const Ip& address) const {
  const core::Route* best = nullptr;
  for (const core::Route& route : routes_) {
    if (!covers(route, address)) continue;
    const bool better = best == nullptr || route.length > best->length ||
                        (route.length == best->length && route.metric < best->metric);
    if (better) best = &route;
  }
  if (best == nullptr) return {};
  return Way{best->port + 1u, best->gateway.none() ? address : best->gateway};
}

bool PlainSwitch::find_ways(Session& session) const {
  const auto to_real = way_to(session.binding->key.rip);
  const auto to_client = way_to(session.client);
  if (!to_real || !to_client) return false;
  session.to_real = *to_real;
  session.to_client = *to_client;
  return true;
}

bool PlainSwitch::is_vip(const Ip& address) const {
  return std::ranges::any_of(services_, [&](const auto& service) { return service.first.vip == address; });
}

bool PlainSwitch::concerns(const View& view) const {
  return is_vip(view.destination) ||
         std::ranges::any_of(bindings_, [&](const auto& entry) { return entry.first.rip == view.source; });
}

bool PlainSwitch::is_real(const View& view) const {
  return std::ranges::any_of(bindings_, [&](const auto& entry) {
    const BindingKey& key = entry.second->key;
    return key.rip == view.source && key.rport == view.source_port && key.protocol == view.protocol;
  });
}

}  // namespace headgate::testing::plain
