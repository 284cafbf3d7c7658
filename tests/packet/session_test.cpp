// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/packet/reaches.h"

namespace headgate::testing {
namespace {

using core::Fate;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Session, ASynAgainGoesToTheSameServerAndCountsOnce) {
  Bench bench(web(3));
  const auto session = Connection::begin(bench, 40000);
  for (int i = 0; i < 5; ++i) reaches_server(bench, session, session.client);
  EXPECT_EQ(bench.sessions(), 1u);
  EXPECT_EQ(bench.total(1) + bench.total(2) + bench.total(3), 1u);
}

// Linux selftests conntrack_synack_reuse and conntrack_syn_challenge_ack.
TEST(Session, AChallengedSynPassesAndTheNextOneOpensAnew) {
  Bench bench(web(1));
  const auto old = Connection::open(bench, 40000);
  const Packet syn = old.client.seq(90000);
  reaches_server(bench, old, syn);
  reaches_client(bench, old, old.answers(kAck));  // the challenge
  reaches_server(bench, old, old.says(kRst).seq(1001));
  EXPECT_THAT(bench.states(), ElementsAre("closed"));
  const auto fresh = Connection::open(bench, 40000);
  EXPECT_THAT(bench.states(), ElementsAre("open"));
  reaches_server(bench, fresh, fresh.says(kAck, "again"));
  EXPECT_EQ(bench.total(1), 2u);
  EXPECT_EQ(bench.current(1), 1u);
}

// The switch has forgotten the connection that the server still has.
TEST(Session, AResetAfterAChallengeReachesTheServerThoughResetsAreChecked) {
  Site site = web(1);
  site.edit().mutable_settings()->set_check_resets(true);
  Bench bench(site);
  const auto session = Connection::begin(bench, 40000);
  const Packet challenge = session.answers(kAck).ack(77000);
  reaches_client(bench, session, challenge);
  EXPECT_THAT(bench.from_client(session.says(kRst).seq(78000)), IsEmpty());
  reaches_server(bench, session, session.says(kRst).seq(77000));
  EXPECT_THAT(bench.states(), ElementsAre("closed"));
  Connection::open(bench, 40000);
  EXPECT_THAT(bench.states(), ElementsAre("open"));
}

// Linux selftest conntrack_ack_loss_stall.
TEST(Session, AFirstSegmentSentAgainPassesAfterManyOthers) {
  Bench bench(web(1));
  const auto session = Connection::open(bench, 40000);
  for (std::uint32_t i = 0; i < 46; ++i) {
    reaches_client(bench, session, session.answers(kAck, std::string(1000, 'd')).seq(5001 + 1000 * i));
  }
  reaches_client(bench, session, session.answers(kAck, std::string(1000, 'd')).seq(5001));
}

TEST(Session, AfterAResetLatePacketsOfTheServerAreStillTranslated) {
  Bench bench(web(1));
  const auto session = Connection::open(bench, 40000);
  reaches_server(bench, session, session.says(kRst));
  EXPECT_EQ(bench.current(1), 0u);
  for (int i = 0; i < 5; ++i) reaches_client(bench, session, session.answers(kAck, "late"));
  reaches_client(bench, session, session.answers(kRst));
  bench.wait(3);
  bench.sweep();
  EXPECT_EQ(bench.sessions(), 0u);
  EXPECT_THAT(bench.from_server(session.answers(kAck, "later")), IsEmpty());
}

TEST(Session, LatePacketsDoNotKeepAClosedSession) {
  Bench bench(web(1));
  const auto session = Connection::open(bench, 40000);
  bench.from_client(session.says(kRst));
  for (int second = 0; second < 3; ++second) {
    bench.wait(1);
    bench.from_server(session.answers(kAck, "late"));
  }
  EXPECT_EQ(bench.sweep(), 1u);
}

TEST(Session, AHalfClosedSessionLivesAsLongAsAnOpenOne) {
  Bench bench(web(1));
  const auto session = Connection::open(bench, 40000);
  reaches_server(bench, session, session.says(kFin | kAck));
  EXPECT_THAT(bench.states(), ElementsAre("half-closed"));
  for (std::uint32_t pause = 0; pause < 10; ++pause) {
    bench.wait(590);
    EXPECT_EQ(bench.sweep(), 0u);
    reaches_client(bench, session, session.answers(kAck, "more").ack(1002).seq(5001 + 4 * pause));
  }
  EXPECT_EQ(bench.current(1), 1u);
}

TEST(Session, TheServerMayHalfCloseToo) {
  Bench bench(web(1));
  const auto session = Connection::open(bench, 40000);
  reaches_client(bench, session, session.answers(kFin | kAck));
  bench.wait(590);
  EXPECT_EQ(bench.sweep(), 0u);
  reaches_server(bench, session, session.says(kAck, "more").ack(5002));
}

TEST(Session, AfterBothFinsAreAcknowledgedItIsForgottenFast) {
  Bench bench(web(1));
  const auto session = Connection::open(bench, 40000);
  reaches_server(bench, session, session.says(kFin | kAck));
  reaches_client(bench, session, session.answers(kFin | kAck).ack(1002));
  EXPECT_THAT(bench.states(), ElementsAre("closing"));
  EXPECT_EQ(bench.current(1), 1u);
  reaches_server(bench, session, session.says(kAck).seq(1002).ack(5002));
  EXPECT_THAT(bench.states(), ElementsAre("closed"));
  EXPECT_EQ(bench.current(1), 0u);
  bench.wait(2);
  EXPECT_EQ(bench.sweep(), 0u);
  bench.wait(1);
  EXPECT_EQ(bench.sweep(), 1u);
}

TEST(Session, AClosedSessionStaysForTwoFastAgePeriodsAndNoLonger) {
  for (const std::uint32_t period : {1u, 2u, 8u, 128u}) {
    Site site = web(1);
    site.edit().mutable_ageing()->set_closed_seconds(period);
    Bench bench(site);
    const auto session = Connection::open(bench, 40000);
    bench.from_client(session.says(kRst));
    bench.wait(2 * period);
    EXPECT_EQ(bench.sweep(), 0u) << period;
    bench.now = bench.now.plus(1);
    EXPECT_EQ(bench.sweep(), 1u) << period;
  }
}

TEST(Session, TheFinalAckMayBeSentAgain) {
  Bench bench(web(1));
  const auto session = Connection::open(bench, 40000);
  bench.from_client(session.says(kFin | kAck));
  bench.from_server(session.answers(kFin | kAck).ack(1002));
  bench.from_client(session.says(kAck).seq(1002).ack(5002));
  reaches_client(bench, session, session.answers(kFin | kAck).ack(1002));
  reaches_server(bench, session, session.says(kAck).seq(1002).ack(5002));
}

TEST(Session, ASynAfterTheEndStartsAnew) {
  Bench bench(web(2));
  const auto first = Connection::open(bench, 40000);
  bench.from_client(first.says(kFin | kAck));
  bench.from_server(first.answers(kFin | kAck).ack(1002));
  bench.from_client(first.says(kAck).seq(1002).ack(5002));
  const auto second = Connection::open(bench, 40000);
  EXPECT_NE(second.server_address(), first.server_address());  // roundrobin: the next one
  EXPECT_EQ(bench.sessions(), 1u);
}

TEST(Session, SessionsWithoutPacketsExpireSilentlyAtTheirTime) {
  for (const std::uint32_t minutes : {2u, 8u, 9u, 10u, 20u, 60u, 1440u, 32768u}) {
    Bench bench(web(1).idle(minutes * 60));
    const auto session = Connection::open(bench, 40000);
    bench.wait(minutes * 60);
    EXPECT_EQ(bench.sweep(), 0u) << minutes;
    bench.wait(1);
    EXPECT_EQ(bench.sweep(), 1u) << minutes;
    EXPECT_EQ(bench.current(1), 0u);
    bench.fates();
    EXPECT_THAT(bench.from_client(session.says(kAck, "too late")), IsEmpty());
    EXPECT_EQ(bench.fates(), (Fates{{Fate::drop_no_session, 1}}));
  }
}

TEST(Session, TheTimeLeftCountsDown) {
  Bench bench(web(1));
  Connection::open(bench, 40000);
  bench.wait(100);
  std::vector<core::SessionView> views;
  std::size_t cursor = 0;
  EXPECT_FALSE(bench.worker().dump(cursor, 64, {}, bench.now, views));
  ASSERT_EQ(views.size(), 1u);
  EXPECT_EQ(views[0].idle_seconds, 100u);
  EXPECT_EQ(views[0].left_seconds, 500u);
}

TEST(Session, TimeMayWrapAround) {
  Bench bench(web(1));
  bench.now = Tick{0xfffffff0};
  const auto session = Connection::open(bench, 40000);
  bench.wait(300);
  EXPECT_EQ(bench.sweep(), 0u);
  reaches_server(bench, session, session.says(kAck));
  bench.wait(601);
  EXPECT_EQ(bench.sweep(), 1u);
}

TEST(Session, SynsThatNobodyAnswersLeaveAfterTheHalfOpenTime) {
  Bench bench(web(3), {.sessions = 131072});
  std::vector<Wire> syns;
  for (std::uint32_t i = 0; i < 100000; ++i) {
    syns.push_back(ip(Ipv4{0x0a0a0100 + i / 50000}, address(kVip))
                       .tcp(static_cast<std::uint16_t>(1024 + i % 50000), 80, kSyn)
                       .in(kClientPort));
  }
  EXPECT_EQ(bench.pass(syns).size(), 100000u);
  EXPECT_EQ(bench.current(1) + bench.current(2) + bench.current(3), 100000u);
  bench.wait(core::Switch::kHalfOpenSeconds + 1);
  Connection::open(bench, 50001, "10.10.1.77");  // a legitimate client is served
  EXPECT_EQ(bench.sweep(), 100000u);
  EXPECT_EQ(bench.sessions(), 1u);
  EXPECT_EQ(bench.current(1) + bench.current(2) + bench.current(3), 1u);
  std::uint32_t unanswered = 0;
  for (const auto& failure : bench.director.traffic_failures(bench.now)) unanswered += failure.unanswered();
  EXPECT_EQ(unanswered, 100000u);
}

// A server that answers has not failed, whatever its clients do.
TEST(Session, HandshakesThatNoClientCompletesLeaveAfterTheHalfOpenTime) {
  Bench bench(web(3), {.sessions = 131072});
  std::vector<Wire> syns, answers;
  for (std::uint32_t i = 0; i < 100000; ++i) {
    syns.push_back(ip(Ipv4{0x0a0a0100 + i / 50000}, address(kVip))
                       .tcp(static_cast<std::uint16_t>(1024 + i % 50000), 80, kSyn)
                       .seq(i)
                       .in(kClientPort));
  }
  for (const Wire& wire : bench.pass(syns)) {
    const Packet syn = decode(wire.bytes).value();
    answers.push_back(syn.reply(kSyn | kAck).seq(5000).ack(syn.sequence + 1).in(kServerPort));
  }
  EXPECT_EQ(bench.pass(answers).size(), 100000u);
  EXPECT_EQ(bench.stats().half_open_sessions(), 100000u);
  bench.wait(core::Switch::kHalfOpenSeconds);
  EXPECT_EQ(bench.sweep(), 0u);
  const auto legitimate = Connection::open(bench, 50001, "10.10.1.77");
  bench.wait(1);
  EXPECT_EQ(bench.sweep(), 100000u);
  EXPECT_THAT(bench.states(), ElementsAre("open"));
  EXPECT_EQ(bench.stats().half_open_sessions(), 0u);
  EXPECT_EQ(bench.current(1) + bench.current(2) + bench.current(3), 1u);
  EXPECT_THAT(bench.director.traffic_failures(bench.now), IsEmpty());
  reaches_server(bench, legitimate, legitimate.says(kAck, "on"));
}

TEST(Session, AServerThatGoesOnAskingDoesNotKeepAHalfOpenSession) {
  Bench bench(web(1));
  const auto session = Connection::begin(bench, 40000);
  for (std::uint32_t second = 1; second < core::Switch::kHalfOpenSeconds; second += 2) {
    bench.wait(2);
    reaches_client(bench, session, session.answers(kSyn | kAck).seq(5000).ack(1001));
    EXPECT_EQ(bench.sweep(), 0u);
  }
  bench.wait(1);
  EXPECT_EQ(bench.sweep(), 1u);
  EXPECT_EQ(bench.stats().half_open_sessions(), 0u);
}

TEST(Session, ARefusedSynIsReportedToItsTargetOnce) {
  Bench bench(web(1));
  const auto session = Connection::begin(bench, 40000);
  reaches_client(bench, session, session.answers(kRst | kAck).seq(0).ack(1001));
  const auto failures = bench.director.traffic_failures(bench.now);
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures[0].target().real(), 1u);
  EXPECT_EQ(failures[0].target().port(), 8080u);
  EXPECT_EQ(failures[0].target().check(), "tcp");
  EXPECT_EQ(failures[0].refused(), 1u);
  EXPECT_EQ(failures[0].unanswered(), 0u);
  EXPECT_THAT(bench.director.traffic_failures(bench.now), IsEmpty());
}

