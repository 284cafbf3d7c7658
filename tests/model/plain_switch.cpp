// SPDX-License-Identifier: Apache-2.0
// Packets: what becomes of one.
#include "tests/model/plain_switch.h"

#include <algorithm>

#include <fmt/format.h>

namespace headgate::testing::plain {

using core::Fate;

namespace {

Outcome only(Fate fate) {
  return {.fate = fate};
}

// Sequence numbers go round: a number is after another by less than this.
constexpr std::uint32_t kHalf = (1u << 31) - 1;

// Why a packet without a session is dropped that opens none.
Fate stray(const View& view) {
  if (!view.tcp()) return Fate::drop_no_session;
  if (view.flags == 0) return Fate::drop_no_flags;
  if (view.has(kRst)) return Fate::drop_bad_reset;
  return view.has(kFin) ? Fate::drop_oos_fin : Fate::drop_no_session;
}

}  // namespace

Outcome PlainSwitch::pass(const Wire& wire, const Choice& choice, Tick now) {
  Packet packet{wire, look(wire.bytes), now, choice.room};
  const auto gathered = gather(packet, choice);
  if (gathered && (gathered->waits_for != 0 || gathered->handed_as != 0)) return *gathered;
  Outcome outcome = gathered ? *gathered : decide(packet, choice);
  if (!outcome.sent) outcome.sent = complain(packet, outcome, choice.worker);
  ++packets_in_;
  ++fates_[static_cast<std::size_t>(outcome.fate)];
  return outcome;
}

Outcome PlainSwitch::decide(const Packet& packet, const Choice& choice) {
  bool from_client = true;
  const Found session = packet.view.kind == Kind::whole ? find(packet.view, from_client) : sessions_.end();
  return session != sessions_.end() ? of_session(packet, session, from_client, choice)
                                    : without_session(packet, choice);
}

std::optional<Outcome> PlainSwitch::gather(Packet& packet, const Choice& choice) {
  View& view = packet.view;
  if (view.kind != Kind::fragment) return {};
  Fragments::Answer answer{.ports = choice.handed_as};
  if (choice.waited_for != 0) answer = fragments_.take_again(view, choice.waited_for);
  if (!concerns(view)) return {};
  if (choice.waited_for == 0 && choice.handed_as == 0) answer = fragments_.take(view, packet.now);
  if (answer.refusal) return only(*answer.refusal);
  if (answer.waits_for != 0) return Outcome{.waits_for = answer.waits_for};
  if (choice.handed) return Outcome{.handed_as = answer.ports};
  view.source_port = static_cast<std::uint16_t>(answer.ports >> 16);
  view.destination_port = static_cast<std::uint16_t>(answer.ports);
  view.kind = Kind::whole;
  return {};
}

// ---- Of a session

Outcome PlainSwitch::of_session(const Packet& packet, Found session, bool from_client, const Choice& choice) {
  const View& view = packet.view;
  if (from_client && !client_ports_.contains(packet.wire.port)) return only(Fate::drop_client_port);
  if (!from_client && !server_ports_.contains(packet.wire.port)) return only(Fate::drop_server_port);
  if (view.tcp() && view.flags == 0 && !view.later()) return only(Fate::drop_no_flags);
  if (view.ttl <= 1) return only(Fate::drop_ttl);
  if (view.later())
    return session->terminated ? only(Fate::drop_no_session) : forward(packet, *session, from_client);
  const bool syn = view.tcp() && view.opens();
  const bool gone = session->over() || !session->binding->opens();
  // A connection starts anew on a closed, stale or dead server's session; a datagram, on a terminated one.
  const bool anew = from_client && (view.tcp() ? syn && gone : session->terminated);
  if (anew) {
    forget(session, packet.now);
    return without_session(packet, choice);
  }
  if (session->terminated) return end_terminated(packet, *session, from_client);
  return forward(packet, *session, from_client);
}

Outcome PlainSwitch::forward(const Packet& packet, Session& session, bool from_client) {
  if (packet.view.fragment && session.binding->drop_fragments) return only(Fate::drop_fragment);
  if (!find_ways(session)) return only(Fate::drop_no_route);
  const Way& way = from_client ? session.to_real : session.to_client;
  const std::uint32_t mtu = mtus_.at(way.port);
  if (!leaves(packet, mtu)) return {.fate = Fate::drop_too_big, .mtu = mtu};
  const bool reset = packet.view.tcp() && packet.view.has(kRst);
  if (reset && check_resets_ && !session.connection.may_reset(from_client, packet.view))
    return only(Fate::drop_bad_reset);
  note(packet, session, from_client);
  const Binding& binding = *session.binding;
  const Bytes frame =
      from_client
          ? translated(packet.wire.bytes, packet.view, Side::destination, binding.key.rip, binding.rport())
          : translated(packet.wire.bytes, packet.view, Side::source, binding.key.vip, binding.vport());
  Outcome outcome = only(from_client ? Fate::to_real : Fate::to_client);
  for (const Bytes& piece : pieces(frame, packet.view, mtu)) {
    if (outcome.sent)
      outcome.own.push_back(send(piece, way));
    else
      outcome.sent = send(piece, way);
  }
  return outcome;
}

bool PlainSwitch::leaves(const Packet& packet, std::uint32_t mtu) {
  const Bytes& frame = packet.wire.bytes;
  if (frame.size() <= 14 + mtu) return true;
  return may_be_cut(frame, packet.view) && pieces(frame, packet.view, mtu).size() <= packet.room + 1;
}

void PlainSwitch::note(const Packet& packet, Session& session, bool from_client) {
  Binding& binding = *session.binding;
  const std::uint64_t octets = packet.wire.bytes.size();
  ++(from_client ? session.packets_client : session.packets_real);
  (from_client ? session.octets_client : session.octets_real) += octets;
  if (binding.live) {
    ++binding.packets;
    binding.octets += octets;
    for (const TallyKey& key : tallies_of(binding)) {
      ++tallies_[key].packets;
      tallies_[key].octets += octets;
    }
  }
  const Life before = session.connection.life();
  if (session.tcp() && packet.view.later()) {
    // Nothing to learn.
  } else if (session.tcp()) {
    session.connection.pass(from_client, packet.view);
  } else if (!from_client) {
    session.connection.answer();
  }
  const Life after = session.connection.life();
  if (session.tcp()) session.half_open = after == Life::syn;
  if (before != Life::syn && after == Life::syn) ++begun_.handshakes;
  if (session.tcp() && before == Life::syn && after != Life::syn) ++begun_.settled;
  if (!from_client && before == Life::syn && session.tcp() && packet.view.has(kRst)) ++binding.refused;
  const bool first = session.packets_client == 1;
  const bool repeated = from_client && !first && session.tcp() && before == Life::syn && after == Life::syn &&
                        !session.connection.answered() && packet.view.opens();
  if (repeated) ++binding.unanswered;
  if (after == Life::closed) {
    let_go(session, packet.now);
    uncount(session);
  }
  const bool asks_again = !from_client && after == Life::syn;
  if (before != Life::closed && !asks_again) session.seen = packet.now;
}

// Both ends are told by a reset each, from the next packet of either.
Outcome PlainSwitch::end_terminated(const Packet& packet, Session& session, bool from_client) {
  const View& view = packet.view;
  session.half_open = false;
  let_go(session, packet.now);
  if (!view.tcp()) return only(Fate::drop_no_session);
  const auto way = way_to(from_client ? session.binding->key.rip : session.client);
  Outcome outcome = only(Fate::reset_terminated);
  if (way && !(from_client ? session.told_real : session.told_client)) {
    (from_client ? session.to_real : session.to_client) = *way;
    const Connection& connection = session.connection;
    const std::uint32_t next = (from_client ? connection.client() : connection.real()).next;
    const bool again = (from_client || connection.answered()) && next - view.sequence - 1 < kHalf;
    outcome.own.push_back(
        tell(session, !from_client, {again ? next : view.sequence, view.acknowledgement, view.has(kAck)}));
    session.seen = packet.now;
  }
  (from_client ? session.told_client : session.told_real) = true;
  if (view.has(kRst)) return outcome;  // no reset is answered with another
  outcome.sent = answer_reset(packet);
  session.seen = packet.now;
  return outcome;
}

// ---- Without a session

Outcome PlainSwitch::without_session(const Packet& packet, const Choice& choice) {
  const View& view = packet.view;
  switch (view.kind) {
    case Kind::foreign:
      return only(Fate::punt);
    case Kind::other:
      return of_error(packet);
    case Kind::truncated:
      return only(Fate::drop_truncated);
    case Kind::malformed:
      return only(Fate::drop_bad_header);
    case Kind::checksum:
      return only(Fate::drop_bad_checksum);
    case Kind::source_route:
      return only(concerns(view) ? Fate::drop_source_route : Fate::punt);
    case Kind::extensions:
      return only(concerns(view) ? Fate::drop_extensions : Fate::punt);
    case Kind::udp_length:
      return only(Fate::drop_udp_length);
    case Kind::no_udp_checksum:
      return only(Fate::drop_udp_checksum);
    case Kind::fragment:
      return only(Fate::punt);
    case Kind::whole:
      break;
  }
  if (view.later()) return only(Fate::drop_no_session);
  const auto service = services_.find({view.destination, view.destination_port, view.protocol});
  if (service != services_.end()) return open(packet, service->second, choice);
  if (is_vip(view.destination)) return only(Fate::drop_no_vport);
  if (!is_real(view)) return only(Fate::punt);
  return only(server_ports_.contains(packet.wire.port) ? stray(view) : Fate::drop_server_port);
}

// Nothing when a packet for a service may open a session, else why it may not.
std::optional<Fate> PlainSwitch::may_open(const Packet& packet) const {
  const View& view = packet.view;
  if (!client_ports_.contains(packet.wire.port)) return Fate::drop_client_port;
  if (view.source == view.destination) return Fate::drop_land;
  if (view.tcp() && !view.opens()) return stray(view);
  if (!is_of_a_host(view.source) || is_vip(view.source)) return Fate::drop_martian;
  if (view.ttl <= 1) return Fate::drop_ttl;
  return {};
}

// ---- What is sent

Sent PlainSwitch::send(const Bytes& frame, const Way& way) const {
  const bool known = neighbours_.contains({way.port, way.neighbour});
  const Mac to = known ? mac_of_host(way.neighbour) : Mac{};
  return {{way.port, addressed(frame, to, mac_of_port(way.port))}, !known};
}

Sent PlainSwitch::answer_reset(const Packet& packet) {
  const View& view = packet.view;
  testing::Packet reset =
      ip(view.destination, view.source).tcp(view.destination_port, view.source_port, kRst);
  if (view.has(kAck)) {
    reset = reset.seq(view.acknowledgement);
  } else {
    reset.flags |= kAck;
    reset = reset.ack(view.after());
  }
  ++resets_;
  return answer(packet, reset.padded(60).out(1).bytes);
}

// Back the way that a packet came.
Sent PlainSwitch::answer(const Packet& packet, const Bytes& frame) const {
  Mac sender, receiver;
  std::copy_n(packet.wire.bytes.begin(), 6, receiver.octets.begin());
  std::copy_n(packet.wire.bytes.begin() + 6, 6, sender.octets.begin());
  return {{packet.wire.port, addressed(frame, sender, receiver)}, false};
}

Sent PlainSwitch::tell(Session& session, bool to_client, const Numbers& numbers) {
  const Binding& binding = *session.binding;
  testing::Packet reset =
      to_client ? ip(binding.key.vip, session.client).tcp(binding.vport(), session.client_port, kRst)
                : ip(session.client, binding.key.rip).tcp(session.client_port, binding.rport(), kRst);
  reset = reset.seq(numbers.sequence).ack(numbers.acknowledgement);
  if (numbers.acknowledges) reset.flags |= kAck;
  (to_client ? session.told_client : session.told_real) = true;
  ++resets_;
  return send(reset.padded(60).out(1).bytes, to_client ? session.to_client : session.to_real);
}

}  // namespace headgate::testing::plain
