// SPDX-License-Identifier: Apache-2.0
// Handshakes that are not the plain one, and new connections in the place of old ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/packet/beds.h"
#include "tests/packet/reaches.h"

namespace headgate::testing {
namespace {

using core::Fate;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// ---- Handshakes that are not SYN, SYN-ACK, ACK

class HandshakeTest : public ::testing::TestWithParam<const Bed*> {
 protected:
  [[nodiscard]] Site site(unsigned servers = 1) const {
    Site made = dns(bed, servers);
    made.edit().mutable_settings()->set_check_resets(true);
    return made;
  }
  [[nodiscard]] Connection begin(Bench& bench) const {
    return Connection::begin(bench, 40000, bed.client, bed.vip);
  }
  [[nodiscard]] Connection open(Bench& bench) const {
    return Connection::open(bench, 40000, bed.client, bed.vip);
  }
  /// The session is open, believes resets and FINs of just these numbers, and ends with the FINs.
  static void ends_well(Bench& bench, const Connection& session, std::uint32_t client_next,
                        std::uint32_t server_next) {
    EXPECT_THAT(bench.states(), ElementsAre("open"));
    EXPECT_EQ(bench.stats().half_open_sessions(), 0u);
    EXPECT_THAT(bench.from_client(session.says(kRst).seq(client_next - 1)), IsEmpty());
    EXPECT_THAT(bench.from_server(session.answers(kRst).seq(server_next - 1)), IsEmpty());
    reaches_server(bench, session, session.says(kFin | kAck).seq(client_next).ack(server_next));
    reaches_client(bench, session, session.answers(kFin | kAck).seq(server_next).ack(client_next + 1));
    reaches_server(bench, session, session.says(kAck).seq(client_next + 1).ack(server_next + 1));
    EXPECT_THAT(bench.states(), ElementsAre("closed"));
    EXPECT_EQ(bench.current(1), 0u);
  }