// A client asks again after a second: long before its session's time is over.
TEST(Session, ASynThatHasToBeRepeatedIsReportedAtOnce) {
  Bench bench(web(1));
  const auto session = Connection::begin(bench, 40000);
  EXPECT_THAT(bench.director.traffic_failures(bench.now), IsEmpty());
  bench.wait(1);
  reaches_server(bench, session, session.says(kSyn).seq(1000));
  const auto failures = bench.director.traffic_failures(bench.now);
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures[0].target().real(), 1u);
  EXPECT_EQ(failures[0].unanswered(), 1u);
  EXPECT_EQ(failures[0].refused(), 0u);
}

TEST(Session, ASynThatWasAnsweredMayBeRepeatedWithoutAReport) {
  Bench bench(web(1));
  const auto session = Connection::begin(bench, 40000);
  reaches_client(bench, session, session.answers(kSyn | kAck).seq(5000).ack(1001));
  bench.wait(1);
  reaches_server(bench, session, session.says(kSyn).seq(1000));
  EXPECT_THAT(bench.director.traffic_failures(bench.now), IsEmpty());
}

TEST(Session, FailuresOfATargetAreToldOnceASecondAndNoneIsForgotten) {
  Bench bench(web(1));
  const auto refuse = [&](std::uint16_t port) {
    const auto session = Connection::begin(bench, port);
    reaches_client(bench, session, session.answers(kRst | kAck).seq(0).ack(1001));
  };
  refuse(40000);
  EXPECT_EQ(bench.director.traffic_failures(bench.now).size(), 1u);
  refuse(40001), refuse(40002);
  EXPECT_THAT(bench.director.traffic_failures(bench.now), IsEmpty());
  bench.wait(1);
  const auto failures = bench.director.traffic_failures(bench.now);
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures[0].refused(), 2u);
}

