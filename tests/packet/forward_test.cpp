// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/packet/bench.h"

namespace headgate::testing {
namespace {

using core::Fate;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Forward, SynReachesTheServerWithOnlyItsDestinationRewritten) {
  Bench bench(web(1));
  const Packet syn = ip(kClient, kVip).tcp(40000, 80, kSyn).seq(7).ttl(64);
  EXPECT_THAT(bench.from_client(syn),
              ElementsAre(ip(kClient, kServer1).tcp(40000, 8080, kSyn).seq(7).ttl(63).out(kServerPort)));
  EXPECT_EQ(bench.fates(), (Fates{{Fate::to_real, 1}}));
}

TEST(Forward, ReplyReachesTheClientFromTheVipAndItsPort) {
  Bench bench(web(1));
  bench.from_client(ip(kClient, kVip).tcp(40000, 80, kSyn));
  const Packet reply = ip(kServer1, kClient).tcp(8080, 40000, kSyn | kAck).seq(9).ack(8);
  EXPECT_THAT(
      bench.from_server(reply),
      ElementsAre(ip(kVip, kClient).tcp(80, 40000, kSyn | kAck).seq(9).ack(8).ttl(63).out(kClientPort)));
  EXPECT_EQ(bench.fates(), (Fates{{Fate::to_real, 1}, {Fate::to_client, 1}}));
}

TEST(Forward, OptionsPayloadAndPaddingPassUntouched) {
  Bench bench(web(1));
  const auto session = Connection::open(bench, 40000);
  const Packet small = session.says(kAck).padded(60);
  EXPECT_THAT(bench.from_client(small), ElementsAre(session.at_server(small).out(kServerPort)));
  const Packet stamped = session.says(kAck | kPush, "GET / HTTP/1.0\r\n\r\nodd")
                             .with_options({1, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_THAT(bench.from_client(stamped), ElementsAre(session.at_server(stamped).out(kServerPort)));
}

TEST(Forward, ABurstKeepsItsOrderAndOpensEachSessionOnce) {
  Bench bench(web(1));
  const Packet syn = ip(kClient, kVip).tcp(40000, 80, kSyn);
  const Packet other = ip(kClient, kVip).tcp(40001, 80, kSyn);
  const auto sent = bench.pass({syn.in(kClientPort), other.in(kClientPort), syn.in(kClientPort)});
  const Packet first = ip(kClient, kServer1).tcp(40000, 8080, kSyn).ttl(63);
  const Packet second = ip(kClient, kServer1).tcp(40001, 8080, kSyn).ttl(63);
  EXPECT_THAT(sent, ElementsAre(first.out(kServerPort), second.out(kServerPort), first.out(kServerPort)));
  EXPECT_EQ(bench.sessions(), 2u);
  EXPECT_EQ(bench.total(1), 2u);
}

TEST(Forward, AClientBehindARouterIsAnsweredThroughIt) {
  Bench bench(web(1));
  bench.from_client(ip("198.51.100.7", kVip).tcp(40000, 80, kSyn).via("10.10.1.1"));
  EXPECT_THAT(
      bench.from_server(ip(kServer1, "198.51.100.7").tcp(8080, 40000, kSyn | kAck)),
      ElementsAre(
          ip(kVip, "198.51.100.7").tcp(80, 40000, kSyn | kAck).ttl(63).via("10.10.1.1").out(kClientPort)));
}

TEST(Forward, ANewRouteIsTakenInTheMiddleOfASession) {
  Bench bench(web(1));
  const auto session = Connection::open(bench, 40000);
  bench.routes(
      {{.prefix = address("10.10.1.0"), .length = 24, .port = 0},
       {.prefix = address("10.10.2.0"), .length = 24, .port = 1, .gateway = address("10.10.2.254")}});
  const Packet data = session.says(kAck, "data");
  EXPECT_THAT(bench.from_client(data),
              ElementsAre(session.at_server(data).via("10.10.2.254").out(kServerPort)));
}

TEST(Forward, WithoutARouteASessionWaitsForOne) {
  Bench bench(web(1));
  const auto session = Connection::open(bench, 40000);
  bench.fates();
  bench.routes({{.prefix = address("10.10.1.0"), .length = 24, .port = 0}});
  EXPECT_THAT(bench.from_client(session.says(kAck, "x")), IsEmpty());
  EXPECT_THAT(bench.from_client(ip(kClient, kVip).tcp(41000, 80, kSyn)), IsEmpty());
  EXPECT_EQ(bench.fates(), (Fates{{Fate::drop_no_route, 2}}));
  EXPECT_EQ(bench.sessions(), 1u);
  bench.routes({{.prefix = address("10.10.0.0"), .length = 16, .port = 1}});
  EXPECT_THAT(bench.from_client(session.says(kAck, "x")),
              ElementsAre(session.at_server(session.says(kAck, "x")).out(kServerPort)));
}

TEST(Forward, WithoutRoomForANeighbourASessionIsRefusedAndTheOthersGoOn) {
  Bench bench(web(1));
  const auto session = Connection::open(bench, 40000);
  bench.fates();
  std::uint32_t host = 0x0a000000;
  const auto claim = [&] { return bench.shared.hops.find_or_claim(0, Ipv4{++host}, bench.now); };
  while (claim() != core::kNoHop) {
  }
  EXPECT_THAT(bench.from_client(ip("10.10.1.77", kVip).tcp(40000, 80, kSyn)), IsEmpty());
  EXPECT_EQ(bench.fates(), (Fates{{Fate::drop_no_neighbour, 1}}));
  EXPECT_EQ(bench.sessions(), 1u);
  EXPECT_EQ(bench.current(1), 1u);
  const Packet data = session.says(kAck, "data");
  EXPECT_THAT(bench.from_client(data), ElementsAre(session.at_server(data).out(kServerPort)));
  EXPECT_EQ(Connection::open(bench, 40001).server_address(), kServer1) << "of a known neighbour";
}

// A binding's slot is given away again when every other has been: to a server elsewhere, under the same
// routes.
TEST(Forward, AServerInAnothersSlotIsReachedAtItsOwnAddress) {
  Bench bench(web(1));
  Connection::open(bench, 40000);
  bench.publish(Site());
  std::size_t cursor = 0, cleared = 0;
  EXPECT_FALSE(bench.worker().clear(cursor, 4096, {}, cleared));
  Site every;
  std::vector<std::uint32_t> reals(1000);
  std::iota(reals.begin(), reals.end(), 1000);
  for (std::uint32_t virt = 2; virt <= 66; ++virt) every.service(virt, 80, 8080, reals);
  reals.resize(core::kMaxBindings - 65 * 1000 - 1);
  every.service(67, 80, 8080, reals).service(68, 80, 8080, {2});
  bench.publish(every);
  bench.admit(2, forwarding::OPEN);
  ASSERT_EQ(bench.generation->layout->services.back().members[0].binding, core::BindingSlot{0});
  const Packet syn = ip(kClient, "10.10.1.167").tcp(40000, 80, kSyn);
  EXPECT_THAT(bench.from_client(syn),
              ElementsAre(ip(kClient, kServer2).tcp(40000, 8080, kSyn).ttl(63).out(2)));
}

TEST(Forward, AnUnknownNeighbourHoldsTheFinishedFrame) {
  Bench bench(web(1));
  bench.know_neighbours = false;
  const Packet syn = ip(kClient, kVip).tcp(40000, 80, kSyn);
  EXPECT_THAT(bench.from_client(syn), IsEmpty());
  ASSERT_EQ(bench.held.size(), 1u);
  Wire expected = ip(kClient, kServer1).tcp(40000, 8080, kSyn).ttl(63).out(kServerPort);
  std::fill_n(bench.held[0].bytes.begin(), 6, std::uint8_t{0});
  std::fill_n(expected.bytes.begin(), 6, std::uint8_t{0});
  EXPECT_EQ(bench.held[0], expected);
  EXPECT_EQ(bench.fates(), (Fates{{Fate::to_real, 1}}));
  bench.know_neighbours = true;
  EXPECT_THAT(bench.from_client(syn),
              ElementsAre(ip(kClient, kServer1).tcp(40000, 8080, kSyn).ttl(63).out(kServerPort)));
}

// ---- What is not forwarded

TEST(Forward, TimeToLiveOfOneEndsHere) {
  Bench bench(web(1));
  EXPECT_EQ(bench.from_client(ip(kClient, kVip).tcp(40000, 80, kSyn).ttl(1)).size(), 1u) << "told so";
  EXPECT_EQ(bench.sessions(), 0u);
  const auto session = Connection::open(bench, 40000);
  bench.fates();
  EXPECT_EQ(bench.from_client(session.says(kAck).ttl(1)).size(), 1u);
  EXPECT_EQ(bench.from_client(session.says(kAck).ttl(0)).size(), 1u);
  EXPECT_THAT(bench.from_server(session.answers(kAck).ttl(1)), IsEmpty()) << "no address to tell it from";
  EXPECT_EQ(bench.fates(), (Fates{{Fate::drop_ttl, 3}}));
  const Packet last = session.says(kAck).ttl(2);
  EXPECT_THAT(bench.from_client(last), ElementsAre(session.at_server(last).out(kServerPort)));
}

TEST(Forward, APacketLargerThanTheWayOutIsDropped) {
  Bench bench(web(1));
  const auto session = Connection::open(bench, 40000);
  bench.shared.set_port(1, mac_of_port(kServerPort), 1400);
  const Packet fits = session.says(kAck, std::string(1360, 'x'));
  const Packet too_big = session.says(kAck, std::string(1361, 'x')).fragmented(kDontFragment);
  EXPECT_THAT(bench.from_client(fits), ElementsAre(session.at_server(fits).out(kServerPort)));
  bench.fates();
  EXPECT_EQ(bench.from_client(too_big).size(), 1u) << "its sender is told";
  EXPECT_EQ(bench.fates(), (Fates{{Fate::drop_too_big, 1}}));
}

TEST(Forward, ASynTooLargeForTheWayOutLeavesNoSession) {
  Bench bench(web(1));
  bench.shared.set_port(1, mac_of_port(kServerPort), 576);
  const Packet syn = ip(kClient, kVip).tcp(40000, 80, kSyn, std::string(1000, 'x'));
  EXPECT_EQ(bench.from_client(syn.fragmented(kDontFragment)).size(), 1u) << "its sender is told";
  EXPECT_EQ(bench.fates(), (Fates{{Fate::drop_too_big, 1}}));
  EXPECT_EQ(bench.sessions(), 0u);
  EXPECT_EQ(bench.total(1), 0u);
}

TEST(Forward, PortsWithoutProcessingBindAndTranslateNothing) {
  Bench bench(web(1).ports(false, true));
  EXPECT_THAT(bench.from_client(ip(kClient, kVip).tcp(40000, 80, kSyn)), IsEmpty());
  EXPECT_EQ(bench.fates(), (Fates{{Fate::drop_client_port, 1}}));

  Bench no_server(web(1).ports(true, false));
  const auto session = Connection::begin(no_server, 40000);
  no_server.fates();
  EXPECT_THAT(no_server.from_server(session.server), IsEmpty());
  EXPECT_THAT(no_server.from_server(ip(kServer1, kClient).tcp(8080, 1, kAck)), IsEmpty());
  EXPECT_EQ(no_server.fates(), (Fates{{Fate::drop_server_port, 2}}));
}

TEST(Forward, ClientAndServerMayShareAPortThatDoesBoth) {
  Site site = web(1);
  site.ports(true, true);
  Bench bench(site);
  bench.from_client(ip(kClient, kVip).tcp(40000, 80, kSyn));
  // Port 2 serves no clients in this site.
  bench.fates();
  EXPECT_THAT(bench.pass(ip(kClient, kVip).tcp(40001, 80, kSyn).in(kServerPort)), IsEmpty());
  EXPECT_EQ(bench.fates(), (Fates{{Fate::drop_client_port, 1}}));
}

TEST(Forward, OnlyASynOpensASession) {
  Bench bench(web(1));
  for (int flags = 1; flags < 64; ++flags) {
    if ((flags & (kSyn | kAck | kRst | kFin)) == kSyn) continue;
    EXPECT_THAT(bench.from_client(ip(kClient, kVip).tcp(40000, 80, static_cast<std::uint8_t>(flags))),
                IsEmpty());
  }
  EXPECT_EQ(bench.fates(),
            (Fates{{Fate::drop_no_session, 11}, {Fate::drop_bad_reset, 32}, {Fate::drop_oos_fin, 16}}));
  EXPECT_EQ(bench.sessions(), 0u);
}

TEST(Forward, NoFlagsAndLandAreDropped) {
  Bench bench(web(1));
  EXPECT_THAT(bench.from_client(ip(kClient, kVip).tcp(40000, 80, 0)), IsEmpty());
  EXPECT_THAT(bench.from_client(ip(kVip, kVip).tcp(80, 80, kSyn)), IsEmpty());
  EXPECT_EQ(bench.fates(), (Fates{{Fate::drop_no_flags, 1}, {Fate::drop_land, 1}}));
}

TEST(Forward, UnknownConnectionOfAServerNeverLeaksItsAddress) {
  Bench bench(web(1));
  EXPECT_THAT(bench.from_server(ip(kServer1, kClient).tcp(8080, 40000, kAck, "late")), IsEmpty());
  EXPECT_EQ(bench.fates(), (Fates{{Fate::drop_no_session, 1}}));
}

TEST(Forward, WhatIsNotForAServiceIsTheKernels) {
  Bench bench(web(1));
  const std::vector<Wire> frames = {ip(kServer1, kClient).tcp(22, 40000, kAck).in(kServerPort),
                                    ip(kClient, "10.10.1.5").tcp(40000, 22, kSyn).in(kClientPort),
                                    ip(kClient, kVip).of_protocol(1).in(kClientPort)};
  EXPECT_THAT(bench.pass(frames), IsEmpty());
  EXPECT_EQ(bench.punted, frames);
  EXPECT_EQ(bench.fates(), (Fates{{Fate::punt, 3}}));
}

TEST(Forward, TaggedAndOtherFramesAreTheKernels) {
  Bench bench(web(1));
  Wire tagged = ip(kClient, kVip).tcp(40000, 80, kSyn).in(kClientPort);
  const Bytes tag = {0x81, 0x00, 0x00, 0x0a};
  tagged.bytes.insert(tagged.bytes.begin() + 12, tag.begin(), tag.end());
  Wire arp{kClientPort, Bytes(60, 0)};
  arp.bytes[12] = 0x08, arp.bytes[13] = 0x06;
  const Wire nearly_nothing{kClientPort, Bytes(13, 0x08)};
  EXPECT_THAT(bench.pass({tagged, arp, nearly_nothing}), IsEmpty());
  EXPECT_EQ(bench.punted, (std::vector<Wire>{tagged, arp, nearly_nothing}));
}

TEST(Forward, DontFragmentIsNoFragment) {
  Bench bench(web(1));
  const auto session = Connection::open(bench, 40000);
  const Packet whole = session.says(kAck, "x").fragmented(0x4000);  // don't fragment
  EXPECT_THAT(bench.from_client(whole), ElementsAre(session.at_server(whole).out(kServerPort)));
}

TEST(Forward, EveryWrongPortOfAVipIsCountedAndOnlyTheRightOneOpens) {
  Bench bench(web(1));
  std::vector<Wire> frames;
  for (unsigned vport = 0; vport < 65536; ++vport) {
    frames.push_back(ip(kClient, kVip).tcp(40000, static_cast<std::uint16_t>(vport), kSyn).in(kClientPort));
  }
  EXPECT_EQ(bench.pass(frames).size(), 1u);
  EXPECT_EQ(bench.fates(), (Fates{{Fate::drop_no_vport, 65535}, {Fate::to_real, 1}}));
}

TEST(Forward, UdpForAVipWithoutServiceIsNotTheKernels) {
  Bench bench(web(1));
  EXPECT_THAT(bench.from_client(ip(kClient, kVip).udp(40000, 80, "?")), IsEmpty());
  EXPECT_EQ(bench.fates(), (Fates{{Fate::drop_no_vport, 1}}));
}

// ---- Lengths that lie

TEST(Forward, EveryTruncationOfAGoodPacketIsDroppedOrTheKernels) {
  Bench bench(web(1));
  const Bytes whole =
      ip(kClient, kVip).tcp(40000, 80, kSyn, "data").with_options({2, 4, 5, 0xb4}).in(1).bytes;
  for (std::size_t length = 0; length < whole.size(); ++length) {
    Wire cut{kClientPort, Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length))};
    EXPECT_THAT(bench.pass(cut), IsEmpty());
    EXPECT_EQ(bench.fated[0], length < 14 ? Fate::punt : Fate::drop_truncated) << length;
  }
  EXPECT_EQ(bench.sessions(), 0u);
}

TEST(Forward, ImpossibleHeadersAreDropped) {
  Bench bench(web(1));
  const Wire good = ip(kClient, kVip).tcp(40000, 80, kSyn).in(kClientPort);
  const auto with = [&](std::size_t at, std::uint8_t value) {
    Wire bad = good;
    bad.bytes[at] = value;
    return bad;
  };
  EXPECT_THAT(bench.pass({with(14, 0x44), with(14, 0x65), with(14, 0x05)}), IsEmpty());
  EXPECT_EQ(bench.fates(), (Fates{{Fate::drop_bad_header, 3}}));
  EXPECT_THAT(bench.pass({with(14, 0x4f), with(17, 200)}), IsEmpty());
  EXPECT_EQ(bench.fates(), (Fates{{Fate::drop_bad_header, 1}, {Fate::drop_truncated, 1}}));
  EXPECT_THAT(bench.pass({with(24, 0xaa), with(25, 0x55), with(22, 63)}), IsEmpty());
  EXPECT_EQ(bench.fates(), (Fates{{Fate::drop_bad_checksum, 3}}));
  EXPECT_THAT(bench.pass({with(46, 0x40), with(46, 0x00), with(46, 0x60), with(46, 0xf0)}), IsEmpty());
  EXPECT_EQ(bench.fates(), (Fates{{Fate::drop_bad_header, 2}, {Fate::drop_truncated, 2}}));
  EXPECT_EQ(bench.sessions(), 0u);
}

}  // namespace
}  // namespace headgate::testing
