// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/director.h"

#include <algorithm>
#include <numeric>

#include "dataplane/core/director_parts.h"
#include "dataplane/core/selection.h"
#include "dataplane/core/switch.h"

namespace headgate::core {
namespace {

template <class Key>
Key target_key(const forwarding::Target& target) {
  return {target.real(), target.port(), target.protocol(), target.check()};
}

}  // namespace

Director::Director(Shared& shared)
    : shared_(shared),
      bound_(kMaxBindings),
      free_(kMaxBindings),
      free_tallies_(kMaxTallies),
      layout_(std::make_shared<Layout>()),
      routes_(std::make_shared<Routes>()),
      addresses_(std::make_shared<PortAddresses>()) {
  std::iota(free_.begin(), free_.end(), BindingSlot{0});
  std::iota(free_tallies_.rbegin(), free_tallies_.rend(), TallySlot{0});
  base_.mutable_fate()->Resize(kFates, 0);
}

// ---- Publishing

Status Director::publish(const forwarding::Generation& generation) {
  if (auto checked = check(generation); !checked) return checked;
  published_ = generation;
  for (const BindingSlot slot : lingering_) fold_late(slot);
  std::erase_if(lingering_, [&](BindingSlot slot) { return !held(slot); });
  const auto before = std::exchange(slots_, {});
  const auto layout_before = layout_;  // which selections_before points into
  const auto selections_before = selections_by_service();
  for (auto& [key, target] : targets_) target.uses.clear();
  for (const auto& [key, slot] : before) bound_[slot].live = false;

  auto layout = std::make_shared<Layout>();
  slots_ = before;  // slot_for finds the bindings that stay
  for (const auto& service : generation.service()) {
    layout->services.push_back(place(service, static_cast<std::uint32_t>(layout->services.size())));
  }
  std::erase_if(slots_, [&](const auto& entry) { return !bound_[entry.second].live; });
  for (const auto& [key, slot] : before) {
    if (!bound_[slot].live) retire(slot);
  }
  std::erase_if(targets_, [](const auto& entry) { return entry.second.uses.empty() && !entry.second.state; });

  shared_.closed_ticks.store(2 * std::max(generation.ageing().closed_seconds(), 1u) * Tick::kPerSecond,
                             std::memory_order_relaxed);
  shared_.answer_closed_ports.store(generation.settings().answer_closed_ports(), std::memory_order_relaxed);
  shared_.check_resets.store(generation.settings().check_resets(), std::memory_order_relaxed);
  const auto& settings = generation.settings();
  if (settings.persist_bits4() != 0)
    layout->persist_bits4 = static_cast<std::uint8_t>(settings.persist_bits4());
  if (settings.persist_bits6() != 0)
    layout->persist_bits6 = static_cast<std::uint8_t>(settings.persist_bits6());
  index_layout(*layout);
  set_port_flags(*layout);
  layout_ = std::move(layout);
  select_all(selections_before);
  return Done{};
}

Service Director::place(const forwarding::Service& service, std::uint32_t index) {
  Service placed{.vip = ip_of(service.vip()),
                 .vport = static_cast<L4Port>(service.vport()),
                 .protocol = static_cast<Protocol>(service.protocol()),
                 .metric = service.metric(),
                 .hash_bits = static_cast<std::uint8_t>(service.hash_bits()),
                 .hash_port = service.hash_port(),
                 .drop_fragments = service.drop_fragments(),
                 .slow_start_seconds = service.slow_start_seconds(),
                 .min_available = service.min_available(),
                 .max_available = service.max_available(),
                 .persist_seconds = service.persist_seconds(),
                 .group = service.group()};
  // First the group itself, so that a member's position is its place (selection.h, round_of).
  const auto place_all = [&](std::uint32_t group, const auto& members) {
    std::vector<Place> places;
    for (const auto& member : members)
      places.push_back(
          {.member = place({service, group, index}, member, placed), .overflow = member.overflow()});
    placed.tiers.push_back(std::move(places));
  };
  place_all(service.group(), service.member());
  for (const auto& fallback : service.fallback()) place_all(group_of(service, fallback), fallback.member());
  place_backups(service, index, placed);
  for (std::size_t m = 0; m < placed.members.size(); ++m)
    placed.by_number.emplace_back(placed.members[m].number, static_cast<std::uint16_t>(m));
  std::ranges::sort(placed.by_number);
  for (const auto& term : service.formula()) placed.formula.push_back({term.join(), term.real()});
  return placed;
}

void Director::place_backups(const forwarding::Service& service, std::uint32_t index, Service& placed) {
  const auto place_all = [&](std::uint32_t group, const auto& members, std::vector<Place>& places) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      for (const auto& backup : members[static_cast<int>(i)].backup())
        places[i].backups.push_back(place({service, group, index}, backup, placed));
    }
  };
  place_all(service.group(), service.member(), placed.tiers[0]);
  for (int i = 0; i < service.fallback_size(); ++i) {
    const auto& fallback = service.fallback(i);
    place_all(group_of(service, fallback), fallback.member(), placed.tiers[static_cast<std::size_t>(i) + 1]);
  }
}