TEST(Session, ASynWithDataIsBalancedWithItsData) {
  Bench bench(web(1));
  const Packet syn = ip(kClient, kVip).tcp(40000, 80, kSyn, std::string(1188, 'f'));
  EXPECT_THAT(
      bench.from_client(syn),
      ElementsAre(
          ip(kClient, kServer1).tcp(40000, 8080, kSyn, std::string(1188, 'f')).ttl(63).out(kServerPort)));
}

TEST(Session, OneClientPortTowardsTwoServicesGetsTwoServers) {
  Site site;
  site.service(1, 80, 8080, {1, 2}).service(2, 80, 8080, {1, 2});
  Bench bench(site);
  const auto first = Connection::open(bench, 40000);
  const auto second = Connection::open(bench, 40000, kClient, "10.10.1.101");
  EXPECT_NE(first.server_address(), second.server_address());
  reaches_client(bench, first, first.answers(kAck, "one"));
  reaches_client(bench, second, second.answers(kAck, "two"));
}

TEST(Session, TheSecondServerOfOneClientPortIsTheLeastLoaded) {
  Site site;
  site.service(1, 80, 8080, {1, 2, 3}, forwarding::HASH).service(2, 80, 8080, {1, 2, 3}, forwarding::HASH);
  for (const std::uint32_t busy : {1u, 2u, 3u}) site.service(2 + busy, 80, 8080, {busy});
  Bench bench(site);
  const auto first = Connection::open(bench, 40000);
  std::vector<std::string> others;
  for (const std::uint32_t real : {1u, 2u, 3u}) {
    const std::string vip = "10.10.1." + std::to_string(101 + real);
    const auto one = Connection::open(bench, 50000, kClient, vip);
    if (one.server_address() != first.server_address()) others.push_back(one.server_address());
    if (others.size() == 1 && others[0] == one.server_address()) Connection::open(bench, 50001, kClient, vip);
  }
  const auto second = Connection::open(bench, 40000, kClient, "10.10.1.101");
  EXPECT_EQ(second.server_address(), others.at(1)) << "the other one has a session more";
}

