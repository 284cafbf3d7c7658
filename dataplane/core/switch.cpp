// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/switch.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "dataplane/core/checksum.h"
#include "dataplane/core/reset.h"

namespace headgate::core {
namespace {

// Services beyond share cursors, which costs them nothing but a little evenness.
constexpr std::size_t kCursors = 4096;

Side side_of(const Session& session, const FlowKey& key) noexcept {
  return session.from_client == key ? Side::client : Side::real;
}

bool allowed(std::uint64_t ports, PortIndex port) noexcept {
  return (ports >> port & 1) != 0;
}

std::uint16_t address_sum(Ipv4 address) noexcept {
  std::uint8_t bytes[4];
  store32(bytes, address.value);
  return sum_of(bytes, sizeof bytes);
}

std::uint16_t endpoint_sum(Ipv4 address, L4Port port) noexcept {
  std::uint8_t bytes[6];
  store32(bytes, address.value);
  store16(bytes + 4, port);
  return sum_of(bytes, sizeof bytes);
}

// Puts an address and port in place of another one, in the headers at `ip` and `tcp`.
struct Replacement {
  std::size_t address_at;  ///< offset in the IP header
  std::size_t port_at;     ///< offset in the TCP header
  Ipv4 address;
  L4Port port;
  std::uint16_t address_delta;
  std::uint16_t l4_delta;
};

// One less in the first byte of its word: what the checksum has to learn of it, the same for every packet.
constexpr std::uint16_t kTtlDelta = delta(1, 0);

void rewrite(std::uint8_t* ip, std::uint8_t* tcp, const Replacement& with) noexcept {
  const std::uint16_t ip_delta = add(with.address_delta, kTtlDelta);
  const std::uint16_t ip_checksum = updated(load_raw16(ip + offset::ip_checksum), ip_delta);
  const std::uint16_t tcp_checksum = updated(load_raw16(tcp + offset::tcp_checksum), with.l4_delta);
  --ip[offset::ip_ttl];
  store_raw16(ip + offset::ip_checksum, ip_checksum);
  store32(ip + with.address_at, with.address.value);
  store16(tcp + with.port_at, with.port);
  store_raw16(tcp + offset::tcp_checksum, tcp_checksum);
}

Replacement replacement(const Session& session, Side from) noexcept {
  if (from == Side::client) {
    return {offset::ip_destination,        offset::destination_port, session.from_real.source,
            session.from_real.source_port, session.address_delta,    session.l4_delta};
  }
  return {offset::ip_source,
          offset::source_port,
          session.from_client.destination,
          session.from_client.destination_port,
          opposite(session.address_delta),
          opposite(session.l4_delta)};
}

}  // namespace

Switch::Switch(const Config& config, Shared& shared)
    : shared_(shared),
      table_(config.memory, config.sessions, config.seed),
      traffic_(kMaxBindings),
      counted_(kMaxBindings),
      // Workers start their turns at different members, or the first sessions after a start would cluster.
      cursors_(kCursors, config.worker),
      closings_seen_(shared.closings_head.load(std::memory_order_acquire)) {
  for (BindingSlot slot = 0; slot < kMaxBindings; ++slot) counted_[slot].epoch = shared.state(slot).epoch;
}

inline void Switch::send(Frame& frame, HopIndex index, const Hops::Hop& hop) noexcept {
  write_ethernet(frame.data, hop.mac, shared_.mac(hop.port));
  frame.port = hop.port;
  frame.hop = index;
  frame.action = hop.resolved ? Action::transmit : Action::hold;
}

void Switch::process(std::span<Frame> frames, Spares& spares, const Generation& generation,
                     Tick now) noexcept {
  assert(frames.size() <= kBurst);
  settle();
  std::array<Arrival, kBurst> arrivals;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    Arrival& arrival = arrivals[i];
    if (!parse_usual(frames[i], arrival.parsed)) arrival.parsed = parse(frames[i]);
    arrival.hash = table_.hash(arrival.parsed.key, Protocol::tcp);
    table_.prefetch_bucket(arrival.hash);
  }
  for (std::size_t i = 0; i < frames.size(); ++i) table_.prefetch_session(arrivals[i].hash);
  Steady done;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const Arrival& arrival = arrivals[i];
    Session* session = arrival.parsed.shape == Shape::tcp
                           ? table_.find(arrival.parsed.key, Protocol::tcp, arrival.hash)
                           : nullptr;
    if (session != nullptr && forward_steady(frames[i], arrival.parsed, *session, generation, now, done))
      continue;
    decide(frames[i], arrival, session, spares, generation, now);
  }
  fates_[static_cast<std::size_t>(Fate::to_real)].add(done.to_real);
  fates_[static_cast<std::size_t>(Fate::to_client)].add(done.to_client);
  packets_in_.add(frames.size());
}

