// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/tcp_life.h"

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace headgate::core {
namespace {

constexpr std::uint8_t kSynAck = tcp::syn | tcp::ack, kFinAck = tcp::fin | tcp::ack;

struct Step {
  Side from;
  Segment segment;
};

// Client numbers start at 1000, server numbers at 5000.
const Step kSyn{Side::client, {tcp::syn, 999, 0, 0}};
const Step kAnswer{Side::real, {kSynAck, 4999, 1000, 0}};
const Step kDone{Side::client, {tcp::ack, 1000, 5000, 0}};
const Step kClientFin{Side::client, {kFinAck, 1000, 5000, 0}};
const Step kRealFin{Side::real, {kFinAck, 5000, 1000, 0}};
const Step kRealAcks{Side::real, {tcp::ack, 5000, 1001, 0}};
const Step kClientAcks{Side::client, {tcp::ack, 1000, 5001, 0}};

TcpLife after(const std::vector<Step>& steps) {
  TcpLife life;
  for (const Step& step : steps) life.pass(step.from, step.segment);
  return life;
}

TcpLife opened_then(std::vector<Step> steps) {
  std::vector<Step> all = {kSyn, kAnswer, kDone};
  all.insert(all.end(), steps.begin(), steps.end());
  return after(all);
}

TEST(TcpLife, OpensWithTheClientsAckAfterTheServersAnswer) {
  EXPECT_EQ(after({}).life(), Life::syn);
  EXPECT_EQ(after({kSyn}).life(), Life::syn);
  EXPECT_EQ(after({kSyn, kDone}).life(), Life::syn) << "the server has said nothing";
  EXPECT_EQ(after({kSyn, kAnswer}).life(), Life::syn);
  EXPECT_EQ(after({kSyn, kSyn, kAnswer, kSyn, kAnswer}).life(), Life::syn);
  EXPECT_EQ(after({kSyn, kAnswer, kDone}).life(), Life::open);
  EXPECT_EQ(after({kSyn, kAnswer, kDone}).marks, TcpLife::kSteady);
}

TEST(TcpLife, TheShortWayOfPlainSegmentsIsTheLongOne) {
  std::mt19937 random(1);
  const auto below = [&](std::uint32_t bound) { return static_cast<std::uint32_t>(random() % bound); };
  const auto near = [&](std::uint32_t number) {
    constexpr std::array<std::uint32_t, 4> kFar = {1u << 24, 1u << 25, 1u << 31, 70'000};
    return below(10) == 0 ? number + kFar[below(4)] - below(3) : number + below(4000) - below(4000);
  };
  for (int round = 0; round < 100; ++round) {
    TcpLife life = opened_then({});
    for (const Side side : {Side::client, Side::real}) life.next[side] = life.acked[side] = random();
    for (int step = 0; step < 300; ++step) {
      const Side from = below(2) == 0 ? Side::client : Side::real;
      const Segment segment{tcp::ack, near(life.next[from]), near(life.next[other(from)]), below(1461)};
      TcpLife steady = life;
      TcpLife::pass_steady(steady.next[from], steady.acked[other(from)], steady.next[other(from)],
                           segment.end(), segment.acknowledgement);
      life.pass(from, segment);
      ASSERT_EQ(life.marks, TcpLife::kSteady);
      for (const Side side : {Side::client, Side::real}) {
        ASSERT_EQ(life.next[side], steady.next[side]) << round << " " << step;
        ASSERT_EQ(life.acked[side], steady.acked[side]) << round << " " << step;
      }
    }
  }
}

TEST(TcpLife, StaysOpenWhateverIsSentAgain) {
  EXPECT_EQ(opened_then({kAnswer, kDone, kSyn, kAnswer}).life(), Life::open);
}

TEST(TcpLife, OneFinHalfCloses) {
  EXPECT_EQ(opened_then({kClientFin}).life(), Life::half_closed);
  EXPECT_EQ(opened_then({kRealFin}).life(), Life::half_closed);
  EXPECT_EQ(opened_then({kClientFin, kRealAcks, kClientFin}).life(), Life::half_closed);
  EXPECT_NE(opened_then({kClientFin}).marks, TcpLife::kSteady);
}

TEST(TcpLife, BothFinsAreClosingUntilBothAreAcknowledged) {
  EXPECT_EQ(opened_then({kClientFin, kRealFin}).life(), Life::closing);
  EXPECT_EQ(opened_then({kClientFin, kRealAcks, kRealFin}).life(), Life::closing);
  EXPECT_EQ(opened_then({kClientFin, kRealAcks, kRealFin, kClientAcks}).life(), Life::closed);
}

TEST(TcpLife, SimultaneousCloseEndsInEveryOrder) {
  std::vector<Step> steps = {kClientFin, kRealFin, kRealAcks, kClientAcks};
  std::vector<int> order = {0, 1, 2, 3};
  do {
    std::vector<Step> shuffled;
    bool causal = true;  // an end acknowledges a FIN after it
    for (const int i : order) shuffled.push_back(steps[static_cast<std::size_t>(i)]);
    const auto at = [&](int i) { return std::ranges::find(order, i) - order.begin(); };
    causal = at(2) > at(0) && at(3) > at(1);
    EXPECT_EQ(opened_then(shuffled).life() == Life::closed, causal);
  } while (std::ranges::next_permutation(order).found);
}

TEST(TcpLife, AnOldAcknowledgementDoesNotCoverTheFin) {
  const Step old_ack{Side::real, {tcp::ack, 5000, 1000, 0}};
  EXPECT_EQ(opened_then({kRealFin, kClientAcks, kClientFin, old_ack}).life(), Life::closing);
  EXPECT_EQ(opened_then({kRealFin, kClientAcks, kClientFin, old_ack, kRealAcks}).life(), Life::closed);
}

TEST(TcpLife, AFinWithDataIsCoveredOnlyByItsLastNumber) {
  const Step fin{Side::client, {kFinAck, 1000, 5001, 100}};
  const Step part{Side::real, {tcp::ack, 5001, 1100, 0}};
  const Step all{Side::real, {tcp::ack, 5001, 1101, 0}};
  EXPECT_EQ(opened_then({kRealFin, fin, part}).life(), Life::closing);
  EXPECT_EQ(opened_then({kRealFin, fin, all}).life(), Life::closed);
}

TEST(TcpLife, SequenceNumbersMayWrap) {
  const Step syn{Side::client, {tcp::syn, 0xfffffffe, 0, 0}};
  const Step answer{Side::real, {kSynAck, 4999, 0xffffffff, 0}};
  const Step done{Side::client, {tcp::ack, 0xffffffff, 5000, 0}};
  const Step fin{Side::client, {kFinAck, 0xffffffff, 5001, 0}};
  EXPECT_EQ(after({syn, answer, done, kRealFin, fin, {Side::real, {tcp::ack, 5001, 0xffffffff, 0}}}).life(),
            Life::closing);
  EXPECT_EQ(after({syn, answer, done, kRealFin, fin, {Side::real, {tcp::ack, 5001, 0, 0}}}).life(),
            Life::closed);
}

TEST(TcpLife, AFinOutsideOfTheWindowChangesNothing) {
  const Step stray{Side::client, {kFinAck, 1000 + (1u << 20), 5000, 0}};
  const TcpLife life = opened_then({stray});
  EXPECT_EQ(life.life(), Life::open);
  EXPECT_EQ(life.next[Side::client], 1000u);
}

TEST(TcpLife, AResetIsOneThatItsSenderMayHaveSent) {
  const auto may = [](const TcpLife& life, Side from, std::uint32_t sequence) {
    return life.may_reset(from, {tcp::rst, sequence, 0, 0});
  };
  const Step data{Side::client, {tcp::ack, 1000, 5000, 3000}};
  const TcpLife life = opened_then({data});  // 3,000 bytes of which nothing is acknowledged
  EXPECT_FALSE(may(life, Side::client, 999));
  EXPECT_TRUE(may(life, Side::client, 1000)) << "in answer to what the server sent before";
  EXPECT_TRUE(may(life, Side::client, 4000)) << "after all that it sent";
  EXPECT_TRUE(may(life, Side::client, 4000 + 65535)) << "some segments may have been lost on their way here";
  EXPECT_FALSE(may(life, Side::client, 4000 + 65536));
  EXPECT_FALSE(may(life, Side::client, 4000 + (1u << 31)));
  EXPECT_TRUE(may(life, Side::real, 5000));
  EXPECT_FALSE(may(life, Side::real, 4999));
}

TEST(TcpLife, AResetThatAnswersASynAcknowledgesIt) {
  const TcpLife life = after({kSyn});
  const std::uint32_t after_syn = life.next[Side::client];
  EXPECT_TRUE(life.may_reset(Side::real, {tcp::rst | tcp::ack, 0, after_syn, 0}));
  EXPECT_FALSE(life.may_reset(Side::real, {tcp::rst | tcp::ack, 0, after_syn - 1, 0}));
  EXPECT_FALSE(life.may_reset(Side::real, {tcp::rst | tcp::ack, 0, after_syn + 1, 0}));
  EXPECT_FALSE(life.may_reset(Side::real, {tcp::rst, 0, 0, 0}));
}

TEST(TcpLife, AResetAfterAChallengedSynHasTheNumberOfTheChallenge) {
  const Step challenge{Side::real, {tcp::ack, 7000, 0x9000000, 0}};
  const TcpLife life = after({kSyn, challenge});
  const std::uint32_t after_syn = life.next[Side::client];
  const auto may = [&](std::uint32_t sequence) {
    return life.may_reset(Side::client, {tcp::rst, sequence, 0, 0});
  };
  EXPECT_TRUE(may(0x9000000));
  EXPECT_FALSE(may(0x9000001));
  EXPECT_FALSE(may(0x8ffffff));
  EXPECT_TRUE(may(after_syn)) << "a client that gives up";
  EXPECT_FALSE(may(after_syn + 65536));
  EXPECT_FALSE(may(after_syn - 65536));
}

TEST(TcpLife, AfterAChallengeTheHandshakeOpensAsEver) {
  const Step challenge{Side::real, {tcp::ack, 7000, 0x9000000, 0}};
  const TcpLife life = after({kSyn, challenge, kAnswer, kDone});
  EXPECT_EQ(life.life(), Life::open);
  EXPECT_EQ(life.acked, after({kSyn, kAnswer, kDone}).acked);
}

TEST(TcpLife, AResetClosesFromAnyState) {
  const Step reset{Side::real, {tcp::rst, 5000, 0, 0}};
  for (const auto& before : std::vector<std::vector<Step>>{
           {}, {kSyn}, {kSyn, kAnswer}, {kSyn, kAnswer, kDone}, {kSyn, kAnswer, kDone, kClientFin}}) {
    TcpLife life = after(before);
    life.pass(Side::real, reset.segment);
    EXPECT_EQ(life.life(), Life::closed);
    life.pass(Side::client, kDone.segment);
    EXPECT_EQ(life.life(), Life::closed) << "for good";
  }
}

TEST(TcpLife, ARefusalIsNoAnswer) {
  const TcpLife life = after({kSyn, {Side::real, {tcp::rst | tcp::ack, 0, 1000, 0}}});
  EXPECT_EQ(life.marks & TcpLife::kAnswered, 0);
}

// ---- A SYN for another connection in the place of one

// The numbers of another connection, far from those of the first.
const Step kAsks{Side::client, {tcp::syn, 0x90000000, 0, 0}};
const Step kTakes{Side::real, {kSynAck, 0xd0000000, 0x90000001, 0}};

TEST(TcpLife, AnotherSynAloneChangesNothing) {
  for (const std::uint32_t near : {999u, 1000u, 2000u, 0x90000000u}) {
    const Step syn{Side::client, {tcp::syn, near, 0, 3}};
    for (const auto& before : std::vector<std::vector<Step>>{{}, {kClientFin}, {kRealFin}}) {
      const TcpLife life = opened_then(before);
      TcpLife then = life;
      then.pass(Side::client, syn.segment);
      EXPECT_EQ(then.next, life.next) << near;
      EXPECT_EQ(then.acked, life.acked) << near;
      EXPECT_EQ(then.marks, life.marks) << near;
    }
  }
}

TEST(TcpLife, ASynThatTheServerTakesStartsAllAnew) {
  for (const auto& before : std::vector<std::vector<Step>>{{}, {kClientFin}, {kRealFin, kClientAcks}}) {
    std::vector<Step> steps = before;
    steps.insert(steps.end(), {kAsks, kTakes});
    const TcpLife life = opened_then(steps);
    EXPECT_EQ(life.life(), Life::syn);
    EXPECT_EQ(life.next, (BySide<std::uint32_t>{{0x90000001, 0xd0000001}}));
    EXPECT_EQ(life.acked, (BySide<std::uint32_t>{{0x90000001, 0xd0000000}}));
    EXPECT_EQ(life.asked, std::nullopt);
    steps.push_back({Side::client, {tcp::ack, 0x90000001, 0xd0000001, 0}});
    EXPECT_EQ(opened_then(steps).marks, TcpLife::kSteady);
    EXPECT_EQ(opened_then(steps).acked[Side::real], 0xd0000001);
  }
}

TEST(TcpLife, AServerMayTakeASynWithItsDataOrWithout) {
  const Step syn{Side::client, {tcp::syn, 0x90000000, 0, 100}};
  const auto takes = [&](std::uint32_t number) {
    return opened_then({syn, {Side::real, {kSynAck, 0xd0000000, number, 0}}}).life() == Life::syn;
  };
  EXPECT_TRUE(takes(0x90000001));
  EXPECT_TRUE(takes(0x90000065));
  EXPECT_FALSE(takes(0x90000000));
  EXPECT_FALSE(takes(0x90000066));
  EXPECT_FALSE(takes(1000));
}

TEST(TcpLife, NothingElseTakesASyn) {
  const Segment takes = kTakes.segment;
  const auto stays = [](const std::vector<Step>& steps) {
    const TcpLife life = opened_then(steps);
    return life.life() == Life::open && life.next[Side::client] == 1000;
  };
  EXPECT_TRUE(stays({kAsks, {Side::real, {tcp::ack, 5000, 1000, 0}}})) << "a challenge";
  EXPECT_TRUE(stays({kAsks, {Side::real, {tcp::ack, 0xd0000000, 0x90000001, 0}}}));
  EXPECT_TRUE(stays({kAsks, {Side::real, {tcp::syn, 0xd0000000, 0x90000001, 0}}}));
  EXPECT_TRUE(stays({kAsks, {Side::client, takes}})) << "from the wrong side";
  EXPECT_TRUE(stays({{Side::real, takes}})) << "nobody asked";
  EXPECT_TRUE(stays({kTakes, kAsks})) << "before it was asked for";
}

TEST(TcpLife, TheLastSynIsTheOneThatMayBeTaken) {
  const Step other{Side::client, {tcp::syn, 0x70000000, 0, 0}};
  EXPECT_EQ(opened_then({kAsks, other, kTakes}).life(), Life::open);
  EXPECT_EQ(opened_then({other, kAsks, kTakes}).life(), Life::syn);
}

TEST(TcpLife, AClosedConnectionStaysClosedWhateverIsTaken) {
  const Step reset{Side::client, {tcp::rst, 1000, 0, 0}};
  EXPECT_EQ(opened_then({kAsks, reset, kTakes}).life(), Life::closed);
}

TEST(TcpLife, AFinBeforeTheHandshakeIsDoneEndsNothing) {
  const TcpLife life = after({kSyn, {Side::client, {tcp::fin | tcp::ack, 101, 0, 0}}});
  EXPECT_EQ(life.life(), Life::syn);
}

TEST(TcpLife, OnlyASynAloneOpens) {
  for (int flags = 0; flags < 64; ++flags) {
    const Segment segment{.flags = static_cast<std::uint8_t>(flags)};
    const bool alone = (flags & tcp::syn) != 0 && (flags & (tcp::ack | tcp::rst | tcp::fin)) == 0;
    EXPECT_EQ(tcp::opens(segment.flags), alone) << flags;
  }
}

}  // namespace
}  // namespace headgate::core