  const Bed& bed = *GetParam();
};
INSTANTIATE_TEST_SUITE_P(Families, HandshakeTest, ::testing::Values(&kBed4, &kBed6), family_name);

// suricata-verify tcp-split-handshake: what a SYN-ACK says, in two segments.
TEST_P(HandshakeTest, AServerMayAcknowledgeFirstAndSendItsSynAfter) {
  Bench bench(site());
  const auto session = begin(bench);
  reaches_client(bench, session, session.answers(kAck).seq(0xc0000000));
  reaches_client(bench, session, session.answers(kSyn).seq(5000));
  reaches_server(bench, session, session.says(kSyn | kAck).seq(1000));
  EXPECT_THAT(bench.states(), ElementsAre("syn"));
  reaches_client(bench, session, session.answers(kAck));
  reaches_server(bench, session, session.says(kAck, "data"));
  reaches_client(bench, session, session.answers(kAck).ack(1005));
  ends_well(bench, session, 1005, 5001);
}

TEST_P(HandshakeTest, AClientMayAnswerTheSplitSynByAnAckAlone) {
  Bench bench(site());
  const auto session = begin(bench);
  reaches_client(bench, session, session.answers(kAck).seq(0xc0000000));
  reaches_client(bench, session, session.answers(kSyn).seq(5000));
  reaches_server(bench, session, session.says(kAck));
  ends_well(bench, session, 1001, 5001);
}

TEST_P(HandshakeTest, AServerMaySendItsSynFirstAndAcknowledgeAfter) {
  Bench bench(site());
  const auto session = begin(bench);
  reaches_client(bench, session, session.answers(kSyn).seq(5000));
  reaches_server(bench, session, session.says(kSyn | kAck).seq(1000));
  reaches_client(bench, session, session.answers(kAck));
  EXPECT_THAT(bench.states(), ElementsAre("syn"));
  reaches_client(bench, session, session.answers(kAck, "hello"));
  reaches_server(bench, session, session.says(kAck).ack(5006));
  ends_well(bench, session, 1001, 5006);
}

// RFC 9293, 3.5: both SYNs cross, and each is answered.
TEST_P(HandshakeTest, ASimultaneousOpenOpens) {
  Bench bench(site());
  const auto session = begin(bench);
  reaches_client(bench, session, session.answers(kSyn).seq(5000));
  reaches_server(bench, session, session.says(kSyn | kAck).seq(1000));
  reaches_client(bench, session, session.answers(kSyn | kAck).seq(5000));
  reaches_server(bench, session, session.says(kAck));
  ends_well(bench, session, 1001, 5001);
}

// A SYN and a FIN of one end alone, which anybody can send, make no session that lives for longer.
TEST_P(HandshakeTest, AFinBeforeTheServerAnswersLeavesASessionHalfOpen) {
  Bench bench(site());
  const auto session = begin(bench);
  reaches_server(bench, session, session.says(kFin | kAck));
  EXPECT_THAT(bench.states(), ElementsAre("syn"));
  EXPECT_EQ(bench.stats().half_open_sessions(), 1u);
  EXPECT_EQ(bench.stats().answered_tcp_sessions(), 0u);
  bench.wait(33);
  EXPECT_EQ(bench.sweep(), 1u);
}

TEST_P(HandshakeTest, OnlyASynAloneTakesTheSessionOfADrainingServer) {
  for (const std::uint8_t flags : {kSyn | kFin, kSyn | kRst}) {
    Bench bench(site());
    const auto session = open(bench);
    bench.admit(1, forwarding::DRAINING);
    bench.from_client(session.says(flags));
    EXPECT_EQ(bench.sessions(), 1u);
    reaches_server(bench, session, session.says(kAck, "data"));
  }
}

// RFC 7413: the server takes the data with the SYN, or only the SYN.
TEST_P(HandshakeTest, ASynWithDataThatIsTakenOpens) {
  Bench bench(site());
  const auto session = begin(bench);
  const std::string data(1188, 'f');
  const Packet syn = session.says(kSyn, data).seq(1000);
  reaches_server(bench, session, syn);
  reaches_client(bench, session, session.server.seq(5000).ack(1001 + 1188));
  reaches_server(bench, session, session.says(kAck).seq(1001 + 1188));
  ends_well(bench, session, 1001 + 1188, 5001);
}

TEST_P(HandshakeTest, DataOfASynThatWasNotTakenIsSentAgain) {
  Bench bench(site());
  const auto session = begin(bench);
  const std::string data(1188, 'f');
  reaches_server(bench, session, session.says(kSyn, data).seq(1000));
  reaches_client(bench, session, session.server.seq(5000).ack(1001));
  reaches_server(bench, session, session.says(kAck, data));
  reaches_client(bench, session, session.answers(kAck).ack(1001 + 1188));
  ends_well(bench, session, 1001 + 1188, 5001);
}

TEST_P(HandshakeTest, AClientMaySendItsFirstSegmentAgainAfterManyOthers) {
  Bench bench(site());
  const auto session = open(bench);
  const std::string data(1000, 'd');
  for (std::uint32_t i = 0; i < 46; ++i)
    reaches_server(bench, session, session.says(kAck, data).seq(1001 + 1000 * i));
  reaches_server(bench, session, session.says(kAck, data));
  reaches_client(bench, session, session.answers(kAck).ack(47'001));
  ends_well(bench, session, 47'001, 5001);
}

// ---- The end that a handshake follows

TEST_P(HandshakeTest, UntilTheLastFinIsAcknowledgedASessionOutlivesTheFastAge) {
  Bench bench(site());
  const auto session = open(bench);
  reaches_server(bench, session, session.says(kFin | kAck));
  reaches_client(bench, session, session.answers(kFin | kAck).ack(1002));
  EXPECT_THAT(bench.states(), ElementsAre("closing"));
  bench.wait(600);
  EXPECT_EQ(bench.sweep(), 0u);
  EXPECT_EQ(bench.current(1), 1u);
  reaches_client(bench, session, session.answers(kFin | kAck).ack(1002));
  reaches_server(bench, session, session.says(kAck).seq(1002).ack(5002));
  EXPECT_THAT(bench.states(), ElementsAre("closed"));
}

TEST_P(HandshakeTest, ASynBeforeTheLastFinIsAcknowledgedStartsAnew) {
  Bench bench(site(2));
  const auto first = open(bench);
  reaches_server(bench, first, first.says(kFin | kAck));
  reaches_client(bench, first, first.answers(kFin | kAck).ack(1002));
  ASSERT_THAT(bench.states(), ElementsAre("closing"));
  const auto second = open(bench);
  EXPECT_NE(second.server_address(), first.server_address()) << "roundrobin: the next one";
  EXPECT_EQ(bench.sessions(), 1u);
  EXPECT_EQ(bench.current(1), 0u);
  EXPECT_EQ(bench.current(2), 1u);
  EXPECT_THAT(bench.from_server(first.answers(kAck, "late")), IsEmpty());
  reaches_client(bench, second, second.answers(kAck, "hello"));
}

// ---- A SYN on a session whose server has forgotten the connection

/// How far the old connection is, and of which family it is.
struct Old {
  const Bed* bed;
  std::uint8_t closer;  ///< the flags of what its client said last
  std::string_view state;
};

// The numbers of the new connection, far from those of the old one.
constexpr std::uint32_t kClientIsn = 0x90000000, kServerIsn = 0xd0000000;

class ReusedPortTest : public ::testing::TestWithParam<Old> {
 protected:
  static Bench checking(const Bed& bed) {
    Site site = dns(bed);
    site.edit().mutable_settings()->set_check_resets(true);
    return Bench(site);
  }
  void SetUp() override {
    reaches_server(bench, session, session.says(GetParam().closer));
    ASSERT_THAT(bench.states(), ElementsAre(GetParam().state));
    bench.fates();
  }
  void ask() { reaches_server(bench, session, session.client.seq(kClientIsn)); }
  void take() { reaches_client(bench, session, says_new(session.server, kServerIsn)); }
  void complete() { reaches_server(bench, session, client_says(kAck)); }
  [[nodiscard]] static Packet says_new(const Packet& packet, std::uint32_t sequence) {
    return packet.seq(sequence).ack(kClientIsn + 1);
  }
  [[nodiscard]] Packet client_says(std::uint8_t flags) const {
    return session.says(flags).seq(kClientIsn + 1).ack((flags & kAck) != 0 ? kServerIsn + 1 : 0);
  }
  [[nodiscard]] Packet server_says(std::uint8_t flags) const {
    return session.answers(flags).seq(kServerIsn + 1).ack((flags & kAck) != 0 ? kClientIsn + 1 : 0);
  }

  const Bed& bed = *GetParam().bed;
  Bench bench = checking(bed);
  Connection session = Connection::open(bench, 40000, bed.client, bed.vip);
};

INSTANTIATE_TEST_SUITE_P(Olds, ReusedPortTest,
                         ::testing::Values(Old{&kBed4, kAck, "open"}, Old{&kBed6, kAck, "open"},
                                           Old{&kBed4, kFin | kAck, "half-closed"},
                                           Old{&kBed6, kFin | kAck, "half-closed"}),
                         [](const auto& info) {
                           return std::string(info.param.bed->v6 ? "ipv6" : "ipv4") +
                                  (info.param.state == "open" ? "_open" : "_half_closed");
                         });

TEST_P(ReusedPortTest, ASynThatTheServerAcceptsStartsItsNumbersAnew) {
  ask(), take();
  EXPECT_THAT(bench.states(), ElementsAre("syn"));
  EXPECT_EQ(bench.stats().half_open_sessions(), 1u);
  complete();
  EXPECT_THAT(bench.states(), ElementsAre("open"));
  EXPECT_EQ(bench.stats().half_open_sessions(), 0u);
  reaches_server(bench, session, client_says(kFin | kAck));
  reaches_client(bench, session, server_says(kFin | kAck).ack(kClientIsn + 2));
  reaches_server(bench, session, client_says(kAck).seq(kClientIsn + 2).ack(kServerIsn + 2));
  EXPECT_THAT(bench.states(), ElementsAre("closed"));
  EXPECT_EQ(bench.current(1), 0u);
}

TEST_P(ReusedPortTest, AResetOfTheClientOfTheNewConnectionPasses) {
  ask(), take(), complete();
  EXPECT_THAT(bench.from_client(session.says(kRst)), IsEmpty()) << "one of the old connection";
  EXPECT_EQ(bench.fates()[Fate::drop_bad_reset], 1u);
  reaches_server(bench, session, client_says(kRst));
  EXPECT_THAT(bench.states(), ElementsAre("closed"));
}

TEST_P(ReusedPortTest, AResetOfTheServerOfTheNewConnectionPasses) {
  ask(), take(), complete();
  EXPECT_THAT(bench.from_server(session.answers(kRst)), IsEmpty()) << "one of the old connection";
  EXPECT_EQ(bench.fates()[Fate::drop_bad_reset], 1u);
  reaches_client(bench, session, server_says(kRst));
  EXPECT_THAT(bench.states(), ElementsAre("closed"));
}

TEST_P(ReusedPortTest, AServerThatRefusesTheNewConnectionEndsTheOldOne) {
  ask();
  reaches_client(bench, session, session.answers(kRst | kAck).seq(0).ack(kClientIsn + 1));
  EXPECT_THAT(bench.states(), ElementsAre("closed"));
}

TEST_P(ReusedPortTest, ANewHandshakeThatDoesNotGoOnIsForgottenAsAnyOther) {
  ask(), take();
  bench.wait(core::Switch::kHalfOpenSeconds + 1);
  EXPECT_EQ(bench.sweep(), 1u);
  EXPECT_EQ(bench.current(1), 0u);
  EXPECT_EQ(bench.stats().half_open_sessions(), 0u);
}

// Anybody can send a SYN in the client's name; a server that still has the connection challenges it.
TEST_P(ReusedPortTest, ASynAloneLeavesTheOldNumbersInForce) {
  for (const bool challenged : {false, true}) {
    ask();
    if (challenged) reaches_client(bench, session, session.answers(kAck));
    EXPECT_THAT(bench.states(), ElementsAre(GetParam().state));
    EXPECT_THAT(bench.from_client(client_says(kRst)), IsEmpty());
    EXPECT_THAT(bench.from_server(server_says(kRst)), IsEmpty());
    EXPECT_THAT(bench.from_client(client_says(kRst | kAck)), IsEmpty());
    EXPECT_EQ(bench.fates()[Fate::drop_bad_reset], 3u);
    EXPECT_THAT(bench.states(), ElementsAre(GetParam().state));
  }
  reaches_client(bench, session, session.answers(kRst));
  EXPECT_THAT(bench.states(), ElementsAre("closed"));
}

TEST_P(ReusedPortTest, ASynOfNearNumbersMovesNoNumberEither) {
  reaches_server(bench, session, session.client.seq(1'000'000));
  EXPECT_THAT(bench.from_client(session.says(kRst).seq(1'000'001)), IsEmpty());
  EXPECT_EQ(bench.fates()[Fate::drop_bad_reset], 1u);
}

TEST_P(ReusedPortTest, AnAnswerToAnotherSynStartsNothingAnew) {
  ask();
  reaches_client(bench, session, session.server.seq(kServerIsn).ack(kClientIsn + 2));
  EXPECT_THAT(bench.states(), ElementsAre(GetParam().state));
}

}  // namespace
}  // namespace headgate::testing