// The short way of nearly all packets: a plain segment of an open session, whose server may serve it and
// whose next hop is known. It does what with_session() would; whatever is not so plain is left to that.
[[gnu::always_inline]] inline bool Switch::forward_steady(Frame& frame, const Parsed& parsed,
                                                          Session& session, const Generation& generation,
                                                          Tick now, Steady& done) noexcept {
  const Side from = side_of(session, parsed.key);
  const Layout& layout = *generation.layout;
  const std::uint64_t ports = from == Side::client ? layout.client_ports : layout.server_ports;
  const bool steady =
      all((parsed.flags & (tcp::syn | tcp::fin | tcp::rst)) == 0, parsed.flags != 0, session.life().steady(),
          session.routes_version == generation.routes_version,
          shared_.state(session.binding).serves(session.epoch), allowed(ports, frame.port), parsed.ttl > 1);
  if (!steady) return false;
  const HopIndex index = from == Side::client ? session.to_real : session.to_client;
  const Hops::Hop hop = shared_.hops.use(index, now);
  if (!shared_.fits(hop.port, frame.length)) return false;
  Traffic& traffic = traffic_[session.binding];
  traffic.packets.add(1);
  traffic.octets.add(frame.length);
  if (session.seen != now) session.seen = now;
  rewrite(frame.data + offset::ip, frame.data + parsed.l4, replacement(session, from));
  send(frame, index, hop);
  frame.fate = from == Side::client ? Fate::to_real : Fate::to_client;
  ++(from == Side::client ? done.to_real : done.to_client);
  return true;
}

void Switch::decide(Frame& frame, const Arrival& arrival, Session* session, Spares& spares,
                    const Generation& generation, Tick now) noexcept {
  frame.hop = kNoHop;
  frame.action = Action::drop;
  frame.fate = session != nullptr ? with_session(frame, arrival, *session, spares, generation, now)
                                  : without_session(frame, arrival, generation, now);
  if (frame.fate == Fate::punt) frame.action = Action::punt;
  fates_[static_cast<std::size_t>(frame.fate)].add(1);
}

// ---- Packets without a session

Fate Switch::without_session(Frame& frame, const Arrival& arrival, const Generation& generation,
                             Tick now) noexcept {
  const Parsed& parsed = arrival.parsed;
  const Layout& layout = *generation.layout;
  switch (parsed.shape) {
    case Shape::foreign:
      return Fate::punt;
    case Shape::truncated:
      return Fate::drop_truncated;
    case Shape::malformed:
      return Fate::drop_bad_header;
    case Shape::checksum:
      return Fate::drop_bad_checksum;
    case Shape::fragment:
      return layout.is_vip(parsed.key.destination) ? Fate::drop_fragment : Fate::punt;
    case Shape::other:
      return parsed.udp && layout.is_vip(parsed.key.destination) ? Fate::drop_protocol : Fate::punt;
    case Shape::tcp:
      break;
  }
  const FlowKey& key = parsed.key;
  if (const auto service = layout.service(key.destination, key.destination_port, Protocol::tcp)) {
    return open_session(frame, parsed, *service, generation, now);
  }
  if (layout.is_vip(key.destination)) return Fate::drop_no_vport;
  if (!layout.is_real(key.source, key.source_port, Protocol::tcp)) return Fate::punt;
  return allowed(layout.server_ports, frame.port) ? Fate::drop_no_session : Fate::drop_server_port;
}

