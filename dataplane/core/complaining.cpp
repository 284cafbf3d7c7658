// SPDX-License-Identifier: Apache-2.0
// ICMP errors: those about packets of sessions, and the switch's own.
#include "dataplane/core/icmp_answer.h"
#include "dataplane/core/icmp_error.h"
#include "dataplane/core/switch.h"
#include "dataplane/core/switch_parts.h"

namespace headgate::core {

// ---- Errors about packets of sessions

// What is neither TCP nor UDP: an error about a packet that the switch sent goes to the end that had sent it
// to the switch. It changes nothing of the session but the way it takes (RFC 5508, 4; RFC 5927).
Fate Switch::pass_error(const Event& event) noexcept {
  const Parsed& parsed = event.parsed;
  if (!is_icmp(parsed) || parsed.part != Part::whole) return Fate::punt;
  const Layout& layout = *event.generation.layout;
  const IpHeader outer = header_of(event.frame);
  IcmpError error;
  const IcmpKind kind = read_icmp(event.frame, outer, error);
  if (kind == IcmpKind::other) return Fate::punt;
  if (kind != IcmpKind::error) return layout.concerns(parsed.key) ? Fate::drop_error_bad : Fate::punt;

  Side from{};
  const FlowKey key = error.about.reversed();
  const Transport transport(error.protocol, outer.v6);
  Session* session = table_.find(key, transport, table_.hash(key, transport), from);
  if (session != nullptr) return pass_error(event, outer, error, *session, from);
  const bool ours = layout.is_vip(error.about.source) ||
                    layout.is_real(error.about.destination, error.about.destination_port, error.protocol);
  return ours ? Fate::drop_error_no_session : Fate::punt;
}

Fate Switch::pass_error(const Event& event, const IpHeader& outer, const IcmpError& error, Session& session,
                        Side from) noexcept {
  const Layout& layout = *event.generation.layout;
  const bool client = from == Side::client;
  if (!allowed(layout.ports[from], event.frame.port)) return wrong_port(from);
  if (terminated(session)) return Fate::drop_error_no_session;
  if (outer.ttl <= 1) return Fate::drop_ttl;
  const Fate problem = refresh_ways(session, event.generation, event.now);
  if (problem != Fate::to_real) return problem;
  const HopIndex index = session.from[from].hop();
  const Hops::Hop hop = shared_.hops.use(index, event.now);
  if (!shared_.fits(hop.port, event.frame.length)) return Fate::drop_too_big;
  const Shared::Binding& binding = shared_.bindings[session.binding];
  const Endpoint with{binding.end[other(from)].address, binding.end[other(from)].port};
  translate(event.frame, outer, error, with, client);
  send(event.frame, index, hop);
  return client ? Fate::error_to_real : Fate::error_to_client;
}

// ---- Errors of our own

// What the sender of a packet with this fate may be told.
std::optional<Complaint> Switch::complaint(const Event& event) const noexcept {
  switch (event.frame.fate) {
    case Fate::drop_ttl:
      return Complaint::time_exceeded;
    case Fate::drop_too_big:
      return Complaint::too_big;
    case Fate::drop_no_real:
      return Complaint::port_unreachable;
    case Fate::drop_no_vport:
      if (event.parsed.protocol != Protocol::udp) return std::nullopt;
      if (!shared_.answer_closed_ports.load(std::memory_order_relaxed)) return std::nullopt;
      return Complaint::port_unreachable;
    default:
      return std::nullopt;
  }
}

// Makes an answer of a packet that is dropped, where there is one to make: from the VIP to who sent to it,
// else from the port where the packet came in.
void Switch::complain(const Event& event) noexcept {
  Frame& frame = event.frame;
  const auto what = complaint(event);
  if (!what) return;
  const IpHeader header = header_of(frame);
  if (!answerable(frame, header)) return;
  const bool to_vip = event.generation.layout->is_vip(header.destination);
  const Ip& from = to_vip ? header.destination : event.generation.addresses->of(frame.port, header.v6);
  if (from.none()) return;
  if (!limits_.allow(*what, event.now)) return errors_withheld_.add(1);
  const bool too_big = *what == Complaint::too_big && frame.hop != kNoHop;
  const std::uint16_t mtu = too_big ? shared_.mtu(shared_.hops.use(frame.hop, event.now).port) : 0;
  if (!write_answer(frame, header, *what, from, mtu)) return;
  frame.hop = kNoHop;
  frame.action = Action::transmit;
  errors_built_.add(1);
}

}  // namespace headgate::core
