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