Fate Switch::open_session(Frame& frame, const Parsed& parsed, std::uint32_t service,
                          const Generation& generation, Tick now) noexcept {
  if (!allowed(generation.layout->client_ports, frame.port)) return Fate::drop_client_port;
  const FlowKey& key = parsed.key;
  if (key.source == key.destination) return Fate::drop_land;
  if (parsed.flags == 0) return Fate::drop_no_flags;
  if (!segment_of(frame, parsed).opens()) return Fate::drop_no_session;
  if (parsed.ttl <= 1) return Fate::drop_ttl;

  const Member* member = choose(parsed, service, generation);
  if (member == nullptr) {
    answer_reset(frame, parsed);
    return Fate::reset_no_real;
  }
  const Hops2 hops = find_hops(member->rip, key.source, generation, now);
  if (hops.problem != Fate::to_real) return hops.problem;
  if (!shared_.fits(shared_.hops.use(hops.to_real, now).port, frame.length)) return Fate::drop_too_big;
  Session* session = bind(parsed, generation.layout->services[service], *member, now);
  if (session == nullptr) return Fate::drop_table_full;
  session->port = frame.port;
  session->to_real = hops.to_real;
  session->to_client = hops.to_client;
  session->routes_version = generation.routes_version;
  return forward(frame, parsed, *session, Side::client, generation, now);
}

// A client may use one port towards two services with a common server; the replies of the two sessions could
// not be told apart. So a server that already talks to this very client port under another session is passed
// over.
const Member* Switch::choose(const Parsed& parsed, std::uint32_t service,
                             const Generation& generation) noexcept {
  const Service& chosen = generation.layout->services[service];
  const Selection& selection = *generation.selections[service];
  const FlowKey& key = parsed.key;
  const auto unused = [&](const Member& member) {
    return key_is_free({member.rip, key.source, member.rport, key.source_port}, Protocol::tcp);
  };
  const Member* member = pick(chosen, selection, shared_, key.source, cursors_[service % kCursors]);
  if (member == nullptr || unused(*member)) return member;
  for (const std::uint16_t other : selection.open) {
    const Member& next = chosen.members[other];
    if (shared_.state(next.binding).opens() && unused(next)) return &next;
  }
  return nullptr;
}

bool Switch::key_is_free(const FlowKey& from_real, Protocol protocol) noexcept {
  Session* holder = table_.find(from_real, protocol);
  if (holder == nullptr) return true;
  const bool over = holder->life().life() == Life::closed || terminated(*holder);
  if (over) forget(*holder);
  return over;
}

Session* Switch::bind(const Parsed& parsed, const Service& service, const Member& member, Tick now) noexcept {
  const FlowKey& key = parsed.key;
  const FlowKey from_real{member.rip, key.source, member.rport, key.source_port};
  Session* session = table_.insert(key, from_real, service.protocol);
  if (session == nullptr) return nullptr;
  session->binding = member.binding;
  session->seen = now;
  session->started = now;
  session->address_delta = delta(address_sum(service.vip), address_sum(member.rip));
  session->l4_delta = delta(endpoint_sum(service.vip, service.vport), endpoint_sum(member.rip, member.rport));
  settle();
  // The epoch as far as this worker has settled it, not the newest: if the server was closed just now, the
  // session belongs to what that ended, and is given up with it.
  session->epoch = counted_[member.binding].epoch;
  count(*session);
  return session;
}

// ---- Packets of a session