std::uint16_t Director::place(const Where& where, const forwarding::Member& member, Service& placed) {
  const auto key = binding_key<BindingKey>(where.service, where.group, member);
  const BindingSlot slot = slot_for(key);
  const auto known = std::ranges::find(placed.members, slot, &Member::binding);
  if (known != placed.members.end()) return static_cast<std::uint16_t>(known - placed.members.begin());
  Bound& bound = bound_[slot];
  const auto weighed_by = std::exchange(bound.target, target_key<TargetKey>(member.target()));
  if (bound.target != weighed_by) touched_.insert(where.index);  // it has its own score, share and time
  bound.live = true;
  bound.resting = member.resting();

  Shared::Binding& words = shared_.bindings[slot];
  const std::uint32_t rules = (where.service.reset_on_expiry() ? Shared::Binding::kResetOnExpiry : 0u) |
                              (where.service.fast_udp() ? Shared::Binding::kFastUdp : 0u) |
                              (where.service.drop_fragments() ? Shared::Binding::kDropFragments : 0u);
  words.set_rules(member.idle_seconds(), rules);
  shared_.persist_seconds[slot].store(where.service.persist_seconds(), std::memory_order_relaxed);
  const auto keys = tallies_of(slot);
  const TallySlot real = tally_for(keys[0]);
  words.end[Side::real].tally.store(real, std::memory_order_relaxed);
  shared_.groups[slot].store(tally_for(keys[1]), std::memory_order_relaxed);
  words.end[Side::client].tally.store(tally_for(keys[2]), std::memory_order_relaxed);

  Target& target = targets_[bound.target];
  target.uses.emplace_back(where.index, slot);
  if (target.state && admit(slot, *target.state)) touched_.insert(where.index);
  placed.members.push_back({.binding = slot,
                            .rip = ip_of(member.rip()),
                            .rport = static_cast<L4Port>(member.rport()),
                            .weight = static_cast<std::uint16_t>(member.weight()),
                            .real = real,
                            .number = member.real(),
                            .maxcon = member.maxcon()});
  return static_cast<std::uint16_t>(placed.members.size() - 1);
}

// Whether any worker has sessions of a binding, terminated ones too.
bool Director::held(BindingSlot slot) const {
  const bool held =
      std::ranges::any_of(workers_, [&](const Switch* worker) { return worker->held(slot) != 0; });
  std::atomic_thread_fence(std::memory_order_acquire);  // what a worker read of it before is over
  return held;
}

// The one that was retired longest ago of those that no session holds; check() has made sure that there is
// one. No worker binds to it meanwhile: all have passed since it was closed, or the caller has not published
// yet.
BindingSlot Director::slot_for(const BindingKey& key) {
  if (const auto known = slots_.find(key); known != slots_.end()) return known->second;
  const auto unheld = std::ranges::find_if(free_, [&](BindingSlot free) { return !held(free); });
  const BindingSlot slot = *unheld;
  free_.erase(unheld);
  std::erase(lingering_, slot);
  slots_[key] = slot;
  bound_[slot] = {.key = key, .base = sums(slot), .reported = sums(slot), .octets_told = sums(slot).octets};
  shared_.bindings[slot].assign(key.vip, static_cast<L4Port>(key.vport), key.rip,
                                static_cast<L4Port>(key.rport));
  return slot;
}

