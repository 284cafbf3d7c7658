// SPDX-License-Identifier: Apache-2.0
#include "frames.h"

#include "dataplane/core/checksum.h"
#include "dataplane/core/ethernet.h"

namespace headgate::fuzz {

using namespace core;

Ip address(bool v6, std::uint8_t network, std::uint8_t host) {
  if (!v6) return Ipv4{0x0a0a0000u | std::uint32_t{network} << 8 | host};
  Ip ip;
  ip.octets = {0x20, 0x01, 0x0d, 0xb8, 0, network};
  ip.octets[15] = host;
  return ip;
}
Ip client_of(bool v6, unsigned n) {
  return address(v6, 1, static_cast<std::uint8_t>(10 + n));
}
Ip vip_of(bool v6) {
  return address(v6, 1, 100);
}
Ip real_of(bool v6, unsigned n) {
  return address(v6, 2, static_cast<std::uint8_t>(10 + n));
}

namespace {

/// Who sends what to whom.
struct Flow {
  bool v6 = false;
  Protocol protocol = Protocol::tcp;
  Ip source, destination;
  L4Port source_port = 0, destination_port = 0;
};

/// One of eight flows of each direction: four clients' ports, by two servers.
Flow flow(Tape& tape, Protocol protocol) {
  const std::uint8_t who = tape.byte();
  const bool v6 = (who & 1) != 0, to_vip = (who & 2) != 0;
  const Ip client = client_of(v6, who >> 2 & 3);
  const auto port = static_cast<L4Port>(40000 + (who >> 4 & 3));
  const Ip real = real_of(v6, 1 + (who >> 6 & 1));
  if (to_vip) return {v6, protocol, client, vip_of(v6), port, kVport};
  return {v6, protocol, real, client, kRport, port};
}

Bytes transport(const Flow& flow, Tape& tape) {
  Bytes out;
  out.add16(flow.source_port), out.add16(flow.destination_port);
  if (flow.protocol == Protocol::tcp) {
    const std::uint8_t flags = tape.byte(), numbers = tape.byte();
    out.add32(0xfffffff0u + numbers % 16 * 2), out.add32(0xfffffff0u + numbers / 16 * 2);
    out.add16(0x5000u | (flags & 0x3f)), out.add16(1000), out.add32(0);
    out.resize(out.size() + std::size_t{flags} / 64 * 300);
  } else {
    const std::size_t payload = tape.byte() * 4u;
    out.add16(static_cast<unsigned>(8 + payload)), out.add16(0x1234);
    out.resize(out.size() + payload);
  }
  return out;
}

/// `fragment`: the offset in units of eight octets, and 0x8000 when more follow.
Bytes packet(const Flow& flow, std::span<const std::uint8_t> l4, unsigned fragment = 0, unsigned id = 1,
             std::uint8_t ttl = 64) {
  Bytes out;
  for (unsigned i = 0; i < 3; ++i) out.add32(0x02020202);
  const auto protocol = static_cast<std::uint8_t>(flow.protocol);
  const bool more = (fragment & 0x8000) != 0;
  const unsigned offset = fragment & 0x1fff;
  if (flow.v6) {
    const bool piece = fragment != 0;
    out.add16(kEtherTypeIpv6), out.add32(0x60000000);
    out.add16(static_cast<unsigned>(l4.size() + (piece ? 8 : 0)));
    out.add8(piece ? 44 : protocol), out.add8(ttl);
    out.add(flow.source), out.add(flow.destination);
    if (piece) out.add8(protocol), out.add8(0), out.add16(offset << 3 | (more ? 1 : 0)), out.add32(id);
  } else {
    out.add16(kEtherTypeIpv4), out.add16(0x4500), out.add16(static_cast<unsigned>(20 + l4.size()));
    out.add16(id), out.add16(offset | (more ? 0x2000u : 0u)), out.add8(ttl), out.add8(protocol);
    out.add16(0), out.add(flow.source), out.add(flow.destination);
    store_raw16(&out[24], static_cast<std::uint16_t>(~sum_of(&out[14], 20)));
  }
  out.add(l4);
  if (out.size() < 60) out.resize(60);
  return out;
}

}  // namespace

// Something about a packet that the switch sent: from whom it went to, to whom it came from.
Bytes icmp_error(Tape& tape) {
  const Flow about = flow(tape, (tape.byte() & 1) != 0 ? Protocol::tcp : Protocol::udp);
  const Bytes l4 = transport(about, tape);
  const Bytes sent = packet(about, l4.all(), 0, 1, static_cast<std::uint8_t>(tape.byte() % 4));
  const auto quoted = sent.all().subspan(kEthernetHeader);
  const std::size_t most = 28 + tape.byte() % 64u;
  const std::uint8_t type = tape.byte(), code = tape.byte() % 8;
  Bytes message;
  message.add8(about.v6 ? 1 + type % 4u : type % 13u), message.add8(code), message.add16(0);
  message.add32(576), message.add(quoted.first(std::min(quoted.size(), most)));
  const Flow flow{about.v6, about.v6 ? Protocol::icmp6 : Protocol::icmp, about.destination, about.source};
  std::uint64_t pseudo = 0;
  if (about.v6) {
    Bytes header;
    header.add(flow.source), header.add(flow.destination);
    header.add32(static_cast<std::uint32_t>(message.size())), header.add32(58);
    pseudo = sum_of(header.data(), header.size());
  }
  store_raw16(&message[2], static_cast<std::uint16_t>(~sum_of(message.data(), message.size(), pseudo)));
  return packet(flow, message.all());
}

Bytes fragment(Tape& tape) {
  const Flow of = flow(tape, Protocol::udp);
  const std::uint8_t where = tape.byte();
  Bytes piece = transport(of, tape);
  if (where % 8 != 0) piece.resize(piece.size() / 8 * 8);
  return packet(of, piece.all(), where % 8 * 16u | (where & 0x80u) << 8, where >> 3 & 3);
}

Bytes raw(Tape& tape) {
  const std::uint8_t length = tape.byte();
  Bytes frame;
  frame.add(tape.take(length));
  if (frame.size() >= 34 && length % 2 == 0) {
    store_raw16(&frame[24], 0);
    store_raw16(&frame[24], static_cast<std::uint16_t>(~sum_of(&frame[14], 20)));
  }
  return frame;
}

Bytes whole(Tape& tape, Protocol protocol, std::uint8_t ttl) {
  const Flow of = flow(tape, protocol);
  return packet(of, transport(of, tape).all(), 0, 1, ttl);
}

}  // namespace headgate::fuzz
