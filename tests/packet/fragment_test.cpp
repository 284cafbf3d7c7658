// SPDX-License-Identifier: Apache-2.0
// Fragments through the switch: each reaches its session's end, whatever the order, in both directions and
// families (reports 79-81; RFC 791, RFC 8200, 4.5).
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/packet/beds.h"

namespace headgate::testing {
namespace {

using core::Fate;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::size_t kPiece = 1400;

class FragmentTest : public ::testing::TestWithParam<const Bed*> {
 protected:
  [[nodiscard]] Packet query(std::uint16_t port = 40000) const {
    return ip(bed.client, bed.vip).udp(port, 53, text(4000));
  }
  /// As the server receives it.
  [[nodiscard]] Packet at_server(const Packet& packet) const {
    Packet out = packet.ttl(static_cast<std::uint8_t>(packet.time_to_live - 1));
    out.destination = host(bed.server);
    out.destination_port = 5353;
    return out;
  }
  static std::vector<Wire> out(const std::vector<Packet>& packets, unsigned port) {
    std::vector<Wire> frames;
    for (const Packet& packet : packets) frames.push_back(packet.out(port));
    return frames;
  }
  static std::vector<Packet> ordered(const std::vector<Packet>& pieces,
                                     const std::vector<std::size_t>& order) {
    std::vector<Packet> out;
    for (const std::size_t at : order) out.push_back(pieces[at]);
    return out;
  }

