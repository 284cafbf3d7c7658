// SPDX-License-Identifier: Apache-2.0
// Sessions of datagrams: how long they last, and where they go when their server fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/packet/beds.h"

namespace headgate::testing {
namespace {

using core::Fate;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint32_t kIdle = 600;  // seconds, as Site has it

class UdpSessionTest : public ::testing::TestWithParam<const Bed*> {
 protected:
  /// A service of two servers, and `fast` for its option udpage, with a fast-age period of 4 seconds.
  [[nodiscard]] Site site(bool fast = false) const {
    Site made = dns(bed, 2);
    made.edit().mutable_ageing()->set_closed_seconds(4);
    made.edit().mutable_service(0)->set_fast_udp(fast);
    return made;
  }
  [[nodiscard]] Packet query() const { return ip(bed.client, bed.vip).udp(40000, 53, "query"); }
  [[nodiscard]] Packet answer(std::string_view server) const {
    return ip(server, bed.client).udp(5353, 40000, "answer");
  }
  void expect_at(Bench& bench, std::string_view server) const {
    const Packet expected = ip(bed.client, server).udp(40000, 5353, "query").ttl(63);
    EXPECT_THAT(bench.from_client(query()), ElementsAre(expected.out(kServerPort)));
  }
  void expect_answered(Bench& bench, std::string_view server) const {
    const Packet expected = ip(bed.vip, bed.client).udp(53, 40000, "answer").ttl(63);
    EXPECT_THAT(bench.from_server(answer(server)), ElementsAre(expected.out(kClientPort)));
  }
  /// Forgotten at the first tick after so many seconds, and no sooner.
  static void lasts(Bench& bench, std::uint32_t seconds) {
    bench.wait(seconds);
    EXPECT_EQ(bench.sweep(), 0u);
    bench.now = bench.now.plus(1);
    EXPECT_EQ(bench.sweep(), 1u);
    EXPECT_EQ(bench.current(1), 0u);
  }

  const Bed& bed = *GetParam();
};
INSTANTIATE_TEST_SUITE_P(Families, UdpSessionTest, ::testing::Values(&kBed4, &kBed6), family_name);

TEST_P(UdpSessionTest, ASessionEndsWhenItsIdleTimeIsOver) {
  for (const bool answered : {false, true}) {
    Bench bench(site());
    expect_at(bench, bed.server);
    if (answered) expect_answered(bench, bed.server);
    lasts(bench, kIdle);
    EXPECT_THAT(bench.from_server(answer(bed.server)), IsEmpty());
  }
}

TEST_P(UdpSessionTest, ADatagramOfEitherEndBeginsTheIdleTimeAgain) {
  Bench bench(site());
  expect_at(bench, bed.server);
  bench.wait(kIdle);
  expect_answered(bench, bed.server);
  bench.wait(kIdle);
  expect_at(bench, bed.server);
  EXPECT_EQ(bench.total(1), 1u);
  lasts(bench, kIdle);
}

TEST_P(UdpSessionTest, FastAgeingBeginsWithTheAnswer) {
  Bench unanswered(site(true));
  expect_at(unanswered, bed.server);
  lasts(unanswered, kIdle);
  Bench answered(site(true));
  expect_at(answered, bed.server);
  expect_answered(answered, bed.server);
  lasts(answered, 8);
}

TEST_P(UdpSessionTest, FastAgeingNeverOutlastsTheIdleTime) {
  Bench bench(site(true).idle(5));
  expect_at(bench, bed.server);
  expect_answered(bench, bed.server);
  lasts(bench, 5);
}

TEST_P(UdpSessionTest, AnswersNextDatagramByAnotherServerWhenItsOwnFailed) {
  Bench bench(site());
  expect_at(bench, bed.server);
  expect_answered(bench, bed.server);
  bench.admit(bed.udp_target(1), forwarding::CLOSED);
  bench.fates();
  EXPECT_THAT(bench.from_server(answer(bed.server)), IsEmpty()) << "it is over already";
  expect_at(bench, bed.server2);
  EXPECT_EQ(bench.current(1), 0u);
  EXPECT_EQ(bench.current(2), 1u);
  EXPECT_THAT(bench.from_server(answer(bed.server)), IsEmpty());
  expect_answered(bench, bed.server2);
  EXPECT_EQ(bench.fates(), (Fates{{Fate::drop_no_session, 2}, {Fate::to_real, 1}, {Fate::to_client, 1}}));
  EXPECT_EQ(bench.sessions(), 1u);
}

TEST_P(UdpSessionTest, WithGraceItStaysAtItsServer) {
  Bench bench(site());
  expect_at(bench, bed.server);
  bench.admit(bed.udp_target(1), forwarding::DRAINING);
  expect_at(bench, bed.server);
  expect_answered(bench, bed.server);
  EXPECT_EQ(bench.current(1), 1u);
  EXPECT_EQ(bench.total(2), 0u);
}

}  // namespace
}  // namespace headgate::testing