Fate Switch::with_session(Frame& frame, const Arrival& arrival, Session& session, Spares& spares,
                          const Generation& generation, Tick now) noexcept {
  const Parsed& parsed = arrival.parsed;
  const Side from = side_of(session, parsed.key);
  const Layout& layout = *generation.layout;
  if (from == Side::client && !allowed(layout.client_ports, frame.port)) return Fate::drop_client_port;
  if (from == Side::real && !allowed(layout.server_ports, frame.port)) return Fate::drop_server_port;
  if (parsed.flags == 0) return Fate::drop_no_flags;
  if (parsed.ttl <= 1) return Fate::drop_ttl;

  const bool ended = terminated(session);
  if (from == Side::client && (parsed.flags & (tcp::syn | tcp::ack)) == tcp::syn) {
    const Life life = session.life().life();
    const bool over = life == Life::closing || life == Life::closed;
    if (ended || over || !shared_.state(session.binding).opens()) {
      forget(session);
      return without_session(frame, arrival, generation, now);
    }
  }
  if (ended) return end_terminated(frame, parsed, session, from, spares, generation, now);
  return forward(frame, parsed, session, from, generation, now);
}

Fate Switch::forward(Frame& frame, const Parsed& parsed, Session& session, Side from,
                     const Generation& generation, Tick now) noexcept {
  if (session.routes_version != generation.routes_version) {
    const Fate problem = refresh_hops(session, generation, now);
    if (problem != Fate::to_real) return problem;
  }
  const HopIndex index = from == Side::client ? session.to_real : session.to_client;
  const Hops::Hop hop = shared_.hops.use(index, now);
  if (!shared_.fits(hop.port, frame.length)) return Fate::drop_too_big;
  note(frame, parsed, session, from, now);
  rewrite(frame.data + offset::ip, frame.data + parsed.l4, replacement(session, from));
  send(frame, index, hop);
  return from == Side::client ? Fate::to_real : Fate::to_client;
}

// Keeps the session's state and counts; stores only what changed, since most packets change nothing.
void Switch::note(const Frame& frame, const Parsed& parsed, Session& session, Side from, Tick now) noexcept {
  Traffic& traffic = traffic_[session.binding];
  traffic.packets.add(1);
  traffic.octets.add(frame.length);
  TcpLife life = session.life();
  const bool plain = (parsed.flags & (tcp::syn | tcp::fin | tcp::rst)) == 0;
  if (!(plain && life.steady())) {
    const Life before = life.life();
    life.pass(from, segment_of(frame, parsed));
    if (life.marks != session.marks || !plain) session.set_life(life);
    const bool refused = from == Side::real && before == Life::syn && (parsed.flags & tcp::rst) != 0;
    if (refused) traffic.refused.add(1);
    if (life.life() == Life::closed) {
      uncount(session);
      if (before == Life::closed) return;  // a closed session's time runs, whatever still passes
    }
  }
  if (session.seen != now) session.seen = now;
}

// The reset to the sender's side goes back the way the packet came, that to the other end along the session's
// hop.
Fate Switch::end_terminated(Frame& frame, const Parsed& parsed, Session& session, Side from, Spares& spares,
                            const Generation& generation, Tick now) noexcept {
  terminate(session);
  const bool is_reset = (parsed.flags & tcp::rst) != 0;
  const Segment segment = segment_of(frame, parsed);
  const std::uint8_t mine = from == Side::client ? Session::kToldClient : Session::kToldReal;
  const std::uint8_t others = from == Side::client ? Session::kToldReal : Session::kToldClient;
  if (session.routes_version != generation.routes_version)
    static_cast<void>(refresh_hops(session, generation, now));
  if (spares.used < spares.frames.size() && (session.told & others) == 0) {
    Frame& other = spares.frames[spares.used++];
    const FlowKey key = from == Side::client ? session.from_real.reversed() : session.from_client.reversed();
    write_reset(other, key, reset_to_receiver(segment));
    other.fate = Fate::reset_terminated;
    const HopIndex index = from == Side::client ? session.to_real : session.to_client;
    send(other, index, shared_.hops.use(index, now));
    resets_.add(1);
    session.told |= others;
    session.seen = now;
  }
  if (is_reset) {
    session.told |= mine;  // it knows already, and no reset is answered with another
    return Fate::reset_terminated;
  }
  answer_reset(frame, parsed);
  session.told |= mine;
  session.seen = now;
  return Fate::reset_terminated;
}

