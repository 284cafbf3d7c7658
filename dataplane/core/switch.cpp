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
      uses_(static_cast<Persistence::Use*>(std::calloc(table_.capacity(), sizeof(Persistence::Use)))),
      fragments_(config.seed),
      worker_(config.worker),
      workers_(config.workers),
      closings_seen_(shared.closings_head.load(std::memory_order_acquire)) {
  if (!uses_) throw std::bad_alloc();
  for (std::size_t slot = 0; slot < kMaxBindings; ++slot)
    counted_[slot].epoch = shared.state(static_cast<BindingSlot>(slot)).epoch;
  if (config.survived) recover(config.now);
}

void Switch::Free::operator()(void* memory) const noexcept {
  std::free(memory);
}

Switch::~Switch() = default;

// ---- A burst

void Switch::process(std::span<Frame> frames, Spares& spares, const Generation& generation,
                     Tick now) noexcept {
  assert(frames.size() <= kBurst);
  now_ = now;
  settle();
  std::array<Arrival, kBurst> arrivals;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    Arrival& arrival = arrivals[i];
    if (!parse_usual(frames[i], arrival.parsed)) arrival.parsed = parse(frames[i]);
    if (arrival.parsed.shape == Shape::fragment) [[unlikely]]
      gather(frames[i], arrival.parsed, generation, now);
    arrival.hash = table_.hash(arrival.parsed.key, arrival.parsed.protocol);
    table_.prefetch_bucket(arrival.hash);
  }
  for (std::size_t i = 0; i < frames.size(); ++i)
    arrivals[i].likely = table_.prefetch_session(arrivals[i].hash);
  Steady done;
  std::size_t waiting = 0;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const Arrival& arrival = arrivals[i];
    Side from = Side::client;
    Session* session = find(arrival, from);
    if (session != nullptr &&
        forward_steady(frames[i], arrival.parsed, *session, from, generation, now, done))
      continue;
    if (arrival.parsed.shape == Shape::waiting) [[unlikely]] {
      ++waiting;
      continue;
    }
    decide({frames[i], arrival.parsed, generation, spares, now}, session, from);
  }
  fates_[static_cast<std::size_t>(Fate::to_real)].add(done.to_real);
  fates_[static_cast<std::size_t>(Fate::to_client)].add(done.to_client);
  packets_in_.add(frames.size() - waiting);
}

[[gnu::always_inline]] inline Session* Switch::find(const Arrival& arrival, Side& from) noexcept {
  const Parsed& parsed = arrival.parsed;
  if (parsed.shape != Shape::whole) return nullptr;
  if (arrival.likely != SessionTable::kNowhere) [[likely]] {
    Session& likely = table_.entry(arrival.likely);
    if (table_.matches(likely, parsed.key, parsed.protocol, from)) [[likely]]
      return &likely;
  }
  return table_.find(parsed.key, parsed.protocol, arrival.hash, from);
}

// The short way of nearly all packets: a plain one of an open session, whose server may serve it and whose
// next hop is known. It does what with_session() would; whatever is not so plain is left to that.
[[gnu::always_inline]] inline bool Switch::forward_steady(Frame& frame, const Parsed& parsed,
                                                          Session& session, Side from,
                                                          const Generation& generation, Tick now,
                                                          Steady& done) noexcept {
  const bool client = from == Side::client;
  const Layout& layout = *generation.layout;
  const std::uint64_t ports = client ? layout.client_ports : layout.server_ports;
  const bool steady =
      all(parsed.plain, session.marks == (TcpLife::kAnswered | TcpLife::kOpen),
          session.routes_version == generation.routes_version,
          shared_.state(session.binding).serves(session.epoch), allowed(ports, frame.port), parsed.ttl > 1);
  if (!steady) return false;
  const HopIndex index = client ? session.to_real : session.to_client;
  const Hops::Hop hop = shared_.hops.use(index, now);
  if (!shared_.fits(hop.port, frame.length)) return false;
  Traffic& traffic = traffic_[session.binding];
  traffic.packets.add(1);
  traffic.octets.add(frame.length);
  add_packet(session, from, frame.length);
  if (parsed.is_tcp()) {
    const std::uint8_t* tcp = frame.data + parsed.l4;
    const std::uint32_t end = load32(tcp + offset::tcp_sequence) + payload_of(frame, parsed);
    const std::uint32_t acknowledgement = load32(tcp + offset::tcp_acknowledgement);
    TcpLife::pass_steady(client ? session.next_client : session.next_real,
                         client ? session.acked_real : session.acked_client,
                         client ? session.next_real : session.next_client, end, acknowledgement);
  }
  session.seen = now;
  rewrite(frame.data, parsed, shared_.bindings[session.binding], from);
  send(frame, index, hop);
  frame.fate = client ? Fate::to_real : Fate::to_client;
  done.to_real += client ? 1 : 0;
  done.to_client += client ? 0 : 1;
  return true;
}

void Switch::decide(const Event& event, Session* session, Side from) noexcept {
  Frame& frame = event.frame;
  frame.hop = kNoHop;
  frame.action = Action::drop;
  frame.fate = session != nullptr ? with_session(event, *session, from) : without_session(event);
  if (frame.fate == Fate::punt) frame.action = Action::punt;
  if (frame.action == Action::drop) complain(event);
  fates_[static_cast<std::size_t>(frame.fate)].add(1);
}

// ---- Packets of a session

