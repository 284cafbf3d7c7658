// SPDX-License-Identifier: Apache-2.0
// How sessions end: resets that the switch sends when their time is over (clsrst), and those of others that
// it believes or not (rstchk).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/packet/beds.h"
#include "tests/packet/reaches.h"

namespace headgate::testing {
namespace {

using core::Fate;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class EndingTest : public ::testing::TestWithParam<const Bed*> {
 protected:
  struct Rules {
    bool check_resets = false;
    bool reset_on_expiry = false;
  };
  [[nodiscard]] Site site(Rules rules) const {
    Site made = dns(bed);
    made.edit().mutable_settings()->set_check_resets(rules.check_resets);
    for (auto& service : *made.edit().mutable_service())
      service.set_reset_on_expiry(rules.reset_on_expiry && service.protocol() == kTcp);
    return made;
  }
  [[nodiscard]] Connection open(Bench& bench) const {
    return Connection::open(bench, 40000, bed.client, bed.vip);
  }
  [[nodiscard]] Connection begin(Bench& bench) const {
    return Connection::begin(bench, 40000, bed.client, bed.vip);
  }
  /// The client has sent up to 1111, of which 1101 is acknowledged; the server up to 5071, and 5051.
  static void talk(Bench& bench, const Connection& session) {
    const std::string hundred(100, 'q'), fifty(50, 'a'), ten(10, 'Q'), twenty(20, 'A');
    reaches_server(bench, session, session.says(kAck, hundred));
    reaches_client(bench, session, session.answers(kAck, fifty).ack(1101));
    reaches_server(bench, session, session.says(kAck, ten).seq(1101).ack(5051));
    reaches_client(bench, session, session.answers(kAck, twenty).seq(5051).ack(1101));
  }
  static void let_expire(Bench& bench) {
    bench.wait(601);
    EXPECT_EQ(bench.sweep(), 1u);
    EXPECT_EQ(bench.sessions(), 0u);
  }
  /// The switch's resets to both ends, by what each has of the other's numbers.
  static auto to_both(const Connection& session, std::uint32_t client_acked, std::uint32_t server_acked) {
    const Packet to_client = session.client.reply(kRst | kAck).seq(server_acked).ack(client_acked);
    const Packet to_server = session.server.reply(kRst | kAck).seq(client_acked).ack(server_acked);
    return ElementsAre(reset(to_client).out(kClientPort), reset(to_server).out(kServerPort));
  }

  const Bed& bed = *GetParam();
};
INSTANTIATE_TEST_SUITE_P(Families, EndingTest, ::testing::Values(&kBed4, &kBed6), family_name);

// ---- clsrst

TEST_P(EndingTest, AnIdleSessionTellsBothEndsWithTheNumbersTheyExpect) {
  Bench bench(site({.reset_on_expiry = true}));
  const auto session = open(bench);
  talk(bench, session);
  bench.wait(600);
  EXPECT_EQ(bench.sweep(), 0u);
  EXPECT_THAT(bench.told, IsEmpty());
  bench.wait(1);
  EXPECT_EQ(bench.sweep(), 1u);
  EXPECT_THAT(bench.told, to_both(session, 1101, 5051));
  EXPECT_EQ(bench.stats().resets_built(), 2u);
}

TEST_P(EndingTest, AnIdleHalfClosedSessionTellsBothEnds) {
  Bench bench(site({.reset_on_expiry = true}));
  const auto session = open(bench);
  reaches_server(bench, session, session.says(kFin | kAck));
  reaches_client(bench, session, session.answers(kAck).ack(1002));
  ASSERT_THAT(bench.states(), ElementsAre("half-closed"));
  let_expire(bench);
  EXPECT_THAT(bench.told, to_both(session, 1002, 5001));
}

TEST_P(EndingTest, AnIdleSessionWhoseLastFinNobodyAcknowledgedTellsBothEnds) {
  Bench bench(site({.reset_on_expiry = true}));
  const auto session = open(bench);
  reaches_server(bench, session, session.says(kFin | kAck));
  reaches_client(bench, session, session.answers(kFin | kAck).ack(1002));
  ASSERT_THAT(bench.states(), ElementsAre("closing"));
  let_expire(bench);
  EXPECT_THAT(bench.told, to_both(session, 1002, 5001));
}

TEST_P(EndingTest, ASessionInItsHandshakeOrAfterItsEndTellsNobody) {
  for (const bool answered : {false, true}) {
    Bench bench(site({.reset_on_expiry = true}));
    const auto session = begin(bench);
    if (answered) reaches_client(bench, session, session.server.seq(5000).ack(1001));
    ASSERT_THAT(bench.states(), ElementsAre("syn"));
    let_expire(bench);
    EXPECT_THAT(bench.told, IsEmpty()) << answered;
  }
  Bench bench(site({.reset_on_expiry = true}));
  const auto session = open(bench);
  reaches_server(bench, session, session.says(kRst));
  ASSERT_THAT(bench.states(), ElementsAre("closed"));
  let_expire(bench);
  EXPECT_THAT(bench.told, IsEmpty());
  EXPECT_EQ(bench.stats().resets_built(), 0u);
}

TEST_P(EndingTest, WithoutTheOptionASessionEndsInSilence) {
  Bench bench(site({.reset_on_expiry = false}));
  talk(bench, open(bench));
  let_expire(bench);
  EXPECT_THAT(bench.told, IsEmpty());
  EXPECT_EQ(bench.stats().resets_built(), 0u);
}

TEST_P(EndingTest, ADatagramsSessionHasNobodyToTell) {
  Site both = site({});
  for (auto& service : *both.edit().mutable_service()) service.set_reset_on_expiry(true);
  Bench bench(both);
  EXPECT_EQ(bench.from_client(ip(bed.client, bed.vip).udp(40000, 53, "query")).size(), 1u);
  EXPECT_EQ(bench.from_server(ip(bed.server, bed.client).udp(5353, 40000, "answer")).size(), 1u);
  let_expire(bench);
  EXPECT_THAT(bench.told, IsEmpty());
}

// ---- Of a server that failed

TEST_P(EndingTest, ASegmentThatComesAgainTellsTheOtherEndWithTheNumberItExpects) {
  const std::string hundred(100, 'q'), fifty(50, 'a');
  {
    Bench bench(site({}));
    const auto session = open(bench);
    talk(bench, session);
    bench.admit(1, forwarding::CLOSED);
    const Packet again = session.answers(kAck, fifty).ack(1101);
    const Packet to_client = session.client.reply(kRst | kAck).seq(5071).ack(1101);
    EXPECT_THAT(bench.from_server(again),
                UnorderedElementsAre(reset(to_client).out(kClientPort),
                                     reset(again.reply(kRst).seq(1101)).out(kServerPort)));
  }
  Bench bench(site({}));
  const auto session = open(bench);
  talk(bench, session);
  bench.admit(1, forwarding::CLOSED);
  const Packet again = session.says(kAck, hundred).ack(5051);
  const Packet to_server = session.server.reply(kRst | kAck).seq(1111).ack(5051);
  EXPECT_THAT(bench.from_client(again),
              UnorderedElementsAre(reset(again.reply(kRst).seq(5051)).out(kClientPort),
                                   reset(to_server).out(kServerPort)));
}

TEST_P(EndingTest, AClientIsToldThoughThereIsNoWayToItsServerAnyMore) {
  Bench bench(site({}));
  const auto session = open(bench);
  std::vector<core::Route> routes = Bench::connected();
  std::erase_if(routes, [](const core::Route& route) { return route.port != 0 || route.length == 0; });
  bench.routes(routes);
  bench.admit(1, forwarding::CLOSED);
  const Packet data = session.answers(kAck, "data");
  EXPECT_THAT(
      bench.from_server(data),
      UnorderedElementsAre(reset(session.at_client(session.answers(kRst | kAck)).ttl(64)).out(kClientPort),
                           reset(data.reply(kRst).seq(1001)).out(kServerPort)));
}

// ---- rstchk

TEST_P(EndingTest, AResetOutsideOfItsWindowIsDroppedAndCountedAndChangesNothing) {
  Bench bench(site({.check_resets = true}));
  const auto session = open(bench);
  talk(bench, session);
  bench.fates();
  for (const std::uint32_t sequence : {1100u, 1111u + 65536, 1101u + (1u << 31), 0u})
    EXPECT_THAT(bench.from_client(session.says(kRst).seq(sequence)), IsEmpty()) << sequence;
  for (const std::uint32_t sequence : {5050u, 5071u + 65536, 5051u + (1u << 31), 0u})
    EXPECT_THAT(bench.from_server(session.answers(kRst).seq(sequence)), IsEmpty()) << sequence;
  EXPECT_EQ(bench.fates(), (Fates{{Fate::drop_bad_reset, 8}}));
  EXPECT_THAT(bench.states(), ElementsAre("open"));
  EXPECT_EQ(bench.current(1), 1u);
  reaches_server(bench, session, session.says(kAck, "on").seq(1111).ack(5071));
}

TEST_P(EndingTest, AResetInItsWindowPassesAndCloses) {
  for (const std::uint32_t sequence : {1101u, 1111u, 1111u + 65535}) {
    Bench bench(site({.check_resets = true}));
    const auto session = open(bench);
    talk(bench, session);
    reaches_server(bench, session, session.says(kRst).seq(sequence));
    EXPECT_THAT(bench.states(), ElementsAre("closed")) << sequence;
    EXPECT_EQ(bench.current(1), 0u);
  }
  for (const std::uint32_t sequence : {5051u, 5071u, 5071u + 65535}) {
    Bench bench(site({.check_resets = true}));
    const auto session = open(bench);
    talk(bench, session);
    reaches_client(bench, session, session.answers(kRst | kAck).seq(sequence));
    EXPECT_THAT(bench.states(), ElementsAre("closed")) << sequence;
    EXPECT_EQ(bench.current(1), 0u);
  }
}

TEST_P(EndingTest, WithoutTheCheckAnyResetPassesAndCloses) {
  for (const bool client : {true, false}) {
    Bench bench(site({.check_resets = false}));
    const auto session = open(bench);
    talk(bench, session);
    if (client)
      reaches_server(bench, session, session.says(kRst).seq(0));
    else
      reaches_client(bench, session, session.answers(kRst).seq(0));
    EXPECT_THAT(bench.states(), ElementsAre("closed")) << client;
  }
}

}  // namespace
}  // namespace headgate::testing
