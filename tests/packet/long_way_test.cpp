// SPDX-License-Identifier: Apache-2.0
// The same packets to two switches, one time plain and one time with an option that says nothing (NOP, PadN):
// they take the short way there and the long way here, and nothing else may differ.
#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/packet/beds.h"

namespace headgate::testing {
namespace {

class LongWayTest : public ::testing::TestWithParam<const Bed*> {
 protected:
  [[nodiscard]] Packet with_option(const Packet& packet) const {
    return bed.v6 ? packet.with_extension(60, {0, 0, 1, 4, 0, 0, 0, 0})
                  : packet.with_ip_options({1, 1, 1, 1});
  }
  static Packet bare(const Wire& wire) {
    Packet packet = decode(wire.bytes).value();
    packet.ip_options = {};
    packet.extensions = {};
    packet.padding = 0;
    if (packet.protocol == kIcmp || packet.protocol == kIcmp6) packet.payload = {};  // it quotes the option
    return packet;
  }
  // To both; what came out of the plain one. Equally many octets in, so that equally many are counted.
  std::vector<Packet> pass(const Packet& packet, unsigned port) {
    const Wire longer = with_option(packet).in(port);
    const auto sent = plain.pass(packet.padded(longer.bytes.size()).in(port));
    const auto other = other_one.pass(longer);
    EXPECT_EQ(sent.size(), other.size()) << packet;
    std::vector<Packet> out;
    for (std::size_t i = 0; i < std::min(sent.size(), other.size()); ++i) {
      out.push_back(bare(sent[i]));
      EXPECT_EQ(sent[i].port, other[i].port) << packet;
      EXPECT_EQ(out.back(), bare(other[i])) << packet;
    }
    return out;
  }
  static std::string told(Bench& bench) {
    std::vector<core::SessionView> views;
    std::size_t cursor = 0;
    while (bench.worker().dump(cursor, 64, {}, bench.now, views)) {
    }
    std::string out = bench.stats().DebugString();
    for (const auto& view : views) out += bench.director.describe(view, 0).DebugString();
    return out;
  }
  void compare() { EXPECT_EQ(told(plain), told(other_one)); }
  void wait(std::uint32_t seconds) {
    for (Bench* bench : {&plain, &other_one}) bench->wait(seconds), bench->sweep();
  }

  const Bed& bed = *GetParam();
  Bench plain{dns(bed, 2)};
  Bench other_one{dns(bed, 2)};
};
INSTANTIATE_TEST_SUITE_P(Families, LongWayTest, ::testing::Values(&kBed4, &kBed6), family_name);

/// What a client and the servers say, at random; of eight ports two are of UDP.
struct Talk {
  const Bed& bed;
  std::mt19937 random{1};
  std::map<std::uint16_t, Packet> replies = {};  ///< by client port: a packet of its server

  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(random() % bound); }
  std::uint8_t flags() {
    static constexpr std::array<std::uint8_t, 9> kFlags = {kAck,        kAck, kAck, kAck,       kAck | kPush,
                                                           kFin | kAck, kRst, kSyn, kSyn | kAck};
    return kFlags[below(kFlags.size())];
  }
  [[nodiscard]] static bool udp(std::uint16_t port) { return port % 4 == 0; }
  Packet question(std::uint16_t port) {
    const Packet flow = ip(bed.client, bed.vip);
    const std::string data = text(below(30));
    return udp(port) ? flow.udp(port, 53, data)
                     : flow.tcp(port, 80, replies.contains(port) ? flags() : kSyn, data);
  }
  Packet reply(std::uint16_t port) {
    Packet packet = replies.at(port);
    if (!udp(port)) packet.flags = flags();
    return packet;
  }
  Packet next(std::uint16_t port, bool asks) {
    Packet packet = asks ? question(port) : reply(port);
    if (!udp(port)) packet = packet.seq(1000 + below(50)).ack(1000 + below(50));
    if (below(50) == 0) packet.time_to_live = 1;
    return packet;
  }
  void take_note(std::uint16_t port, const Packet& at_server) {
    replies[port] = udp(port) ? at_server.answer("answer") : at_server.reply(kAck);
  }
};

TEST_P(LongWayTest, WhatTakesItIsTreatedAsWhatDoesNot) {
  Talk talk{bed};
  for (int step = 0; step < 4000 && !HasFailure(); ++step) {
    const auto port = static_cast<std::uint16_t>(40000 + talk.below(8));
    const bool asks = !talk.replies.contains(port) || talk.below(2) == 0;
    const Packet packet = talk.next(port, asks);
    const auto sent = pass(packet, asks ? kClientPort : kServerPort);
    const bool reached = asks && !sent.empty() && sent.front().destination != packet.source;
    if (reached) talk.take_note(port, sent.front());
    if (talk.below(40) == 0) wait(talk.below(40));
    EXPECT_EQ(plain.fates(), other_one.fates()) << packet;
    if (step % 20 == 0) compare();
  }
}

}  // namespace
}  // namespace headgate::testing