Fate Switch::with_session(const Event& event, Session& session, Side from) noexcept {
  const Parsed& parsed = event.parsed;
  const Layout& layout = *event.generation.layout;
  if (from == Side::client && !allowed(layout.client_ports, event.frame.port)) return Fate::drop_client_port;
  if (from == Side::real && !allowed(layout.server_ports, event.frame.port)) return Fate::drop_server_port;
  const bool later = parsed.part == Part::later;
  if (parsed.is_tcp() && parsed.flags == 0 && !later) return Fate::drop_no_flags;
  if (parsed.ttl <= 1) return Fate::drop_ttl;

  const bool ended = terminated(session);
  if (later) return ended ? Fate::drop_no_session : forward(event, session, from);
  // A datagram needs no handshake: the next one is served by another server at once.
  bool anew = ended && !parsed.is_tcp() && from == Side::client;
  if (from == Side::client && parsed.is_tcp() && (parsed.flags & (tcp::syn | tcp::ack)) == tcp::syn) {
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
  if (session.routes_version != event.generation.routes_version) {
    const Fate problem = refresh_ways(session, event.generation, event.now);
    if (problem != Fate::to_real) return problem;
  }
  const HopIndex index = from == Side::client ? session.to_real : session.to_client;
  const Hops::Hop hop = shared_.hops.use(index, event.now);
  if (!leaves(event, index)) return Fate::drop_too_big;
  const bool reset = parsed.is_tcp() && (parsed.flags & tcp::rst) != 0;
  const bool checked = reset && shared_.check_resets.load(std::memory_order_relaxed);
  if (checked && !session.life().may_reset(from, segment_of(frame, parsed))) return Fate::drop_bad_reset;
  note(event, session, from);
  if (parsed.part == Part::later)
    rewrite_ip(frame.data, parsed, binding, from);
  else
    rewrite(frame.data, parsed, binding, from);
  send(frame, index, hop);
  if (!shared_.fits(hop.port, frame.length)) cut(event, shared_.mtu(hop.port));
  return from == Side::client ? Fate::to_real : Fate::to_client;
}

// Keeps the session's state and counts.
void Switch::note(const Event& event, Session& session, Side from) noexcept {
  Traffic& traffic = traffic_[session.binding];
  traffic.packets.add(1);
  traffic.octets.add(event.frame.length);
  add_packet(session, from, event.frame.length);
  const Life before = session.life().life();
  if (event.parsed.is_tcp() && event.parsed.part != Part::later) {
    TcpLife life = session.life();
    life.pass(from, segment_of(event.frame, event.parsed));
    session.set_life(life);
  } else if (from == Side::real && !event.parsed.is_tcp()) {
    session.marks |= TcpLife::kAnswered | TcpLife::kOpen;
  }
  note_ends(event, session, before, from);
  // A closed session's time runs, whatever still passes.
  if (before != Life::closed) session.seen = event.now;
}

void Switch::note_ends(const Event& event, Session& session, Life before, Side from) noexcept {
  const Life after = session.life().life();
  if (before == Life::syn && after != Life::syn) {
    answered_tcp_.add(1);
    leave_half_open(session);
  }
  const bool refused = from == Side::real && before == Life::syn && (event.parsed.flags & tcp::rst) != 0;
  if (refused) traffic_[session.binding].refused.add(1);
  if (after == Life::closed) uncount(session);
}

[[gnu::always_inline]] inline void Switch::add_packet(Session& session, Side from,
                                                      std::uint16_t octets) noexcept {
  const bool client = from == Side::client;
  std::uint32_t& sum = client ? session.octets_client : session.octets_real;
  std::uint16_t& packets = client ? session.packets_client : session.packets_real;
  sum += octets;
  ++packets;
  const bool octets_wrapped = sum < octets;
  const bool packets_wrapped = packets == 0;
  if (!all(!octets_wrapped, !packets_wrapped)) [[unlikely]]
    carry(session, from, octets_wrapped, packets_wrapped);
}

void Switch::carry(const Session& session, Side from, bool octets, bool packets) noexcept {
  SessionRest& rest = table_.rest(session);
  const bool client = from == Side::client;
  (client ? rest.octets_client : rest.octets_real) += octets ? 1 : 0;
  (client ? rest.packets_client : rest.packets_real) += packets ? 1 : 0;
}

// ---- Ways out

// Whether a packet may leave, if need be in fragments. If not, its frame names the hop whose MTU its sender
// has to learn.
bool Switch::leaves(const Event& event, HopIndex index) noexcept {
  const PortIndex port = shared_.hops.use(index, event.now).port;
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

Switch::Ways Switch::find_ways(const Ip& real, const Ip& client, const Generation& generation,
                               Tick now) noexcept {
  const auto to_real = generation.routes->lookup(real);
  const auto to_client = generation.routes->lookup(client);
  if (!to_real || !to_client) return {.problem = Fate::drop_no_route};
  const Ways ways{.to_real = shared_.hops.find_or_claim(to_real->port, to_real->address, now),
                  .to_client = shared_.hops.find_or_claim(to_client->port, to_client->address, now)};
  if (ways.to_real != kNoHop && ways.to_client != kNoHop) return ways;
  return {.problem = Fate::drop_no_neighbour};
}

Fate Switch::refresh_ways(Session& session, const Generation& generation, Tick now) noexcept {
  const Ways ways = find_ways(shared_.bindings[session.binding].rip, session.client, generation, now);
  if (ways.problem != Fate::to_real) return ways.problem;
  session.to_real = ways.to_real;
  session.to_client = ways.to_client;
  session.routes_version = generation.routes_version;
  return Fate::to_real;
}

}  // namespace headgate::core