TallySlot Director::tally_for(const TallyKey& key) {
  if (const auto known = tallies_.find(key); known != tallies_.end()) return known->second.slot;
  if (free_tallies_.empty()) reclaim_tallies();
  const TallySlot slot = free_tallies_.back();
  free_tallies_.pop_back();
  tallies_[key] = {.slot = slot};
  return slot;
}

// Totals of objects that are gone are kept until the room is needed. There is always some to be had: the
// bindings of one layout use a third of the tallies at most for each of the three kinds, and a closed binding
// counts nothing.
void Director::reclaim_tallies() {
  std::set<TallyKey> needed;
  for (const auto& [key, slot] : slots_) {
    for (const TallyKey& tally : tallies_of(slot)) needed.insert(tally);
  }
  std::erase_if(tallies_, [&](const auto& entry) {
    Tally& tally = shared_.tallies[entry.second.slot];
    if (needed.contains(entry.first) || tally.current.load(std::memory_order_relaxed) != 0) return false;
    tally.highest.store(0, std::memory_order_relaxed);
    free_tallies_.push_back(entry.second.slot);
    return true;
  });
}

void Director::retire(BindingSlot slot) {
  shared_.admit(slot, forwarding::CLOSED);
  fold(slot, sums(slot));
  free_.push_back(slot);
  lingering_.push_back(slot);
}

// What a binding that goes has counted till `now` is kept with the totals of its server, as long as there
// are any.
void Director::fold(BindingSlot slot, const Sums& now) {
  const Sums base = std::exchange(bound_[slot].base, now);
  for (const TallyKey& key : tallies_of(slot)) {
    const auto found = tallies_.find(key);
    if (found == tallies_.end()) continue;
    Sums& retired = found->second.retired;
    retired.packets += now.packets - base.packets;
    retired.octets += now.octets - base.octets;
    retired.opened += now.opened - base.opened;
  }
}

// Workers that were about to open a session when the binding went have opened it since. The packets that
// sessions of it still pass are nobody's.
void Director::fold_late(BindingSlot slot) {
  Sums now = bound_[slot].base;
  now.opened = sums(slot).opened;
  fold(slot, now);
}

void Director::index_layout(Layout& layout) const {
  std::vector<EndpointTable::Entry> services;
  std::vector<EndpointTable::Entry> vips;
  std::vector<EndpointTable::Entry> reals;
  std::vector<EndpointTable::Entry> hosts;
  for (std::uint32_t index = 0; index < layout.services.size(); ++index) {
    const Service& service = layout.services[index];
    services.push_back({service.vip, service.vport, service.protocol, index});
    vips.push_back({service.vip, 0, Protocol::icmp, 0});
    for (const Member& member : service.members) {
      reals.push_back({member.rip, member.rport, service.protocol, 0});
      hosts.push_back({member.rip, 0, Protocol::icmp, 0});
    }
  }
  std::vector<EndpointTable::Entry> former;
  for (const BindingSlot slot : lingering_)
    former.push_back({shared_.bindings[slot].vip(), 0, Protocol::icmp, 0});
  layout.by_vip = EndpointTable(services);
  layout.former_vips = EndpointTable(former);
  layout.vips = EndpointTable(vips);
  layout.by_real = EndpointTable(reals);
  layout.reals = EndpointTable(hosts);
}

void Director::set_port_flags(Layout& layout) const {
  layout.ports = {};
  for (const auto& port : published_.port()) {
    const auto found = std::ranges::find(ports_, port.number(), &PortNumber::value);
    if (found == ports_.end()) continue;
    const auto bit = std::uint64_t{1} << (found - ports_.begin());
    if (port.client()) layout.ports[Side::client] |= bit;
    if (port.server()) layout.ports[Side::real] |= bit;
  }
}

void Director::set_ports(std::vector<PortNumber> by_index) {
  ports_ = std::move(by_index);
  auto layout = std::make_shared<Layout>(*layout_);
  set_port_flags(*layout);
  layout_ = std::move(layout);
}