void Switch::answer_reset(Frame& frame, const Parsed& parsed) noexcept {
  const ResetNumbers numbers = reset_to_sender(segment_of(frame, parsed));
  write_reset(frame, parsed.key.reversed(), numbers);
  swap_ethernet(frame);
  frame.action = Action::transmit;
  resets_.add(1);
}

// ---- Ways out

Switch::Hops2 Switch::find_hops(Ipv4 real, Ipv4 client, const Generation& generation, Tick now) noexcept {
  const auto to_real = generation.routes->lookup(real);
  const auto to_client = generation.routes->lookup(client);
  if (!to_real || !to_client) return {.problem = Fate::drop_no_route};
  const Hops2 hops{.to_real = shared_.hops.find_or_claim(to_real->port, to_real->address, now),
                   .to_client = shared_.hops.find_or_claim(to_client->port, to_client->address, now)};
  if (hops.to_real != kNoHop && hops.to_client != kNoHop) return hops;
  return {.problem = Fate::drop_no_neighbour};
}

Fate Switch::refresh_hops(Session& session, const Generation& generation, Tick now) noexcept {
  const Hops2 hops = find_hops(session.from_real.source, session.from_client.source, generation, now);
  if (hops.problem != Fate::to_real) return hops.problem;
  session.to_real = hops.to_real;
  session.to_client = hops.to_client;
  session.routes_version = generation.routes_version;
  return Fate::to_real;
}

// ---- Counts and ends

// Sessions of an epoch that ended are given up all at once, whatever their number; the entries follow when a
// packet or the sweep meets them.
void Switch::settle() noexcept {
  const std::uint64_t head = shared_.closings_head.load(std::memory_order_acquire);
  for (; closings_seen_ != head; ++closings_seen_) {
    const BindingSlot slot =
        shared_.closings[closings_seen_ % Shared::kClosings].load(std::memory_order_relaxed);
    ++counted_[slot].epoch;
    const std::uint32_t sessions = std::exchange(counted_[slot].sessions, 0);
    if (sessions == 0) continue;
    const Shared::Binding& binding = shared_.bindings[slot];
    for (const auto* tally : {&binding.real, &binding.group, &binding.virt}) {
      shared_.tallies[tally->load(std::memory_order_relaxed)].close(sessions);
    }
    terminated_.add(sessions);
  }
}

void Switch::count(Session& session) noexcept {
  const Shared::Binding& binding = shared_.bindings[session.binding];
  for (const auto* tally : {&binding.real, &binding.group, &binding.virt}) {
    shared_.tallies[tally->load(std::memory_order_relaxed)].open();
  }
  ++counted_[session.binding].sessions;
  session.told |= Session::kCounted;
}

void Switch::uncount(Session& session) noexcept {
  if ((session.told & Session::kCounted) == 0) return;
  session.told &= static_cast<std::uint8_t>(~Session::kCounted);
  settle();
  Counted& counted = counted_[session.binding];
  if (counted.epoch != session.epoch) return;  // given up with its epoch
  --counted.sessions;
  if (shared_.state(session.binding).epoch != session.epoch) terminated_.add(1);  // closed just now
  const Shared::Binding& binding = shared_.bindings[session.binding];
  for (const auto* tally : {&binding.real, &binding.group, &binding.virt}) {
    shared_.tallies[tally->load(std::memory_order_relaxed)].close(1);
  }
}

bool Switch::terminated(const Session& session) const noexcept {
  return (session.marks & TcpLife::kTerminated) != 0 ||
         (!shared_.state(session.binding).serves(session.epoch) && session.life().life() != Life::closed);
}

