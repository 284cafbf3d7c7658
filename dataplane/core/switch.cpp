// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/switch.h"

#include <cassert>
#include <cstdlib>
#include <new>

#include "dataplane/core/rewrite.h"
#include "dataplane/core/split.h"
#include "dataplane/core/switch_parts.h"

namespace headgate::core {

const std::size_t Switch::kCounterBytes = sizeof(Counters);

Switch::Switch(const Config& config, Shared& shared)
    : shared_(shared),
      table_(config.memory, config.sessions, config.seed, shared.bindings),
      own_(config.counters.empty() ? std::make_unique<Counters>() : nullptr),
      counters_(own_ ? *own_ : *reinterpret_cast<Counters*>(config.counters.data())),
      counted_(kMaxBindings),
      held_(kMaxBindings),
      to_reals_(kMaxBindings),
      uses_(static_cast<Persistence::Use*>(std::calloc(table_.capacity(), sizeof(Persistence::Use)))),
      asked_(static_cast<TcpLife::Asked*>(std::calloc(table_.capacity(), sizeof(TcpLife::Asked)))),
      fragments_(config.seed, counters_.fragments),
      worker_(config.worker),
      workers_(config.workers),
      closings_seen_(shared.closings_head.load(std::memory_order_acquire)) {
  if (!uses_ || !asked_) throw std::bad_alloc();
  for (std::size_t slot = 0; slot < kMaxBindings; ++slot)
    counted_[slot].epoch = shared.state(static_cast<BindingSlot>(slot)).epoch;
  if (config.survived) recover(config.now);
}

void Switch::Free::operator()(void* memory) const noexcept {
  std::free(memory);
}

Switch::~Switch() = default;

// ---- A packet

void Switch::decide(Frame& frame, const Glance& glance, Burst& burst) noexcept {
  ++burst.decided;
  Parsed parsed = glance.hash != 0 ? parsed_of(frame) : parse(frame);
  if (parsed.shape == Shape::fragment) gather(frame, parsed, burst.generation, burst.now);
  if (parsed.shape == Shape::waiting) {
    ++burst.waiting;
    return;
  }
  frame.hop = kNoHop;
  frame.action = Action::drop;
  const bool whole = parsed.shape == Shape::whole;
  const std::uint64_t hash =
      whole && glance.hash == 0 ? table_.hash(parsed.key, parsed.transport()) : glance.hash;
  const Event event{frame, parsed, burst.generation, burst.spares, burst.now, hash};
  Side from = Side::client;
  Session* session = whole ? table_.find(parsed.key, parsed.transport(), hash, from) : nullptr;
  frame.fate = session != nullptr ? with_session(event, *session, from) : without_session(event);
  if (frame.fate == Fate::punt) frame.action = Action::punt;
  if (frame.action == Action::drop) complain(event);
  fates_[static_cast<std::size_t>(frame.fate)].add(1);
}

// ---- Packets of a session

Fate Switch::with_session(const Event& event, Session& session, Side from) noexcept {
  const Parsed& parsed = event.parsed;
  const Layout& layout = *event.generation.layout;
  if (!allowed(layout.ports[from], event.frame.port)) return wrong_port(from);
  const bool later = parsed.part == Part::later;
  if (parsed.is_tcp() && parsed.flags == 0 && !later) return Fate::drop_no_flags;
  if (parsed.ttl <= 1) return Fate::drop_ttl;

  const bool ended = terminated(session);
  if (later) return ended ? Fate::drop_no_session : forward(event, session, from);
  // A datagram needs no handshake: the next one is served by another server at once.
  bool anew = ended && !parsed.is_tcp() && from == Side::client;
  if (from == Side::client && parsed.is_tcp() && tcp::opens(parsed.flags)) {
    const Life life = session.life().life();
    const bool over = life == Life::closing || life == Life::closed;
    anew = ended || over || !shared_.state(session.binding).opens();
  }
  if (anew) {
    forget(session);
    return without_session(event);
  }
  if (ended) return end_terminated(event, session, from);
  return forward(event, session, from);
}

Fate Switch::forward(const Event& event, Session& session, Side from) noexcept {
  Frame& frame = event.frame;
  const Parsed& parsed = event.parsed;
  const Shared::Binding& binding = shared_.bindings[session.binding];
  if (parsed.part != Part::whole && binding.has(Shared::Binding::kDropFragments)) return Fate::drop_fragment;
  const Fate problem = refresh_ways(session, event.generation, event.now);
  if (problem != Fate::to_real) return problem;
  const HopIndex index = session.from[from].hop();
  const Hops::Hop hop = shared_.hops.use(index, event.now);
  if (!leaves(event, index, hop.port)) return Fate::drop_too_big;
  const bool reset = parsed.is_tcp() && (parsed.flags & tcp::rst) != 0;
  const bool checked = reset && shared_.check_resets.load(std::memory_order_relaxed);
  if (checked && !life_of(session).may_reset(from, segment_of(frame, parsed))) return Fate::drop_bad_reset;
  note(event, session, from);
  return depart(event, binding, from, index, hop);
}

Fate Switch::depart(const Event& event, const Shared::Binding& binding, Side from, HopIndex index,
                    const Hops::Hop& hop) noexcept {
  rewrite(event.frame.data, event.parsed, binding, from);
  send(event.frame, index, hop);
  if (!shared_.fits(hop.port, event.frame.length)) cut(event, shared_.mtu(hop.port));
  return from == Side::client ? Fate::to_real : Fate::to_client;
}

// Keeps the session's state and counts.
void Switch::note(const Event& event, Session& session, Side from) noexcept {
  add_packet(session, session.from[from], session.binding, from, event.frame.length);
  const Life before = session.life().life();
  if (event.parsed.is_tcp() && event.parsed.part != Part::later) {
    note_segment(session, from, segment_of(event.frame, event.parsed));
  } else if (from == Side::real && !event.parsed.is_tcp()) {
    session.marks |= TcpLife::kAnswered | TcpLife::kOpen;
  }
  note_ends(event, session, before, from);
  // A closed session's time runs, whatever still passes; and that of a client that does not answer, however
  // often its server asks.
  const bool asks_again = from == Side::real && session.life().life() == Life::syn;
  if (before != Life::closed && !asks_again) session.seen = event.now;
}

void Switch::note_segment(Session& session, Side from, const Segment& segment) noexcept {
  TcpLife life = life_of(session);
  life.pass(from, segment);
  session.set_life(life);
  session.told &= static_cast<std::uint8_t>(~Session::kAsked);
  if (!life.asked) return;
  asked_[table_.position(session)] = *life.asked;
  session.told |= Session::kAsked;
}

TcpLife Switch::life_of(const Session& session) const noexcept {
  TcpLife life = session.life();
  if ((session.told & Session::kAsked) != 0) life.asked = asked_[table_.position(session)];
  return life;
}

void Switch::note_ends(const Event& event, Session& session, Life before, Side from) noexcept {
  const Life after = session.life().life();
  if (session.is_tcp() && before == Life::syn && after != Life::syn) {
    answered_tcp_.add(1);
    leave_half_open(session);
  }
  if (before != Life::syn && after == Life::syn) begin_handshake(session);
  const bool refused = from == Side::real && before == Life::syn && (event.parsed.flags & tcp::rst) != 0;
  if (refused) traffic_[session.binding].refused.add(1);
  const bool repeated = from == Side::client && before == Life::syn && after == Life::syn &&
                        (session.marks & TcpLife::kAnswered) == 0 && tcp::opens(event.parsed.flags);
  if (repeated) traffic_[session.binding].unanswered.add(1);
  if (after == Life::closed) uncount(session);
}

// A wrapped count has added one to its neighbour in the word.
void Switch::carry(Session& session, Side from, std::uint64_t before) noexcept {
  SessionRest& rest = table_.rest(session);
  Session::Flow& flow = session.from[from];
  const auto was = [&](unsigned bit) { return (before >> bit & 1) != 0 && (flow.passed >> bit & 1) == 0; };
  const bool octets = was(31);
  if (octets) flow.passed -= std::uint64_t{1} << 32;
  const bool packets = was(47);
  if (packets) flow.passed -= std::uint64_t{1} << 48;
  rest.octets[from] += octets ? 1 : 0;
  rest.packets[from] += packets ? 1 : 0;
}

// ---- Ways out

// Whether a packet may leave, if need be in fragments. If not, its frame names the hop whose MTU its sender
// has to learn.
bool Switch::leaves(const Event& event, HopIndex index, PortIndex port) noexcept {
  if (shared_.fits(port, event.frame.length)) return true;
  const std::span<const Frame> room = event.spares.frames.subspan(event.spares.used);
  if (can_split(event.frame, shared_.mtu(port), room)) return true;
  event.frame.hop = index;
  return false;
}

// What follows the first fragment goes its way.
void Switch::cut(const Event& event, std::uint16_t mtu) noexcept {
  Spares& spares = event.spares;
  const std::size_t count = split(event.frame, mtu, spares.frames.subspan(spares.used));
  for (std::size_t i = 0; i < count; ++i) {
    Frame& next = spares.frames[spares.used++];
    next.port = event.frame.port;
    next.fate = event.frame.fate;
    next.action = event.frame.action;
    next.hop = event.frame.hop;
  }
}

// A hop that was claimed under these routes is not reclaimed before all workers have seen the next ones.
Switch::Ways Switch::find_ways(BindingSlot slot, const Ip& client, const Generation& generation,
                               Tick now) noexcept {
  const Ip& rip = shared_.bindings[slot].rip();
  KnownWay& to_real = to_reals_[slot];
  const bool known = to_real.routes_serial == generation.routes_serial && to_real.address == rip;
  const auto next_to_real = known ? std::nullopt : generation.routes->lookup(rip);
  const auto next_to_client = generation.routes->lookup(client);
  if (!next_to_client || !(known || next_to_real)) return {.problem = Fate::drop_no_route};
  if (!known) to_real = claim(rip, *next_to_real, generation, now);
  if (to_last_client_.routes_serial != generation.routes_serial || last_client_ != *next_to_client) {
    to_last_client_ = claim(client, *next_to_client, generation, now);
    last_client_ = *next_to_client;
  }
  if (to_real.hop == kNoHop || to_last_client_.hop == kNoHop) return {.problem = Fate::drop_no_neighbour};
  return {.hop = {{to_real.hop, to_last_client_.hop}}};
}

Switch::KnownWay Switch::claim(const Ip& address, const NextHop& next, const Generation& generation,
                               Tick now) noexcept {
  const HopIndex hop = shared_.hops.find_or_claim(next.port, next.address, now);
  return {address, hop, hop == kNoHop ? KnownWay::kUnknown : generation.routes_serial};
}

Fate Switch::refresh_ways(Session& session, const Generation& generation, Tick now) noexcept {
  if (session.routes_version == generation.routes_version) return Fate::to_real;
  const Ways ways = find_ways(session.binding, session.client, generation, now);
  if (ways.problem != Fate::to_real) return ways.problem;
  session.set_ways(ways.hop);
  session.routes_version = generation.routes_version;
  return Fate::to_real;
}

bool Switch::refresh_way(Session& session, Side to, const Generation& generation, Tick now) noexcept {
  if (session.routes_version == generation.routes_version) return true;
  const Ip& address = to == Side::client ? session.client : shared_.bindings[session.binding].rip();
  const auto next = generation.routes->lookup(address);
  const HopIndex hop = next ? claim(address, *next, generation, now).hop : kNoHop;
  if (hop != kNoHop) session.from[other(to)].set_hop(hop);
  return hop != kNoHop;
}

}  // namespace headgate::core
