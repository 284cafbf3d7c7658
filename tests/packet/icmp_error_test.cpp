// SPDX-License-Identifier: Apache-2.0
// ICMP errors about packets of sessions, and those that the switch makes itself (reports 77, 78, 85; RFC 792,
// 1191, 1812, 4443, 5508).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/packet/beds.h"

namespace headgate::testing {
namespace {

using core::Fate;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class IcmpErrorTest : public ::testing::TestWithParam<const Bed*> {
 protected:
  IcmpErrorTest() {
    core::PortAddresses addresses;
    (bed.v6 ? addresses.v6 : addresses.v4)[0] = host(bed.client_side);
    (bed.v6 ? addresses.v6 : addresses.v4)[1] = host(bed.server_side);
    bench.addresses(addresses);
  }
  /// The four forms of one session's packets.
  [[nodiscard]] Packet query() const { return ip(bed.client, bed.vip).udp(40000, 53, "query"); }
  [[nodiscard]] Packet query_at_server() const {
    return ip(bed.client, bed.server).udp(40000, 5353, "query").ttl(63);
  }
  [[nodiscard]] Packet answer() const { return ip(bed.server, bed.client).udp(5353, 40000, "answer"); }
  [[nodiscard]] Packet answer_at_client() const {
    return ip(bed.vip, bed.client).udp(53, 40000, "answer").ttl(63);
  }
  /// After one query and its answer.
  void open() {
    bench.from_client(query());
    bench.from_server(answer());
    bench.fates();
  }
  [[nodiscard]] Packet too_big(std::string_view from, std::string_view to) const {
    return ip(from, to).icmp(bed.too_big, bed.too_big_code, 1400);
  }

  const Bed& bed = *GetParam();
  Bench bench{dns(bed, 2)};
};
INSTANTIATE_TEST_SUITE_P(Families, IcmpErrorTest, ::testing::Values(&kBed4, &kBed6), family_name);

TEST_P(IcmpErrorTest, OfTheServerReachesTheClientFromTheVip) {
  open();
  const Packet error = ip(bed.server, bed.client).icmp(bed.unreachable, bed.port_unreachable);
  const Packet expected = ip(bed.vip, bed.client).icmp(bed.unreachable, bed.port_unreachable).ttl(63);
  // The quoted packet has the hop count that it had on its way.
  EXPECT_THAT(bench.from_server(error.about(query_at_server())),
              ElementsAre(expected.about(query().ttl(63)).out(kClientPort)));
  EXPECT_EQ(bench.fates(), (Fates{{Fate::error_to_client, 1}}));
}

TEST_P(IcmpErrorTest, OfARouterBeforeTheServerReachesTheClientFromTheVip) {
  open();
  const Packet error = too_big(bed.router, bed.client).about(query_at_server(), 20);
  EXPECT_THAT(bench.from_server(error),
              ElementsAre(too_big(bed.vip, bed.client).about(query().ttl(63), 20).ttl(63).out(kClientPort)));
}

TEST_P(IcmpErrorTest, OfTheClientOrARouterBeforeItReachesTheServer) {
  open();
  for (const std::string_view from : {bed.client, bed.client_side}) {
    const Packet error = too_big(from, bed.vip).about(answer_at_client(), 8);
    const Packet expected = too_big(from, bed.server).about(answer().ttl(63), 8).ttl(63);
    EXPECT_THAT(bench.from_client(error), ElementsAre(expected.out(kServerPort)));
  }
  EXPECT_EQ(bench.fates(), (Fates{{Fate::error_to_real, 2}}));
}

TEST_P(IcmpErrorTest, FindsTheVeryServerOfEachSession) {
  for (std::uint16_t port = 40000; port < 40010; ++port) {
    const auto sent = bench.from_client(ip(bed.client, bed.vip).udp(port, 53, "query"));
    ASSERT_EQ(sent.size(), 1u);
    const auto query_sent = decode(sent[0].bytes);
    ASSERT_TRUE(query_sent);
    const Ip server = query_sent->destination;
    const Packet reply = ip(host(bed.vip), host(bed.client)).udp(53, port, "answer");
    const Packet untranslated = ip(server, host(bed.client)).udp(5353, port, "answer");
    const Packet error = ip(host(bed.client), server).icmp(bed.unreachable, bed.port_unreachable).ttl(63);
    EXPECT_THAT(
        bench.from_client(ip(bed.client, bed.vip).icmp(bed.unreachable, bed.port_unreachable).about(reply)),
        ElementsAre(error.about(untranslated).out(kServerPort)));
  }
}

TEST_P(IcmpErrorTest, ChangesNothingOfTheSession) {
  bench.from_client(ip(bed.client, bed.vip).tcp(40000, 80, kSyn));
  bench.from_server(ip(bed.server, bed.client).tcp(8080, 40000, kSyn | kAck));
  bench.from_client(ip(bed.client, bed.vip).tcp(40000, 80, kAck));
  const auto before = bench.states();
  const Packet sent = ip(bed.client, bed.server).tcp(40000, 8080, kAck, "data");
  for (std::uint8_t code = 0; code < 16; ++code) {
    bench.from_server(ip(bed.server, bed.client).icmp(bed.unreachable, code).about(sent, 20));
  }
  EXPECT_EQ(bench.fates()[Fate::error_to_client], 16u);
  EXPECT_EQ(bench.states(), before);
  bench.wait(601);
  bench.from_server(ip(bed.server, bed.client).icmp(bed.unreachable, 1).about(sent, 20));
  bench.sweep();
  EXPECT_EQ(bench.sessions(), 0u) << "nor does it keep one alive";
}

TEST_P(IcmpErrorTest, AboutNoSessionIsCountedAndGoesNowhere) {
  const Packet stranger = ip(bed.vip, bed.client).udp(53, 50000, "x");
  EXPECT_THAT(bench.from_client(ip(bed.client, bed.vip).icmp(bed.unreachable, 3).about(stranger)), IsEmpty());
  const Packet other = ip(bed.client, bed.server).udp(50000, 5353, "x");
  EXPECT_THAT(bench.from_server(ip(bed.server, bed.client).icmp(bed.unreachable, 3).about(other)), IsEmpty());
  EXPECT_EQ(bench.fates(), (Fates{{Fate::drop_error_no_session, 2}}));
}

TEST_P(IcmpErrorTest, ThatLiesIsCountedAndGoesNowhere) {
  open();
  const Packet good = ip(bed.server, bed.client).icmp(bed.unreachable, 3).about(query_at_server());
  EXPECT_THAT(bench.from_server(good.with_checksum(0x1234)), IsEmpty());
  EXPECT_THAT(
      bench.from_server(ip(bed.server, bed.client).icmp(bed.unreachable, 3).about(query_at_server(), 7)),
      IsEmpty());
  EXPECT_THAT(bench.from_client(ip(bed.client, bed.vip).icmp(bed.unreachable, 3).about(answer())), IsEmpty());
  EXPECT_EQ(bench.fates(), (Fates{{Fate::drop_error_bad, 3}}));
}

TEST_P(IcmpErrorTest, AboutOtherThingsIsTheKernels) {
  const Packet ping = ip(bed.vip, bed.client).icmp(bed.echo, 0, 1, "ping");
  EXPECT_THAT(bench.from_client(ip(bed.client, bed.vip).icmp(bed.unreachable, 1).about(ping)), IsEmpty());
  const Packet probe = ip(bed.server_side, bed.router).tcp(40000, 80, kSyn);
  EXPECT_THAT(bench.from_server(ip(bed.router, bed.server_side).icmp(bed.unreachable, 1).about(probe)),
              IsEmpty());
  EXPECT_EQ(bench.fates(), (Fates{{Fate::punt, 2}}));
}

TEST_P(IcmpErrorTest, BelongsToTheOwnerOfItsSessionAmongManyWorkers) {
  Bench many(dns(bed), {.workers = 8});
  for (std::uint16_t port = 40000; port < 40050; ++port) {
    many.from_client(ip(bed.client, bed.vip).udp(port, 53, "query"));
    const Packet sent = ip(bed.client, bed.server).udp(port, 5353, "query");
    many.from_server(ip(bed.server, bed.client).icmp(bed.unreachable, 3).about(sent));
    const Packet reply = ip(bed.vip, bed.client).udp(53, port, "answer");
    many.from_client(ip(bed.client, bed.vip).icmp(bed.unreachable, 3).about(reply));
  }
  EXPECT_EQ(many.fates(),
            (Fates{{Fate::to_real, 50}, {Fate::error_to_client, 50}, {Fate::error_to_real, 50}}));
}

// ---- The switch's own

TEST_P(IcmpErrorTest, WhereTheHopsRunOutTheSenderIsTold) {
  open();
  const Packet last = query().ttl(1);
  EXPECT_THAT(
      bench.from_client(last),
      ElementsAre(
          bed.own(ip(bed.vip, bed.client).icmp(bed.time_exceeded, 0).about(last, 99)).out(kClientPort)))
      << "from the VIP to who sent to it";
  const Packet servers = answer().ttl(1);
  EXPECT_THAT(
      bench.from_server(servers),
      ElementsAre(bed.own(ip(bed.server_side, bed.server).icmp(bed.time_exceeded, 0).about(servers, 99))
                      .out(kServerPort)))
      << "from the port to the server";
  EXPECT_EQ(bench.fates(), (Fates{{Fate::drop_ttl, 2}}));
  EXPECT_EQ(bench.worker().errors_built(), 2u);
}

TEST_P(IcmpErrorTest, WhatIsTooLargeForTheWayOutIsToldWithItsMtu) {
  open();
  bench.shared.set_port(1, mac_of_port(kServerPort), 1400);
  Packet large = ip(bed.client, bed.vip).udp(40000, 53, text(1420));
  if (!bed.v6) large = large.fragmented(kDontFragment);
  const std::size_t quoted = bed.v6 ? 1280 - 48 - 40 : 576 - 28 - 20;
  const Packet error = too_big(bed.vip, bed.client).about(large, quoted);
  EXPECT_THAT(bench.from_client(large), ElementsAre(bed.own(error).out(kClientPort)));
  EXPECT_EQ(bench.fates(), (Fates{{Fate::drop_too_big, 1}}));

  bench.shared.set_port(0, mac_of_port(kClientPort), 1300);
  Packet answered = ip(bed.server, bed.client).udp(5353, 40000, text(1300));
  if (!bed.v6) answered = answered.fragmented(kDontFragment);
  const Packet to_server = ip(bed.server_side, bed.server).icmp(bed.too_big, bed.too_big_code, 1300);
  EXPECT_THAT(bench.from_server(answered),
              ElementsAre(bed.own(to_server.about(answered, quoted)).out(kServerPort)));
}

TEST_P(IcmpErrorTest, ADatagramForAServiceWithoutServersIsAnswered) {
  bench.admit(bed.udp_target(1), forwarding::CLOSED);
  bench.admit(bed.udp_target(2), forwarding::CLOSED);
  const Packet error = ip(bed.vip, bed.client).icmp(bed.unreachable, bed.port_unreachable);
  EXPECT_THAT(bench.from_client(query()), ElementsAre(bed.own(error.about(query(), 99)).out(kClientPort)));
  EXPECT_EQ(bench.fates(), (Fates{{Fate::drop_no_real, 1}}));
}

TEST_P(IcmpErrorTest, AnUnknownPortIsAnsweredOnlyWhenTheSettingSaysSo) {
  const Packet lost = ip(bed.client, bed.vip).udp(40000, 54, "x");
  EXPECT_THAT(bench.from_client(lost), IsEmpty());
  bench.shared.answer_closed_ports = true;
  const Packet error = ip(bed.vip, bed.client).icmp(bed.unreachable, bed.port_unreachable);
  EXPECT_THAT(bench.from_client(lost), ElementsAre(bed.own(error.about(lost, 99)).out(kClientPort)));
  EXPECT_THAT(bench.from_client(ip(bed.client, bed.vip).tcp(40000, 81, kSyn)), IsEmpty())
      << "TCP stays silent";
  EXPECT_EQ(bench.fates(), (Fates{{Fate::drop_no_vport, 3}}));
}

TEST_P(IcmpErrorTest, NeverAnswersAnErrorOrALaterFragment) {
  open();
  const Packet error = ip(bed.server, bed.client).icmp(bed.unreachable, 3).about(query_at_server());
  EXPECT_THAT(bench.from_server(error.ttl(1)), IsEmpty());
  const auto pieces = ip(bed.client, bed.vip).udp(40000, 53, text(2000)).fragments(1400, 1);
  EXPECT_EQ(bench.from_client(pieces[0]).size(), 1u);
  EXPECT_THAT(bench.from_client(pieces[1].ttl(1)), IsEmpty());
  EXPECT_EQ(bench.worker().errors_built(), 0u);
  EXPECT_EQ(bench.fates()[Fate::drop_ttl], 2u);
}

TEST_P(IcmpErrorTest, AnswersAreLimitedByKindAndCounted) {
  bench.admit(bed.udp_target(1), forwarding::CLOSED);
  bench.admit(bed.udp_target(2), forwarding::CLOSED);
  std::size_t answers = 0;
  for (int i = 0; i < 1000; ++i) answers += bench.from_client(query()).size();
  EXPECT_EQ(answers, core::AnswerLimits::kBurst);
  EXPECT_EQ(bench.worker().errors_withheld(), 1000 - core::AnswerLimits::kBurst);
  EXPECT_EQ(bench.from_client(query().ttl(1)).size(), 1u) << "another kind has its own limit";
  bench.wait(1);
  EXPECT_EQ(bench.from_client(query()).size(), 1u);
}

}  // namespace
}  // namespace headgate::testing