TEST(Session, WithoutASecondServerTheSecondConnectionIsRefused) {
  Site site;
  site.service(1, 80, 8080, {1}).service(2, 80, 8080, {1});
  Bench bench(site);
  const auto first = Connection::open(bench, 40000);
  bench.fates();
  const Packet syn = ip(kClient, "10.10.1.101").tcp(40000, 80, kSyn).seq(300);
  EXPECT_THAT(bench.from_client(syn), ElementsAre(reset(syn.reply(kRst | kAck).ack(301)).out(kClientPort)));
  EXPECT_EQ(bench.fates(), (Fates{{Fate::reset_no_real, 1}}));
  reaches_client(bench, first, first.answers(kAck, "one"));
}

TEST(Session, AClosedHolderOfTheServersSideGivesWay) {
  Site site;
  site.service(1, 80, 8080, {1}).service(2, 80, 8080, {1});
  Bench bench(site);
  const auto first = Connection::open(bench, 40000);
  bench.from_client(first.says(kRst));
  const auto second = Connection::open(bench, 40000, kClient, "10.10.1.101");
  reaches_client(bench, second, second.answers(kAck, "two"));
  EXPECT_EQ(bench.sessions(), 1u);
}

TEST(Session, AForcedClearForgetsOnlyWhatMatches) {
  Bench bench(web(2));
  for (std::uint16_t port = 40000; port < 40010; ++port) Connection::open(bench, port);
  forwarding::SessionFilter of_real;
  of_real.set_real(1);
  const auto filter = bench.director.filter(of_real);
  std::size_t cursor = 0, cleared = 0;
  while (bench.worker().clear(cursor, 3, filter, cleared)) {
  }
  EXPECT_EQ(cleared, 5u);
  EXPECT_EQ(bench.sessions(), 5u);
  EXPECT_EQ(bench.current(1), 0u);
  EXPECT_EQ(bench.current(2), 5u);
  EXPECT_EQ(bench.worker().terminated(), 0u);
}

}  // namespace
}  // namespace headgate::testing