void Switch::terminate(Session& session) noexcept {
  uncount(session);
  session.marks |= TcpLife::kTerminated;
}

void Switch::forget(Session& session) noexcept {
  uncount(session);
  table_.erase(session);
}

std::uint32_t Switch::lifetime(const Session& session) const noexcept {
  const std::uint32_t idle = shared_.bindings[session.binding].idle_ticks.load(std::memory_order_relaxed);
  constexpr std::uint8_t kBoth = Session::kToldClient | Session::kToldReal;
  if (terminated(session)) return (session.told & kBoth) == kBoth ? kToldSeconds * Tick::kPerSecond : idle;
  switch (session.life().life()) {
    case Life::syn:
    case Life::closing:
      return std::min(idle, kHalfOpenSeconds * Tick::kPerSecond);
    case Life::closed:
      return shared_.closed_ticks.load(std::memory_order_relaxed);
    default:
      return idle;
  }
}

std::size_t Switch::sweep(Tick now, std::size_t budget) noexcept {
  settle();
  std::size_t forgotten = 0;
  for (std::size_t i = std::min(budget, table_.high_water()); i > 0; --i) {
    if (sweep_at_ >= table_.high_water()) sweep_at_ = 0;
    Session& session = table_.at(sweep_at_++);
    if (!session.used()) continue;
    if (now.since(session.seen) <= static_cast<std::int32_t>(lifetime(session))) continue;
    const bool answered = (session.marks & TcpLife::kAnswered) != 0;
    const bool unanswered = session.life().life() == Life::syn && !answered && !terminated(session);
    if (unanswered) traffic_[session.binding].unanswered.add(1);
    forget(session);
    ++forgotten;
  }
  return forgotten;
}

// ---- Looking at sessions

bool Switch::matches(const Session& session, const SessionFilter& filter) const noexcept {
  const FlowKey& key = session.from_client;
  return session.used() && (filter.client.none() || filter.client == key.source) &&
         (filter.client_port == 0 || filter.client_port == key.source_port) &&
         (filter.vip.none() || filter.vip == key.destination) &&
         (filter.vport == 0 || filter.vport == key.destination_port) &&
         (filter.port < 0 || filter.port == session.port) &&
         (filter.bindings.empty() || filter.bindings[session.binding]);
}

bool Switch::dump(std::size_t& cursor, std::size_t budget, const SessionFilter& filter, Tick now,
                  std::vector<SessionView>& out) const {
  for (; budget > 0 && cursor < table_.high_water(); --budget, ++cursor) {
    const Session& session = table_.at(cursor);
    if (!matches(session, filter)) continue;
    const auto idle = static_cast<std::uint32_t>(std::max(now.since(session.seen), 0));
    const std::uint32_t life = lifetime(session);
    out.push_back({.client = session.from_client.source,
                   .client_port = session.from_client.source_port,
                   .vip = session.from_client.destination,
                   .vport = session.from_client.destination_port,
                   .rip = session.from_real.source,
                   .rport = session.from_real.source_port,
                   .protocol = static_cast<Protocol>(session.protocol),
                   .port = session.port,
                   .life = terminated(session) ? Life::terminated : session.life().life(),
                   .binding = session.binding,
                   .idle_seconds = idle / Tick::kPerSecond,
                   .left_seconds = (life > idle ? life - idle : 0) / Tick::kPerSecond});
  }
  return cursor < table_.high_water();
}

bool Switch::clear(std::size_t& cursor, std::size_t budget, const SessionFilter& filter,
                   std::size_t& cleared) noexcept {
  for (; budget > 0 && cursor < table_.high_water(); --budget, ++cursor) {
    Session& session = table_.at(cursor);
    if (!matches(session, filter)) continue;
    forget(session);
    ++cleared;
  }
  return cursor < table_.high_water();
}

}  // namespace headgate::core
