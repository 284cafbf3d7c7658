// SPDX-License-Identifier: Apache-2.0
// ICMP errors: those of others about packets of sessions, and the switch's own.
#include <algorithm>

#include "tests/model/plain_icmp.h"
#include "tests/model/plain_switch.h"

namespace headgate::testing::plain {

using core::Fate;

// What is neither TCP nor UDP. An error goes to the end whose packet it is about, and changes nothing.
Outcome PlainSwitch::of_error(const Packet& packet) {
  const View& view = packet.view;
  const Error error = read_error(packet.wire.bytes, view);
  if (error.kind == Error::Kind::none) return {.fate = Fate::punt};
  if (error.kind == Error::Kind::bad) return {.fate = concerns(view) ? Fate::drop_error_bad : Fate::punt};
  const View& quoted = error.quoted;
  View reply = quoted;
  std::swap(reply.source, reply.destination);
  std::swap(reply.source_port, reply.destination_port);
  bool from_client = false;
  const Found session = find(reply, from_client);
  if (session != sessions_.end()) return forward_error(packet, error, *session, from_client);
  const bool ours = is_vip(quoted.source) || is_real(reply);
  return {.fate = ours ? Fate::drop_error_no_session : Fate::punt};
}

Outcome PlainSwitch::forward_error(const Packet& packet, const Error& error, Session& session,
                                   bool from_client) {
  if (from_client && !client_ports_.contains(packet.wire.port)) return {.fate = Fate::drop_client_port};
  if (!from_client && !server_ports_.contains(packet.wire.port)) return {.fate = Fate::drop_server_port};
  if (session.terminated) return {.fate = Fate::drop_error_no_session};
  if (packet.view.ttl <= 1) return {.fate = Fate::drop_ttl};
  if (!find_ways(session)) return {.fate = Fate::drop_no_route};
  const Way& way = from_client ? session.to_real : session.to_client;
  if (packet.wire.bytes.size() > 14u + mtus_.at(way.port)) return {.fate = Fate::drop_too_big};
  const Bytes& frame = packet.wire.bytes;
  const Binding& binding = *session.binding;
  const Bytes sent =
      from_client
          ? translated(frame, packet.view, error, Side::source, binding.key.rip, binding.rport())
          : translated(frame, packet.view, error, Side::destination, binding.key.vip, binding.vport());
  return {.fate = from_client ? Fate::error_to_real : Fate::error_to_client, .sent = send(sent, way)};
}

// What a packet's sender is told in its place: from the VIP that it had asked, else from where it came in.
std::optional<Sent> PlainSwitch::complain(const Packet& packet, const Outcome& outcome, unsigned worker) {
  const View& view = packet.view;
  const bool closed_port = outcome.fate == Fate::drop_no_vport && !view.tcp() && answer_closed_ports_;
  const bool told = closed_port || outcome.fate == Fate::drop_ttl || outcome.fate == Fate::drop_too_big ||
                    outcome.fate == Fate::drop_no_real;
  if (!told || !may_be_answered(packet.wire.bytes, view)) return {};
  const auto own = addresses_.find({packet.wire.port, view.ipv6});
  if (!is_vip(view.destination) && own == addresses_.end()) return {};
  const Ip& from = is_vip(view.destination) ? view.destination : own->second;
  if (!may_complain(worker, outcome.fate, packet.now)) return {};
  return answer(packet, own_error(packet.wire.bytes, view, outcome.fate, from, outcome.mtu));
}

// A hundred of one kind at once, and a thousand a second (docs/adr/0020).
bool PlainSwitch::may_complain(unsigned worker, Fate fate, Tick now) {
  constexpr std::uint64_t kOne = 1000, kMost = 100 * kOne;
  const Fate kind = fate == Fate::drop_no_vport ? Fate::drop_no_real : fate;
  auto& [thousandths, since] = stocks_.insert({{worker, kind}, {kMost, now}}).first->second;
  const auto ticks = static_cast<std::uint64_t>(now.since(since));
  thousandths = std::min(kMost, thousandths + ticks * 1000 * kOne / Tick::kPerSecond);
  since = now;
  const bool may = thousandths >= kOne;
  if (may) thousandths -= kOne;
  ++(may ? errors_ : errors_withheld_);
  return may;
}

}  // namespace headgate::testing::plain
