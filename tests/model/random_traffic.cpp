// SPDX-License-Identifier: Apache-2.0
#include "tests/model/random_traffic.h"

#include <algorithm>
#include <array>
#include <string>

namespace headgate::testing {
namespace {

using plain::Session;

constexpr std::array<std::uint8_t, 12> kFlags = {
    kAck,        kAck, kAck | kPush, kSyn, kSyn | kAck, kFin | kAck,
    kFin | kAck, kRst, kRst | kAck,  kFin, 0,           kSyn | kFin};

Ip random_client(Dice& dice, bool ipv6) {
  static constexpr std::array kOdd4 = {"127.0.0.1", "224.0.0.1", "255.255.255.255", "0.0.0.0"};
  static constexpr std::array kOdd6 = {"::1", "ff02::1", "::", "fe80::1"};
  if (dice.percent(3)) return host(ipv6 ? dice.one_of(kOdd6) : dice.one_of(kOdd4));
  const unsigned net = dice.percent(10) ? 9 : 1;  // behind the default gateway
  return RandomSite::address(net, 10 + dice.below(6), ipv6);
}

std::uint16_t random_client_port(Dice& dice) {
  return static_cast<std::uint16_t>(40000 + dice.below(8));
}

std::string random_data(Dice& dice) {
  const std::uint32_t size = dice.percent(3) ? dice.between(500, 1400) : dice.below(20);
  return std::string(dice.percent(50) ? 0 : size, static_cast<char>('a' + dice.below(26)));
}

Packet opening(Dice& dice, const RandomSite& site) {
  const auto& service = dice.one_of(site.services());
  const std::uint16_t vport =
      dice.percent(4) ? static_cast<std::uint16_t>(dice.between(50, 90)) : service.vport;
  const Packet flow =
      ip(random_client(dice, RandomSite::is_ipv6(service.virt)), RandomSite::vip(service.virt));
  const std::uint16_t from = random_client_port(dice);
  if (dice.percent(1)) {  // one VIP as the client of another
    const auto& other = dice.one_of(site.services());
    if (RandomSite::is_ipv6(other.virt) == flow.is_ipv6())
      return ip(RandomSite::vip(other.virt), flow.destination).tcp(from, vport, kSyn);
  }
  if (service.protocol == kUdp) return flow.udp(from, vport, random_data(dice));
  const std::uint8_t flags = dice.percent(90) ? kSyn : dice.one_of(kFlags);
  return flow.tcp(from, vport, flags, dice.percent(10) ? random_data(dice) : "")
      .seq(dice.below(1u << 31) * 2);
}

// Near what the connection expects, or far off.
std::uint32_t near(Dice& dice, std::uint32_t expected) {
  if (dice.percent(70)) return expected;
  if (dice.percent(60)) return expected + dice.between(0, 4000) - 2000;
  return dice.percent(50) ? expected + dice.between(0, 200'000) - 100'000
                          : dice.below(std::uint64_t{1} << 32);
}

// A server takes a SYN, with its data or without, or acknowledges something near.
Packet answer(Dice& dice, const Packet& syn_ack, const plain::View& syn) {
  const std::uint32_t end = dice.percent(30) ? syn.sequence + 1 : syn.after();
  return syn_ack.seq(dice.below(std::uint64_t{1} << 32))
      .ack(dice.percent(80) ? end : end + dice.between(0, 20) - 10);
}

Packet of_session(Dice& dice, const Session& session) {
  const auto& key = session.binding->key;
  const bool client = dice.percent(50);
  const auto& mine = client ? session.connection.client() : session.connection.real();
  const auto& other = client ? session.connection.real() : session.connection.client();
  const Packet flow = client ? ip(session.client, key.vip) : ip(key.rip, session.client);
  const std::uint16_t from = client ? session.client_port : session.binding->rport();
  const std::uint16_t to = client ? session.binding->vport() : session.client_port;
  if (!session.tcp()) return flow.udp(from, to, random_data(dice));
  if (!client && session.connection.asked() && dice.percent(40))
    return answer(dice, flow.tcp(from, to, kSyn | kAck), *session.connection.asked());
  const bool answers = !client && !session.connection.answered() && dice.percent(70);
  const std::uint8_t flags = answers            ? static_cast<std::uint8_t>(kSyn | kAck)
                             : dice.percent(55) ? kAck
                                                : dice.one_of(kFlags);
  Packet packet =
      flow.tcp(from, to, flags, random_data(dice)).seq(near(dice, mine.next)).ack(near(dice, other.next));
  packet.window = static_cast<std::uint16_t>(dice.below(65536));
  return packet;
}

// From a server, but of no session; or to one, past the switch's service.
Packet stray(Dice& dice, const RandomSite& site) {
  const bool ipv6 = dice.percent(25);
  const Ip real = site.rip(dice.between(1, RandomSite::kReals), ipv6);
  const Ip client = random_client(dice, ipv6);
  const std::uint16_t rport = dice.percent(80) ? 8080 : 53;
  const Packet flow = dice.percent(80) ? ip(real, client) : ip(client, real);
  if (rport == 53 && dice.percent(70)) return flow.udp(rport, random_client_port(dice), "x");
  return flow.tcp(rport, random_client_port(dice), dice.one_of(kFlags)).seq(dice.below(5));
}

// What is no TCP and no UDP, or a wrong one, or from the VIP to itself.
Packet odd(Dice& dice) {
  const std::uint32_t virt = dice.between(1, RandomSite::kVirts);
  const Ip vip = RandomSite::vip(virt);
  const Packet flow = ip(random_client(dice, RandomSite::is_ipv6(virt)), vip);
  if (dice.percent(10)) return flow.carrying(kUdp, {156, 64, 0, 53, 0, 20, 1, 1});  // longer than it is
  if (dice.percent(30)) return ip(vip, vip).tcp(80, 80, kSyn);
  return dice.percent(50) ? flow.icmp(flow.is_ipv6() ? 128 : 8, 0, dice.below(9), "ping")
                          : flow.carrying(47, {1, 2, 3, 4});
}

// Well-formed ones and others.
Bytes random_options(Dice& dice, std::size_t size, const std::vector<std::uint8_t>& kinds) {
  Bytes out(size);
  for (auto& octet : out) octet = static_cast<std::uint8_t>(dice.below(dice.percent(70) ? 5 : 256));
  if (dice.percent(60)) out[0] = dice.one_of(kinds);
  return out;
}

Packet extended(Dice& dice, Packet packet) {
  static constexpr std::array<std::uint8_t, 3> kKinds = {0, 43, 60};
  const std::uint32_t count = dice.percent(70) ? 1 : dice.between(1, 12);
  const bool all_usual = dice.percent(60);
  for (std::uint32_t i = 0; i < count; ++i) {
    const bool usual = all_usual || dice.percent(50);
    const std::uint32_t words = usual ? 1 : dice.percent(90) ? dice.between(1, 3) : dice.between(4, 30);
    Bytes octets = {0, static_cast<std::uint8_t>(words - 1)};  // the writer fills in what is next
    append(octets, usual ? Bytes{1, 4, 0, 0, 0, 0} : random_options(dice, words * 8 - 2, {0, 1, 2, 4}));
    packet = packet.with_extension(!usual ? dice.one_of(kKinds) : i == 0 ? 0 : 60, std::move(octets));
  }
  return packet;
}

Packet varied(Dice& dice, Packet packet) {
  if (dice.percent(3)) packet.time_to_live = static_cast<std::uint8_t>(dice.below(3));
  if (dice.percent(5)) packet.traffic_class = static_cast<std::uint8_t>(dice.below(256));
  if (dice.percent(5)) packet.padding = dice.between(60, 100);
  if (packet.is_ipv6()) {
    if (dice.percent(5)) packet.fragment_header = true;  // all in one
    if (dice.percent(5)) packet.flow_label = dice.below(1u << 20);
    if (dice.percent(10)) packet = extended(dice, std::move(packet));
  } else {
    if (dice.percent(5) && !packet.is_fragment()) packet.identification = dice.below(65536);
    if (dice.percent(5)) packet.fragment |= kDontFragment;
    if (dice.percent(5)) packet.ip_options = {1, 1, 1, 0};
    if (dice.percent(3)) packet.ip_options = random_options(dice, dice.between(1, 10) * 4, {7, 68, 131, 137});
  }
  if (dice.percent(10) && packet.protocol == kTcp) packet.options = {2, 4, 5, 0xb4};
  if (dice.percent(10) && packet.protocol == kUdp && !packet.raw) packet.checksum = 0;
  return packet;
}

// Cut short, or with an IP header that can't be.
void break_header(Dice& dice, Bytes& frame) {
  constexpr std::size_t kIp = 14;
  const bool ipv4 = frame[kIp] / 16 == 4;
  const std::uint32_t how = dice.below(3);
  if (how == 0)
    frame.resize(dice.between(kIp, static_cast<std::uint32_t>(frame.size())));
  else if (how == 1 || !ipv4)
    frame[kIp] = static_cast<std::uint8_t>(frame[kIp] ^ 1u << dice.below(8));
  else
    frame[kIp + 10] ^= 1;  // the checksum
}

unsigned random_port(Dice& dice, const Packet& packet) {
  if (dice.percent(3)) return dice.between(1, RandomSite::kPorts);
  const unsigned net = packet.is_ipv6() ? packet.source.octets[5] : packet.source.octets[14];
  return net == 2 || net == 3 ? net : 1;
}

}  // namespace

Packet RandomTraffic::whole() {
  const std::uint32_t kind = dice_.below(100);
  if (kind < 65 && !known_.sessions().empty()) return of_session(dice_, dice_.one_of(known_.sessions()));
  if (kind < 90 && !site_.services().empty()) return opening(dice_, site_);
  return kind < 96 ? stray(dice_, site_) : odd(dice_);
}

// Mostly the next one of those under way.
Packet RandomTraffic::fragment() {
  if (pieces_.empty() || dice_.percent(15)) {
    Packet packet = whole();
    if (packet.protocol == kUdp) packet.payload += std::string(dice_.below(200), 'f');
    const auto fresh = random_fragments(dice_, packet);
    pieces_.insert(pieces_.end(), fresh.begin(), fresh.end());
  }
  const auto at = pieces_.begin() + (dice_.percent(70) ? 0 : dice_.below(pieces_.size()));
  Packet piece = *at;
  pieces_.erase(at);
  return piece;
}

Wire RandomTraffic::frame() {
  const std::uint32_t kind = dice_.below(100);
  Packet packet = kind < 10 ? random_error(dice_, site_, known_) : kind < 30 ? fragment() : whole();
  packet = varied(dice_, std::move(packet));
  Wire wire = packet.in(random_port(dice_, packet));
  if (dice_.percent(1)) wire.bytes[0] |= 1;  // to many
  if (dice_.percent(2)) break_header(dice_, wire.bytes);
  return wire;
}

}  // namespace headgate::testing