void Director::set_routes(std::vector<Route> routes) {
  routes_ = std::make_shared<Routes>(std::move(routes));
  renew_hops();
}

void Director::set_addresses(const PortAddresses& addresses) {
  addresses_ = std::make_shared<PortAddresses>(addresses);
}

std::unique_ptr<const Generation> Director::build() const {
  return std::make_unique<const Generation>(
      Generation{layout_, selections_, routes_, addresses_,
                 static_cast<std::uint16_t>(routes_serial_ % kNoVersion), routes_serial_});
}

// ---- States

void Director::set_states(const forwarding::States& states) {
  if (states.whole()) {
    for (auto& [key, target] : targets_) target.state.reset();
    operations_.clear();
  }
  std::set<std::uint32_t> touched;
  for (const auto& state : states.target()) take_state(state, touched);
  for (const auto& operation : states.operation()) operations_[operation.real()] = operation;
  std::erase_if(targets_, [](const auto& entry) { return entry.second.uses.empty() && !entry.second.state; });
  for (const std::uint32_t index : touched) select_again(index);
}

void Director::take_state(const forwarding::TargetState& state, std::set<std::uint32_t>& touched) {
  Target& target = targets_[target_key<TargetKey>(state.target())];
  const bool scored = !target.state || target.state->score() != state.score();
  const bool shared = std::exchange(target.share, state.share()) != state.share();
  target.state = state;
  for (const auto& [service, slot] : target.uses) {
    const Service& used = layout_->services[service];
    const bool weighs = (scored && used.metric == forwarding::HEALTH) || (shared && weighted(used));
    if (admit(slot, state) || weighs) touched.insert(service);
  }
}

forwarding::States Director::states() const {
  forwarding::States states;
  states.set_whole(true);
  for (const auto& [key, target] : targets_) {
    if (target.state) *states.add_target() = *target.state;
  }
  for (const auto& [real, operation] : operations_) *states.add_operation() = operation;
  return states;
}

// ---- Sessions in the administrator's terms

SessionFilter Director::filter(const forwarding::SessionFilter& filter) const {
  SessionFilter out{.client = ip_of(filter.client()),
                    .client_port = static_cast<L4Port>(filter.client_port()),
                    .vip = ip_of(filter.vip()),
                    .vport = static_cast<L4Port>(filter.vport())};
  if (filter.port() != 0) {
    const auto found = std::ranges::find(ports_, filter.port(), &PortNumber::value);
    out.port = found == ports_.end() ? static_cast<int>(kMaxPorts) : static_cast<int>(found - ports_.begin());
  }
  if (filter.real() == 0 && filter.virt() == 0) return out;
  out.bindings.resize(kMaxBindings);
  for (std::size_t slot = 0; slot < kMaxBindings; ++slot) {
    const BindingKey& key = bound_[slot].key;
    out.bindings[slot] = (filter.real() == 0 || filter.real() == key.real) &&
                         (filter.virt() == 0 || filter.virt() == key.virt);
  }
  return out;
}

forwarding::Session Director::describe(const SessionView& view, unsigned worker) const {
  static constexpr std::array kLives = {"syn", "open", "half-closed", "closing", "closed", "terminated"};
  const BindingKey& key = bound_[view.binding].key;
  forwarding::Session out;
  out.set_worker(worker);
  out.set_port(view.port < ports_.size() ? ports_[view.port].value : 0);
  out.set_protocol(static_cast<std::uint32_t>(view.protocol));
  out.set_client(view.client.wire());
  out.set_client_port(view.client_port);
  out.set_vip(view.vip.wire());
  out.set_vport(view.vport);
  out.set_rip(view.rip.wire());
  out.set_rport(view.rport);
  out.set_virt(key.virt);
  out.set_real(key.real);
  out.set_idle_seconds(view.idle_seconds);
  out.set_left_seconds(view.left_seconds);
  out.set_state(kLives[static_cast<std::size_t>(view.life)]);
  out.set_age_seconds(view.age_seconds);
  out.set_packets_from_client(view.packets_client);
  out.set_packets_from_server(view.packets_real);
  out.set_octets_from_client(view.octets_client);
  out.set_octets_from_server(view.octets_real);
  return out;
}

}  // namespace headgate::core
