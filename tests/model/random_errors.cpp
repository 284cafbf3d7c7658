// SPDX-License-Identifier: Apache-2.0
// ICMP errors, of those who received a packet of the switch, and of those who claim to.
#include <array>

#include "tests/model/random_traffic.h"

namespace headgate::testing {
namespace {

using plain::Session;

// A packet of a session as the switch sent it.
Packet as_sent(Dice& dice, const Session& session, bool to_real) {
  const auto& key = session.binding->key;
  const Packet flow = to_real ? ip(session.client, key.rip) : ip(key.vip, session.client);
  const std::uint16_t from = to_real ? session.client_port : session.binding->vport();
  const std::uint16_t to = to_real ? session.binding->rport() : session.client_port;
  const std::string data(dice.below(40), 'q');
  if (!session.tcp()) return flow.udp(from, to, data).ttl(63);
  return flow.tcp(from, to, kAck, data).seq(dice.below(1u << 30)).ttl(63);
}

Packet of_nobody(Dice& dice, const RandomSite& site) {
  const bool ipv6 = dice.percent(30);
  const Ip client = RandomSite::address(1, 10 + dice.below(6), ipv6);
  const Ip vip = RandomSite::vip(ipv6 ? RandomSite::kVirts : dice.between(1, RandomSite::kVirts - 1));
  const Ip real = site.rip(dice.between(1, RandomSite::kReals), ipv6);
  const Packet flow = dice.percent(40) ? ip(vip, client) : ip(client, dice.percent(80) ? real : client);
  const bool from_vip = flow.source == vip;
  const std::uint16_t rport = dice.percent(80) ? 8080 : 53;
  return from_vip ? flow.udp(rport, 40000) : flow.tcp(40000, rport, kAck);
}

Packet odd_quote(Dice& dice, Packet quoted) {
  switch (dice.below(12)) {
    case 0:
      return quoted.fragmented(kMoreFragments).id(5);
    case 1:
      return quoted.fragmented(100).id(5);
    case 2:
      return quoted.with_checksum(static_cast<std::uint16_t>(dice.below(65536)));
    case 3:
      return quoted.icmp(quoted.is_ipv6() ? 128 : 8, 0, 1, "ping");
    case 4:
      return quoted.is_ipv6() ? quoted.with_extension(60, {0, 0, 1, 4, 0, 0, 0, 0})
                              : quoted.with_ip_options({1, 1, 1, 0});
    case 5:
      return quoted.with_checksum(0);
    default:
      return quoted;
  }
}

// Whoever is on the way of a packet, its receiver among them, tells its sender; most of the time.
Packet outer(Dice& dice, const Packet& quoted) {
  const unsigned net = quoted.source.is_v4() ? quoted.destination.octets[14] : quoted.destination.octets[5];
  const Ip router = RandomSite::address(net, 250, quoted.is_ipv6());
  const Ip to = dice.percent(4) ? router : quoted.source;
  return ip(dice.percent(60) ? quoted.destination : router, to);
}

std::uint8_t random_type(Dice& dice, bool ipv6) {
  static constexpr std::array<std::uint8_t, 9> kTypes4 = {3, 3, 3, 3, 11, 12, 4, 5, 13};
  static constexpr std::array<std::uint8_t, 9> kTypes6 = {1, 2, 2, 3, 4, 100, 1, 137, 135};
  return dice.one_of(ipv6 ? kTypes6 : kTypes4);
}

}  // namespace

Packet random_error(Dice& dice, const RandomSite& site, const plain::PlainSwitch& known) {
  const bool talks = dice.percent(85) && !known.sessions().empty();
  Packet quoted =
      talks ? as_sent(dice, dice.one_of(known.sessions()), dice.percent(50)) : of_nobody(dice, site);
  const Packet flow = outer(dice, quoted);
  quoted = odd_quote(dice, quoted);
  const std::uint32_t rest = dice.percent(50) ? dice.between(500, 1500) : 0;
  Packet error = flow.icmp(random_type(dice, flow.is_ipv6()), static_cast<std::uint8_t>(dice.below(5)), rest);
  const std::uint32_t octets = dice.percent(50) ? 8 : dice.percent(10) ? dice.below(8) : dice.between(8, 60);
  error = error.about(quoted, octets);
  if (dice.percent(3)) error.payload.resize(dice.below(error.payload.size()));
  if (dice.percent(4)) error = error.with_checksum(static_cast<std::uint16_t>(dice.below(65536)));
  return error;
}

}  // namespace headgate::testing
