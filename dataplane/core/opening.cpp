// SPDX-License-Identifier: Apache-2.0
// Packets without a session, and how one is opened.
#include "dataplane/core/switch.h"
#include "dataplane/core/switch_parts.h"

namespace headgate::core {
namespace {

// Whether an address may be that of a client: a unicast one of another host (RFC 1122, 3.2.1.3; RFC
// 4291, 2.7).
bool may_be_client(const Ip& source, const Layout& layout) noexcept {
  if (source.none() || layout.is_vip(source)) return false;
  if (!source.is_v4()) {
    constexpr std::uint8_t kMulticast = 0xff;
    Ip loopback;
    loopback.octets[15] = 1;
    return source.octets[0] != kMulticast && source != loopback;
  }
  const std::uint8_t network = source.octets[12];
  constexpr std::uint8_t kLoopback = 127, kMulticast = 224;
  return network != 0 && network != kLoopback && network < kMulticast;
}

// Why a packet of no session is dropped that does not open one either.
Fate stray(const Parsed& parsed) noexcept {
  if (!parsed.is_tcp()) return Fate::drop_no_session;
  if (parsed.flags == 0) return Fate::drop_no_flags;
  if ((parsed.flags & tcp::rst) != 0) return Fate::drop_bad_reset;
  return (parsed.flags & tcp::fin) != 0 ? Fate::drop_oos_fin : Fate::drop_no_session;
}

// The key of a server's packets to the client of this packet.
FlowKey from_real(const FlowKey& from_client, const Member& member) noexcept {
  return {member.rip, from_client.source, member.rport, from_client.source_port};
}

}  // namespace

Fate Switch::without_session(const Event& event) noexcept {
  const Parsed& parsed = event.parsed;
  const Layout& layout = *event.generation.layout;
  switch (parsed.shape) {
    case Shape::foreign:
      return Fate::punt;
    case Shape::truncated:
      return Fate::drop_truncated;
    case Shape::malformed:
      return Fate::drop_bad_header;
    case Shape::checksum:
      return Fate::drop_bad_checksum;
    case Shape::source_route:
      return layout.concerns(parsed.key) ? Fate::drop_source_route : Fate::punt;
    case Shape::extensions:
      return layout.concerns(parsed.key) ? Fate::drop_extensions : Fate::punt;
    case Shape::udp_length:
      return Fate::drop_udp_length;
    case Shape::udp_checksum:
      return Fate::drop_udp_checksum;
    case Shape::fragment:
    case Shape::waiting:
      return Fate::punt;
    case Shape::refused:
      return event.frame.fate;
    case Shape::other:
      return pass_error(event);
    case Shape::whole:
      break;
  }
  if (parsed.part == Part::later) return Fate::drop_no_session;
  const FlowKey& key = parsed.key;
  const auto service = layout.service(key.destination, key.destination_port, parsed.protocol);
  return service ? open_session(event, *service) : without_service(event);
}

Fate Switch::without_service(const Event& event) noexcept {
  const Layout& layout = *event.generation.layout;
  const FlowKey& key = event.parsed.key;
  if (layout.is_vip(key.destination)) return Fate::drop_no_vport;
  if (!layout.is_real(key.source, key.source_port, event.parsed.protocol)) return Fate::punt;
  return allowed(layout.ports[Side::real], event.frame.port) ? stray(event.parsed) : Fate::drop_server_port;
}

// to_real when a packet for a service may open a session, else why it may not.
Fate Switch::may_open(const Event& event) const noexcept {
  const Parsed& parsed = event.parsed;
  const Layout& layout = *event.generation.layout;
  if (!allowed(layout.ports[Side::client], event.frame.port)) return Fate::drop_client_port;
  if (parsed.key.source == parsed.key.destination) return Fate::drop_land;
  if (parsed.is_tcp() && !tcp::opens(parsed.flags)) return stray(parsed);
  if (!may_be_client(parsed.key.source, layout)) return Fate::drop_martian;
  return parsed.ttl <= 1 ? Fate::drop_ttl : Fate::to_real;
}

Fate Switch::open_session(const Event& event, std::uint32_t service) noexcept {
  const Fate refusal = may_open(event);
  if (refusal != Fate::to_real) return refusal;
  const bool piece = event.parsed.part != Part::whole;
  if (piece && event.generation.layout->services[service].drop_fragments) return Fate::drop_fragment;
  const Layout& layout = *event.generation.layout;
  const Choosing choosing{layout, layout.services[service], *event.generation.selections[service], shared_};
  const FlowKey& key = event.parsed.key;
  const Chosen chosen = core::choose(choosing, {key.source, key.source_port, worker_}, event.now);
  return chosen.member == nullptr ? refuse(event) : open_at(event, choosing, chosen);
}

Fate Switch::refuse(const Event& event) noexcept {
  if (!event.parsed.is_tcp()) return Fate::drop_no_real;
  answer_reset(event);
  return Fate::reset_no_real;
}

Fate Switch::open_at(const Event& event, const Choosing& choosing, Chosen chosen) noexcept {
  const Ip& client = event.parsed.key.source;
  std::uint64_t hash = hash_from_real(event, *chosen.member);
  table_.prefetch_bucket(hash);  // while its ways are looked up
  Ways ways = find_ways(chosen.member->binding, client, event.generation, event.now);
  if (!take_key(event, *chosen.member, hash)) {
    chosen = choose_other(event, choosing, chosen);
    if (chosen.member == nullptr) return refuse(event);
    hash = hash_from_real(event, *chosen.member);
    static_cast<void>(take_key(event, *chosen.member, hash));
    ways = find_ways(chosen.member->binding, client, event.generation, event.now);
  }
  Fate problem = ways.problem;
  const HopIndex index = ways.hop[Side::client];
  const Hops::Hop hop = problem == Fate::to_real ? shared_.hops.use(index, event.now) : Hops::Hop{};
  if (problem == Fate::to_real && !leaves(event, index, hop.port)) problem = Fate::drop_too_big;
  if (problem == Fate::to_real && !still_serves(chosen.member->binding)) problem = refuse(event);
  Session* session = problem == Fate::to_real ? bind(event, choosing.service, chosen, hash) : nullptr;
  if (session == nullptr) {
    shared_.give_back(chosen.member->real);
    core::let_go(chosen, choosing.service, shared_, event.now);
    if (problem != Fate::to_real) return problem;
    if (event.parsed.is_tcp()) opened_tcp_.add(1);  // or an attack would seem to end where it has its way
    return Fate::drop_table_full;
  }
  session->set_ways(ways.hop);
  session->routes_version = event.generation.routes_version;
  note_first(event, *session);
  return depart(event, shared_.bindings[session->binding], Side::client, index, hop);
}

// What note() would find out, of a session that knows nothing yet.
void Switch::note_first(const Event& event, Session& session) noexcept {
  Session::Flow& flow = session.from[Side::client];
  add_packet(session, flow, session.binding, Side::client, event.frame.length);
  if (!event.parsed.is_tcp()) return;
  TcpLife::start(flow.next, flow.acked, segment_of(event.frame, event.parsed));
}

// Whether a server that was chosen has not been closed since. After it nothing may be settled until the
// session has its epoch: that would be the present one of a closed binding if a closing after the choice were
// settled before.
bool Switch::still_serves(BindingSlot slot) noexcept {
  settle();
  return shared_.state(slot).admission != forwarding::CLOSED;
}

// A client may use one port towards two services with a common server; the replies of the two sessions could
// not be told apart. So a server that already talks to this very client port under another session is passed
// over for the least loaded one that does not, in the first round that has one.
Chosen Switch::choose_other(const Event& event, const Choosing& choosing, Chosen chosen) noexcept {
  shared_.give_back(chosen.member->real);
  chosen.member = least_loaded(event, choosing);
  while (chosen.member != nullptr && !shared_.tallies[chosen.member->real].reserve(chosen.member->maxcon))
    chosen.member = least_loaded(event, choosing);  // another worker took the last session
  if (chosen.member != nullptr) return chosen;
  core::let_go(chosen, choosing.service, shared_, event.now);
  return {};
}

const Member* Switch::least_loaded(const Event& event, const Choosing& choosing) noexcept {
  const Member* best = nullptr;
  std::uint64_t least = 0;
  auto earliest = forwarding::LAST;
  for (const Member& member : choosing.service.members) {
    const std::uint64_t load = shared_.tallies[member.real].current.load(std::memory_order_relaxed);
    const bool full = member.maxcon != 0 && load >= member.maxcon;
    const bool less = best == nullptr || load * best->weight < least * member.weight;
    if (full || (!less && earliest == forwarding::OPEN)) continue;
    const forwarding::Admission round = round_of(choosing, member);
    if (round == forwarding::CLOSED || round > earliest || (!less && round == earliest)) continue;
    const Session* taken = holder(event, member, hash_from_real(event, member));
    if (taken != nullptr && !gives_way(*taken)) continue;
    best = &member;
    least = load;
    earliest = round;
  }
  return best;
}

std::uint64_t Switch::hash_from_real(const Event& event, const Member& member) const noexcept {
  return table_.hash(from_real(event.parsed.key, member), event.parsed.transport());
}

// The session that has this key of a server's packets already; null when there is none.
Session* Switch::holder(const Event& event, const Member& member, std::uint64_t hash) noexcept {
  Side from{};
  return table_.find(from_real(event.parsed.key, member), event.parsed.transport(), hash, from);
}

bool Switch::gives_way(const Session& session) const noexcept {
  const Life life = session.life().life();
  return life == Life::closed || life == Life::closing || terminated(session);
}

// Whether a session may have this key; one that is over gives way.
bool Switch::take_key(const Event& event, const Member& member, std::uint64_t hash) noexcept {
  Session* before = holder(event, member, hash);
  if (before == nullptr) return true;
  if (!gives_way(*before)) return false;
  forget(*before);
  return true;
}

Session* Switch::bind(const Event& event, const Service& service, const Chosen& chosen,
                      std::uint64_t hash_from_real) noexcept {
  const Member& member = *chosen.member;
  const FlowKey& key = event.parsed.key;
  Session* session = table_.insert(key.source, key.source_port, member.binding, service.protocol,
                                   {{event.hash, hash_from_real}});
  if (session == nullptr) return nullptr;
  session->port = event.frame.port;
  session->seen = event.now;
  table_.rest(*session).started = event.now;
  held_[member.binding].add(1);
  opened_.add(1);
  if (event.parsed.is_tcp()) begin_handshake(*session);
  // The epoch as far as this worker has settled it, not the newest: if the server was closed just now, the
  // session belongs to what that ended, and is given up with it.
  session->epoch = counted_[member.binding].epoch;
  in_this_order();  // a session that is counted is whole
  count(*session);
  if (chosen.use != 0) {
    session->told |= Session::kPersistent;
    uses_[table_.position(*session)] = chosen.use;
  }
  return session;
}

}  // namespace headgate::core