  const Bed& bed = *GetParam();
  Bench bench{dns(bed)};
};
INSTANTIATE_TEST_SUITE_P(Families, FragmentTest, ::testing::Values(&kBed4, &kBed6), family_name);

// reference 2.4: frag dis
TEST_P(FragmentTest, AServiceWithoutFragmentsDropsThemAndOpensNoSession) {
  Site site = dns(bed);
  site.edit().mutable_service(0)->set_drop_fragments(true);
  Bench strict(site);
  for (const Packet& piece : query().fragments(kPiece, 1)) EXPECT_THAT(strict.from_client(piece), IsEmpty());
  EXPECT_EQ(strict.sessions(), 0u);
  EXPECT_EQ(strict.fates(), (Fates{{Fate::drop_fragment, 1}, {Fate::drop_no_session, 2}}));
  EXPECT_EQ(strict.from_client(ip(bed.client, bed.vip).udp(40000, 53, "whole")).size(), 1u);
  for (const Packet& piece : query().fragments(kPiece, 2)) EXPECT_THAT(strict.from_client(piece), IsEmpty());
  EXPECT_EQ(strict.fates(), (Fates{{Fate::to_real, 1}, {Fate::drop_fragment, 3}}));
}

TEST_P(FragmentTest, InEveryOrderAllReachTheOneServerAfterTheFirst) {
  std::vector<std::size_t> order = {0, 1, 2};
  std::uint32_t id = 1;
  do {
    const auto pieces = query().fragments(kPiece, id);
    const auto translated = at_server(query()).fragments(kPiece, id++);
    ASSERT_EQ(pieces.size(), 3u);
    // The first goes ahead, those that were parked follow it, then what comes later.
    std::vector<std::size_t> expected(order);
    const auto first = std::ranges::find(expected, 0u);
    std::rotate(expected.begin(), first, first + 1);
    std::vector<Wire> sent;
    for (const Packet& piece : ordered(pieces, order)) {
      for (Wire& frame : bench.from_client(piece)) sent.push_back(std::move(frame));
    }
    EXPECT_EQ(sent, out(ordered(translated, expected), kServerPort));
  } while (std::ranges::next_permutation(order).found);
  EXPECT_EQ(bench.fates(), (Fates{{Fate::to_real, 18}}));
  EXPECT_EQ(bench.worker().fragments().current(), 0u);
  EXPECT_EQ(bench.worker().fragments().totals().datagrams.get(), 6u);
  EXPECT_EQ(bench.sessions(), 1u);
}

TEST_P(FragmentTest, TheServersAnswerIsTranslatedToo) {
  bench.from_client(ip(bed.client, bed.vip).udp(40000, 53, "query"));
  const Packet answer = ip(bed.server, bed.client).udp(5353, 40000, text(4000));
  Packet expected = answer.ttl(63);
  expected.source = host(bed.vip), expected.source_port = 53;
  const auto pieces = answer.fragments(kPiece, 9);
  std::vector<Wire> sent = bench.from_server(pieces[2]);
  EXPECT_THAT(sent, IsEmpty()) << "waits";
  sent = bench.from_server({pieces[1], pieces[0]});
  EXPECT_EQ(sent, out(ordered(expected.fragments(kPiece, 9), {0, 2, 1}), kClientPort));
}

TEST_P(FragmentTest, DuplicatesAreDroppedAndTheDatagramArrivesWhole) {
  const auto pieces = query().fragments(kPiece, 7);
  const auto translated = at_server(query()).fragments(kPiece, 7);
  EXPECT_EQ(bench.from_client({pieces[0], pieces[0], pieces[1], pieces[1], pieces[2]}),
            out(translated, kServerPort));
  EXPECT_EQ(bench.fates(), (Fates{{Fate::to_real, 3}, {Fate::drop_fragment, 2}}));
}

TEST_P(FragmentTest, WithoutTheirFirstTheyWaitASecondAndAreDropped) {
  const auto pieces = query().fragments(kPiece, 7);
  EXPECT_THAT(bench.from_client({pieces[2], pieces[1]}), IsEmpty());
  EXPECT_EQ(bench.fates(), Fates{}) << "who waits has no fate yet";
  EXPECT_EQ(bench.parked(), 2u);
  bench.wait(1);
  bench.release_impatient();
  EXPECT_EQ(bench.fates(), (Fates{{Fate::drop_fragment_early, 2}}));
  EXPECT_EQ(bench.parked(), 0u);
  bench.wait(6);
  bench.sweep();
  EXPECT_EQ(bench.worker().fragments().current(), 0u);
}

TEST_P(FragmentTest, WhatWaitedForAVipThatWentIsTheKernelsAndWaitsNoLonger) {
  for (std::uint32_t id = 0; id < core::Fragments::kMostParked; ++id)
    bench.from_client(query().fragments(kPiece, id)[1]);
  bench.publish(Site());
  bench.wait(1);
  bench.release_impatient();
  EXPECT_EQ(bench.fates(), (Fates{{Fate::punt, core::Fragments::kMostParked}}));
  EXPECT_EQ(bench.worker().fragments().parked(), 0u);
  bench.publish(dns(bed));
  bench.from_client(query().fragments(kPiece, 1000)[1]);
  EXPECT_EQ(bench.parked(), 1u) << "there is room again";
}

TEST_P(FragmentTest, OverlappingOnesAreRefusedWithAllOfTheirDatagram) {
  const auto pieces = query().fragments(kPiece, 7);
  Packet teardrop = pieces[1];
  teardrop.fragment = static_cast<std::uint16_t>((teardrop.fragment & ~0x1fff) | (kPiece - 8) / 8);
  bench.from_client(pieces[0]);
  EXPECT_THAT(bench.from_client({teardrop, pieces[1], pieces[2]}), IsEmpty());
  EXPECT_EQ(bench.fates(),
            (Fates{{Fate::to_real, 1}, {Fate::drop_fragment_overlap, 1}, {Fate::drop_fragment, 2}}));
}

TEST_P(FragmentTest, ATinyFirstOfTcpIsRefused) {
  const Packet syn = ip(bed.client, bed.vip).tcp(40000, 80, kSyn);
  const auto pieces = syn.fragments(8, 3);
  EXPECT_THAT(bench.from_client({pieces[0], pieces[1], pieces[2]}), IsEmpty());
  EXPECT_EQ(bench.fates()[Fate::drop_fragment_tiny], 3u) << "flags in a fragment of their own";
  EXPECT_EQ(bench.sessions(), 0u);
}

TEST_P(FragmentTest, ASynInTwoFragmentsOpensASession) {
  const Packet syn = ip(bed.client, bed.vip).tcp(40000, 80, kSyn).with_options(Bytes(20, 1));
  Packet expected = syn.ttl(63);
  expected.destination = host(bed.server), expected.destination_port = 8080;
  EXPECT_EQ(bench.from_client(syn.fragments(24, 3)), out(expected.fragments(24, 3), kServerPort));
  EXPECT_EQ(bench.sessions(), 1u);
}

TEST_P(FragmentTest, LaterOnesOfNoSessionOpenNone) {
  bench.admit(bed.udp_target(1), forwarding::CLOSED);
  bench.admit(bed.udp_target(2), forwarding::CLOSED);
  const auto pieces = query().fragments(kPiece, 7);
  bench.from_client(pieces);
  EXPECT_EQ(bench.fates(), (Fates{{Fate::drop_no_real, 1}, {Fate::drop_no_session, 2}}));
  EXPECT_EQ(bench.sessions(), 0u);
}

TEST_P(FragmentTest, OthersAreTheKernels) {
  const auto ping = ip(bed.client, bed.vip).icmp(bed.echo, 0, 7, text(4000)).fragments(kPiece, 5);
  EXPECT_THAT(bench.from_client(ping), IsEmpty());
  EXPECT_EQ(bench.fates(), (Fates{{Fate::punt, 3}})) << "an echo request of any size (report 82)";
  const auto foreign = ip(bed.client, bed.router).udp(40000, 53, text(4000)).fragments(kPiece, 5);
  EXPECT_THAT(bench.from_client(foreign), IsEmpty());
  EXPECT_EQ(bench.fates(), (Fates{{Fate::punt, 3}}));
}

TEST_P(FragmentTest, AFloodOf64KiNumbersStopsNeitherOtherPacketsNorWholeDatagrams) {
  const Packet query_once = ip(bed.client, bed.vip).udp(41000, 53, "query");
  for (std::uint32_t id = 0; id < 65536; ++id) {
    std::vector<Packet> burst = {query().fragments(kPiece, id)[1 + id % 2]};
    if (id % 4096 == 0) {
      const auto whole = query(42000).fragments(kPiece, 100'000 + id);
      burst.push_back(query_once);
      burst.insert(burst.end(), whole.begin(), whole.end());
      EXPECT_EQ(bench.from_client(burst).size(), 4u) << id;
    } else {
      EXPECT_THAT(bench.from_client(burst), IsEmpty());
    }
  }
  const auto& table = bench.worker().fragments();
  EXPECT_LE(table.current(), core::Fragments::kDatagrams);
  EXPECT_LE(bench.parked(), core::Fragments::kMostParked);
  EXPECT_GT(table.totals().pushed_out.get(), 0u);
}

TEST_P(FragmentTest, WithManyWorkersAllOfADatagramMeetAndReachTheOwnerOfItsSession) {
  Bench many(dns(bed), {.workers = 8});
  for (std::uint16_t port = 40000; port < 40100; ++port) {
    const auto pieces = query(port).fragments(kPiece, port);
    const auto sent = many.from_client({pieces[2], pieces[0], pieces[1]});
    EXPECT_EQ(sent, out(ordered(at_server(query(port)).fragments(kPiece, port), {0, 1, 2}), kServerPort))
        << port;
    const Packet answer = ip(bed.server, bed.client).udp(5353, port, text(3000));
    EXPECT_EQ(many.from_server(answer.fragments(kPiece, port)).size(), 3u);
  }
  EXPECT_EQ(many.sessions(), 100u);
  EXPECT_EQ(many.fates(), (Fates{{Fate::to_real, 300}, {Fate::to_client, 300}}));
}

// ---- What is too large for the way out

TEST(Cutting, AnIpv4PacketThatMayBeCutGoesOnInFragments) {
  Bench bench(dns(kBed4));
  bench.shared.set_port(1, mac_of_port(kServerPort), 1400);
  const Packet query = ip(kBed4.client, kBed4.vip).udp(40000, 53, text(1470)).id(77);
  const Packet expected = ip(kBed4.client, kBed4.server).udp(40000, 5353, text(1470)).ttl(63);
  const auto pieces = expected.fragments(1376, 77);
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_THAT(bench.from_client(query), ElementsAre(pieces[0].out(kServerPort), pieces[1].out(kServerPort)));
  EXPECT_EQ(bench.fates(), (Fates{{Fate::to_real, 1}}));
}

TEST(Cutting, FragmentsAreCutAgain) {
  Bench bench(dns(kBed4));
  bench.shared.set_port(1, mac_of_port(kServerPort), 1400);
  const Packet query = ip(kBed4.client, kBed4.vip).udp(40000, 53, text(2900));
  const auto sent = bench.from_client(query.fragments(kPiece, 5));
  EXPECT_EQ(sent.size(), 5u);
  std::size_t data = 0;
  for (const Wire& frame : sent) {
    EXPECT_LE(frame.bytes.size(), 1414u);
    data += frame.bytes.size() - 34;
  }
  EXPECT_EQ(data, 2908u);
}

}  // namespace
}  // namespace headgate::testing
