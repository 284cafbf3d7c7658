// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/packet/bench.h"

// Service and server states seen from the packets: mission A.1 to A.6.
namespace headgate::testing {
namespace {

using core::Fate;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

Site web_and_ftp() {
  Site site;
  site.service(1, 80, 8080, {1, 2}).service(1, 21, 21, {1, 2});
  return site;
}

TEST(State, AFailedServiceLeavesItsChoiceAndTheServersOtherServiceStays) {
  Bench bench(web_and_ftp());
  bench.admit(1, forwarding::CLOSED, 8080);
  for (std::uint16_t port = 40000; port < 40020; ++port) {
    EXPECT_EQ(Connection::open(bench, port).server_address(), kServer2);
  }
  std::map<std::string, int> ftp;
  for (std::uint16_t port = 41000; port < 41020; ++port) {
    ++ftp[Connection::open(bench, port, kClient, kVip, 21).server_address()];
  }
  EXPECT_EQ(ftp, (std::map<std::string, int>{{std::string(kServer1), 10}, {std::string(kServer2), 10}}));
}

TEST(State, ARecoveredServiceRejoins) {
  Bench bench(web(2));
  bench.admit(1, forwarding::CLOSED);
  bench.admit(1, forwarding::OPEN);
  Connection::open(bench, 40000);
  Connection::open(bench, 40001);
  EXPECT_EQ(bench.current(1), 1u);
}

// What an apply would end is counted from this.
TEST(State, SessionsAreCountedByServiceAndServer) {
  Bench bench(web_and_ftp());
  const auto count = [&](std::uint32_t vport) {
    std::uint64_t sessions = 0;
    const forwarding::Stats stats = bench.stats();
    for (const forwarding::ServiceStats& row : stats.service())
      if (row.vport() == vport) sessions += row.counts().current();
    return sessions;
  };
  for (std::uint16_t port = 40000; port < 40006; ++port) Connection::open(bench, port);
  for (std::uint16_t port = 41000; port < 41003; ++port) Connection::open(bench, port, kClient, kVip, 21);
  EXPECT_EQ(count(80), 6u);
  EXPECT_EQ(count(21), 3u);
  bench.admit(1, forwarding::CLOSED, 8080);
  bench.admit(2, forwarding::CLOSED, 8080);
  Connection::open(bench, 42000, kClient, kVip, 21);  // the worker has seen the end of those epochs
  EXPECT_EQ(count(80), 0u);
  EXPECT_EQ(count(21), 4u);
}

TEST(State, WithNoServerLeftASynIsAnsweredWithOneReset) {
  Bench bench(web(2));
  bench.admit(1, forwarding::CLOSED);
  bench.admit(2, forwarding::DRAINING);
  const Packet syn = ip(kClient, kVip).tcp(40000, 80, kSyn).seq(0xffffffff);
  EXPECT_THAT(bench.from_client(syn), ElementsAre(reset(syn.reply(kRst | kAck).ack(0)).out(kClientPort)));
  const Packet with_data = ip(kClient, kVip).tcp(40001, 80, kSyn, "hello").seq(10);
  EXPECT_THAT(bench.from_client(with_data),
              ElementsAre(reset(with_data.reply(kRst | kAck).ack(16)).out(kClientPort)));
  EXPECT_EQ(bench.fates(), (Fates{{Fate::reset_no_real, 2}}));
  EXPECT_EQ(bench.sessions(), 0u);
  EXPECT_EQ(bench.worker().resets(), 2u);
}

TEST(State, ADrainingServerKeepsItsSessionsAndGetsNoNewOnes) {
  Bench bench(web(2));
  const auto old = Connection::open(bench, 40000);
  ASSERT_EQ(old.server_address(), kServer1);
  bench.admit(1, forwarding::DRAINING);
  for (std::uint16_t port = 41000; port < 41010; ++port) {
    EXPECT_EQ(Connection::open(bench, port).server_address(), kServer2);
  }
  const Packet data = old.says(kAck, "still here");
  EXPECT_THAT(bench.from_client(data), ElementsAre(old.at_server(data).out(kServerPort)));
  const Packet answer = old.answers(kAck, "so am I");
  EXPECT_THAT(bench.from_server(answer), ElementsAre(old.at_client(answer).out(kClientPort)));
  EXPECT_EQ(bench.worker().terminated(), 0u);
}

TEST(State, ASynOnASessionOfAFailedServerStartsAnew) {
  for (const auto admission : {forwarding::DRAINING, forwarding::CLOSED}) {
    Bench bench(web(2));
    ASSERT_EQ(Connection::open(bench, 40000).server_address(), kServer1);
    bench.admit(1, admission);
    EXPECT_EQ(Connection::open(bench, 40000).server_address(), kServer2);
    EXPECT_EQ(bench.current(1), 0u);
    EXPECT_EQ(bench.current(2), 1u);
  }
}

TEST(State, TerminationCountsAtOnceWhateverTheNumberOfSessions) {
  Bench bench(web(2));
  for (std::uint16_t port = 40000; port < 40100; ++port) Connection::open(bench, port);
  bench.admit(1, forwarding::CLOSED);
  bench.pass(std::vector<Wire>{});  // a worker's next turn, with no packet at all
  bench.worker().sweep(bench.now, 0);
  EXPECT_EQ(bench.worker().terminated(), 50u);
  EXPECT_EQ(bench.current(1), 0u);
  EXPECT_EQ(bench.current(2), 50u);
  EXPECT_EQ(bench.stats().terminated_sessions(), 50u);
}

TEST(State, AtATerminatedSessionTheClientsPacketTellsBothEnds) {
  Bench bench(web(1));
  const auto session = Connection::open(bench, 40000);
  bench.admit(1, forwarding::CLOSED);
  bench.fates();
  const Packet data = session.says(kAck, "GET");
  EXPECT_THAT(
      bench.from_client(data),
      UnorderedElementsAre(reset(data.reply(kRst).seq(5001)).out(kClientPort),
                           reset(session.at_server(session.says(kRst | kAck)).ttl(64)).out(kServerPort)));
  EXPECT_EQ(bench.fates(), (Fates{{Fate::reset_terminated, 1}}));
  EXPECT_EQ(bench.worker().resets(), 2u);
  EXPECT_EQ(bench.worker().terminated(), 1u);
}

TEST(State, AtATerminatedSessionTheServersStreamTellsBothEndsAndTheClientOnce) {
  Bench bench(web(1));
  const auto session = Connection::open(bench, 40000);
  bench.admit(1, forwarding::CLOSED);
  std::vector<Wire> stream;
  for (std::uint32_t i = 0; i < 10; ++i) {
    stream.push_back(session.answers(kAck, std::string(1000, 'd')).seq(5001 + 1000 * i).in(kServerPort));
  }
  const auto sent = bench.pass(stream);
  const Wire to_client = reset(session.at_client(session.answers(kRst | kAck)).ttl(64)).out(kClientPort);
  const Wire to_server = reset(session.answers(0).reply(kRst).seq(1001)).out(kServerPort);
  EXPECT_EQ(std::ranges::count(sent, to_client), 1);
  EXPECT_EQ(std::ranges::count(sent, to_server), 10);  // as TCP answers each segment of a dead connection
  EXPECT_EQ(sent.size(), 11u);
}

TEST(State, AResetIsNeverAnsweredWithAReset) {
  Bench bench(web(1));
  const auto session = Connection::open(bench, 40000);
  bench.admit(1, forwarding::CLOSED);
  const Packet abort = session.says(kRst);
  EXPECT_THAT(bench.from_client(abort),
              ElementsAre(reset(session.at_server(session.says(kRst)).ttl(64)).out(kServerPort)));
  EXPECT_THAT(bench.from_client(abort), IsEmpty());
  EXPECT_THAT(bench.from_server(session.answers(kRst)), IsEmpty());
}

TEST(State, ASessionTerminatedInItsHandshakeTellsBothEnds) {
  Bench bench(web(1));
  const auto session = Connection::begin(bench, 40000);
  bench.admit(1, forwarding::CLOSED);
  const Packet syn_ack = session.server.seq(5000).ack(1001);
  EXPECT_THAT(bench.from_server(syn_ack),
              UnorderedElementsAre(
                  reset(syn_ack.reply(kRst).seq(1001)).out(kServerPort),
                  reset(session.at_client(syn_ack.tcp(8080, 40000, kRst | kAck)).ttl(64)).out(kClientPort)));
  EXPECT_EQ(bench.worker().terminated(), 1u);
}

TEST(State, TerminatedSessionsLeaveAfterBothAreToldOrAtTheirTime) {
  Bench bench(web(1));
  const auto told = Connection::open(bench, 40000);
  const auto silent = Connection::open(bench, 40001);
  bench.admit(1, forwarding::CLOSED);
  bench.from_client(told.says(kAck));
  EXPECT_THAT(bench.states(), ElementsAre("terminated", "terminated"));
  bench.wait(core::Switch::kToldSeconds + 1);
  EXPECT_EQ(bench.sweep(), 1u);
  bench.wait(600);
  EXPECT_EQ(bench.sweep(), 1u);
  EXPECT_EQ(bench.worker().terminated(), 2u);
}

TEST(State, OpeningAgainAtOnceLeavesOldSessionsTerminated) {
  Bench bench(web(1));
  const auto old = Connection::open(bench, 40000);
  bench.admit(1, forwarding::CLOSED);
  bench.admit(1, forwarding::OPEN);
  const auto fresh = Connection::open(bench, 40001);
  EXPECT_EQ(bench.current(1), 1u);
  EXPECT_EQ(bench.worker().terminated(), 1u);
  EXPECT_EQ(bench.from_client(old.says(kAck, "x")).size(), 2u);
  const Packet data = fresh.says(kAck, "y");
  EXPECT_THAT(bench.from_client(data), ElementsAre(fresh.at_server(data).out(kServerPort)));
  EXPECT_EQ(bench.current(1), 1u);
}

TEST(State, ASessionThatHasEndedIsNotTerminatedAnyMore) {
  Bench bench(web(1));
  const auto session = Connection::open(bench, 40000);
  bench.from_client(session.says(kRst));
  bench.admit(1, forwarding::CLOSED);
  bench.sweep();
  EXPECT_EQ(bench.worker().terminated(), 0u);
  const Packet late = session.answers(kAck, "late");
  EXPECT_THAT(bench.from_server(late), ElementsAre(session.at_client(late).out(kClientPort)));
}

TEST(State, RemovingAServiceTerminatesItsSessionsAndNoOthers) {
  Bench bench(web_and_ftp());
  const auto http = Connection::open(bench, 40000);
  const auto ftp = Connection::open(bench, 41000, kClient, kVip, 21);
  Site without_http;
  without_http.service(1, 21, 21, {1, 2});
  bench.publish(without_http);
  EXPECT_EQ(bench.from_client(http.says(kAck, "x")).size(), 2u);  // a reset to each end
  const Packet data = ftp.says(kAck, "NOOP\r\n");
  EXPECT_THAT(bench.from_client(data), ElementsAre(ftp.at_server(data).out(kServerPort)));
  EXPECT_EQ(bench.worker().terminated(), 1u);
}

TEST(State, AnApplyThatTouchesNothingDropsNothing) {
  Bench bench(web(3));
  std::vector<Connection> sessions;
  for (std::uint16_t port = 40000; port < 40030; ++port) sessions.push_back(Connection::open(bench, port));
  bench.publish(web(3, forwarding::LEASTCONNS).weight(1, 5).idle(1200));
  for (const auto& session : sessions) {
    const Packet data = session.says(kAck, "x");
    EXPECT_THAT(bench.from_client(data), ElementsAre(session.at_server(data).out(kServerPort)));
  }
  EXPECT_EQ(bench.current(1) + bench.current(2) + bench.current(3), 30u);
  EXPECT_EQ(bench.worker().terminated(), 0u);
}

TEST(State, AServerThatMovedToAnotherAddressEndsTheSessionsOfTheOld) {
  Bench bench(web(1));
  const auto session = Connection::open(bench, 40000);
  Site moved;
  moved.service(1, 80, 8080, {1});
  forwarding::Generation changed = moved.generation();
  changed.mutable_service(0)->mutable_member(0)->set_rip(Ip(address(kServer3)).wire());
  ASSERT_TRUE(bench.director.publish(changed).ok());
  bench.generation = bench.director.build();
  EXPECT_EQ(bench.from_client(session.says(kAck, "x")).size(), 2u);  // a reset to each end
  EXPECT_EQ(Connection::open(bench, 40001).server_address(), kServer3);
  EXPECT_EQ(bench.current(1), 1u);
}

}  // namespace
}  // namespace headgate::testing
