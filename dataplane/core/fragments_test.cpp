// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/fragments.h"

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace headgate::core {
namespace {

using Verdict = Fragments::Verdict;

constexpr std::uint8_t kTcp = 6, kUdp = 17;
constexpr std::uint32_t kPorts = 40000u << 16 | 53;
const Ip kClient = Ipv4{0x0a0a010a}, kVip = Ipv4{0x0a0a0164};

Fragment piece(std::uint16_t offset, std::uint16_t length, bool more, std::uint32_t id = 7) {
  return {.source = kClient,
          .destination = kVip,
          .id = id,
          .protocol = kUdp,
          .more = more,
          .offset = offset,
          .length = length,
          .header = 20,
          .ports = offset == 0 ? kPorts : 0};
}

// A datagram of 4,000 bytes in three fragments.
const Fragment kFirst = piece(0, 1480, true), kMiddle = piece(1480, 1480, true),
               kLast = piece(2960, 1040, false);

class FragmentsTest : public ::testing::Test {
 protected:
  Verdict take(const Fragment& fragment) { return table.take(fragment, 0, now).verdict; }

  Fragments::Totals totals;
  Fragments table{42, totals};
  Tick now{100};
};

TEST_F(FragmentsTest, InOrderAllPassWithThePortsOfTheFirstAndAreForgotten) {
  for (const Fragment& fragment : {kFirst, kMiddle, kLast}) {
    const auto answer = table.take(fragment, 0, now);
    EXPECT_EQ(answer.verdict, Verdict::pass);
    EXPECT_EQ(answer.ports, kPorts);
    EXPECT_FALSE(answer.release);
  }
  EXPECT_EQ(table.current(), 0u);
  EXPECT_EQ(totals.datagrams.get(), 1u);
}

TEST_F(FragmentsTest, ThoseBeforeTheFirstWaitAndFollowIt) {
  const auto last = table.take(kLast, 0, now);
  EXPECT_EQ(last.verdict, Verdict::park);
  EXPECT_EQ(table.take(kMiddle, 0, now).datagram, last.datagram);
  EXPECT_EQ(table.parked(), 2u);
  const auto first = table.take(kFirst, 0, now);
  EXPECT_EQ(first.verdict, Verdict::pass);
  EXPECT_TRUE(first.release);
  EXPECT_EQ(first.datagram, last.datagram);
  for (const Fragment& fragment : {kLast, kMiddle}) {
    const auto again = table.take(fragment, first.datagram, now);
    EXPECT_EQ(again.verdict, Verdict::pass);
    EXPECT_EQ(again.ports, kPorts);
  }
  EXPECT_EQ(table.parked(), 0u);
  EXPECT_EQ(table.current(), 0u);
}

TEST_F(FragmentsTest, EveryOrderOfAnyDatagramPassesWhole) {
  std::mt19937 random(80);
  for (std::uint32_t id = 0; id < 2000; ++id) {
    const std::size_t count = 2 + random() % 40;
    std::vector<Fragment> datagram;
    for (std::size_t i = 0; i < count; ++i) {
      datagram.push_back(piece(static_cast<std::uint16_t>(i * 1480), 1480, i + 1 < count, id));
    }
    std::shuffle(datagram.begin(), datagram.end(), random);
    std::vector<Fragment> parked;
    std::size_t passed = 0;
    for (const Fragment& fragment : datagram) {
      const auto answer = table.take(fragment, 0, now);
      if (answer.verdict == Verdict::park) parked.push_back(fragment);
      passed += answer.verdict == Verdict::pass ? 1u : 0u;
      if (!answer.release) continue;
      for (const Fragment& again : parked)
        passed += table.take(again, answer.datagram, now).verdict == Verdict::pass ? 1u : 0u;
    }
    ASSERT_EQ(passed, count);
    ASSERT_EQ(table.current(), 0u);
    ASSERT_EQ(table.parked(), 0u);
  }
}

TEST_F(FragmentsTest, DuplicatesAreNamedAndHarmNothing) {
  EXPECT_EQ(take(kLast), Verdict::park);
  EXPECT_EQ(take(kLast), Verdict::duplicate);
  EXPECT_EQ(take(kFirst), Verdict::pass);
  EXPECT_EQ(take(kFirst), Verdict::duplicate);
  EXPECT_EQ(take(kMiddle), Verdict::pass);
}

TEST_F(FragmentsTest, AnOverlapRefusesAllThatFollows) {
  const std::vector<Fragment> overlaps = {
      piece(1472, 1480, true),  // by a few bytes
      piece(8, 64, true),       // within (teardrop)
      piece(0, 2960, true),     // around
      piece(1472, 8, true),     // the end of another one
      piece(0, 1480, false),    // the same, but it is the last
      piece(800, 200, false),   // an end before what is known
  };
  for (std::uint32_t id = 0; id < overlaps.size(); ++id) {
    Fragment first = kFirst, middle = kMiddle, bad = overlaps[id];
    first.id = middle.id = bad.id = 1000 + id;
    EXPECT_EQ(take(first), Verdict::pass);
    EXPECT_EQ(take(bad), Verdict::overlap) << id;
    EXPECT_EQ(take(middle), Verdict::refuse) << id;
  }
}

TEST_F(FragmentsTest, ContradictionsAboutTheEndAreOverlaps) {
  EXPECT_EQ(take(kFirst), Verdict::pass);
  EXPECT_EQ(take(kLast), Verdict::pass);
  EXPECT_EQ(take(piece(4000, 8, true)), Verdict::overlap) << "behind the end";
  EXPECT_EQ(take(piece(0, 1480, true, 8)), Verdict::pass);
  EXPECT_EQ(take(piece(2960, 1040, false, 8)), Verdict::pass);
  EXPECT_EQ(take(piece(1480, 800, false, 8)), Verdict::overlap) << "a second end";
}

TEST_F(FragmentsTest, TwoFirstsWithOtherPortsAreAnOverlap) {
  EXPECT_EQ(take(kFirst), Verdict::pass);
  Fragment other = kFirst;
  other.ports = 40001u << 16 | 53;
  EXPECT_EQ(take(other), Verdict::overlap);
}

TEST_F(FragmentsTest, AnOverlapSetsFreeWhoWaits) {
  const auto parked = table.take(kLast, 0, now);
  const auto bad = table.take(piece(2968, 8, true), 0, now);
  EXPECT_EQ(bad.verdict, Verdict::overlap);
  EXPECT_TRUE(bad.release);
  EXPECT_EQ(table.take(kLast, parked.datagram, now).verdict, Verdict::refuse);
}

TEST_F(FragmentsTest, ImpossibleSizesAreBad) {
  EXPECT_EQ(take(piece(0, 0, true)), Verdict::bad);
  EXPECT_EQ(take(piece(1480, 1479, true)), Verdict::bad) << "only the last may have any length";
  EXPECT_EQ(take(piece(65528, 8, false)), Verdict::bad) << "with its header beyond 65,535 (ping of death)";
  EXPECT_EQ(take(piece(65504, 11, false)), Verdict::park) << "exactly the longest datagram";
  EXPECT_EQ(totals.datagrams.get(), 1u);
}

TEST_F(FragmentsTest, TinyFirstsAreRefused) {
  const auto tcp = [](Fragment fragment) {
    fragment.protocol = kTcp;
    return fragment;
  };
  EXPECT_EQ(take(tcp(piece(0, 8, true))), Verdict::tiny);
  EXPECT_EQ(take(tcp(piece(0, 16, true))), Verdict::tiny);
  EXPECT_EQ(take(tcp(piece(8, 64, true))), Verdict::tiny) << "would overwrite the flags (RFC 1858)";
  EXPECT_EQ(take(tcp(piece(0, 24, true))), Verdict::pass);
  EXPECT_EQ(take(piece(0, 7, false, 9)), Verdict::tiny);
  EXPECT_EQ(take(piece(0, 8, true, 9)), Verdict::pass) << "the whole UDP header";
}

TEST_F(FragmentsTest, WhoWaitsTooLongIsEarlyAndTheNumberMayComeAgain) {
  const auto parked = table.take(kLast, 0, now);
  now = now.plus(Fragments::kPatience);
  EXPECT_EQ(table.take(kLast, parked.datagram, now).verdict, Verdict::early);
  EXPECT_EQ(table.parked(), 0u);
  now = now.plus(Fragments::kLife);
  EXPECT_EQ(take(kFirst), Verdict::pass) << "a new datagram";
  EXPECT_EQ(take(kMiddle), Verdict::pass);
  EXPECT_EQ(take(kLast), Verdict::pass);
}

TEST_F(FragmentsTest, AgesByTime) {
  EXPECT_EQ(take(kFirst), Verdict::pass);
  table.expire(now.plus(Fragments::kLife), 100);
  EXPECT_EQ(table.current(), 1u);
  table.expire(now.plus(Fragments::kLife + 1), 100);
  EXPECT_EQ(table.current(), 0u);
}

TEST_F(FragmentsTest, AFloodIsBoundedAndNeverStopsTheDatagramThatComesWhole) {
  for (std::uint32_t id = 0; id < 65536; ++id) {
    take(piece(1480, 1480, true, id));
    if (id % 1000 != 999) continue;
    const std::uint32_t own = 100'000 + id;
    EXPECT_EQ(take(piece(0, 1480, true, own)), Verdict::pass);
    EXPECT_EQ(take(piece(1480, 20, false, own)), Verdict::pass);
  }
  EXPECT_LE(table.current(), Fragments::kDatagrams);
  EXPECT_LE(table.parked(), Fragments::kMostParked);
  EXPECT_GT(totals.pushed_out.get(), 60'000u);
  table.expire(now.plus(Fragments::kLife + 1), Fragments::kDatagrams);
  EXPECT_EQ(table.current(), 0u);
}

TEST_F(FragmentsTest, WhoWaitsForADatagramThatWasPushedOutIsEarly) {
  const auto parked = table.take(kLast, 0, now);
  for (std::uint32_t id = 100; id < 100 + Fragments::kDatagrams; ++id) take(piece(0, 1480, true, id));
  EXPECT_EQ(take(kFirst), Verdict::pass) << "under another serial";
  EXPECT_EQ(table.take(kLast, parked.datagram, now).verdict, Verdict::early);
}

TEST_F(FragmentsTest, NoDatagramHasMorePiecesThanTheBound) {
  for (std::uint16_t i = 0; i < Fragments::kPieces; ++i)
    EXPECT_EQ(take(piece(static_cast<std::uint16_t>(i * 8), 8, true)), Verdict::pass);
  EXPECT_EQ(take(piece(Fragments::kPieces * 8, 8, true)), Verdict::overlap);
}

TEST_F(FragmentsTest, AddressesProtocolAndNumberTellDatagramsApart) {
  std::vector<Fragment> others(5, kMiddle);
  others[0].id = 8;
  others[1].protocol = kTcp;
  others[2].source = Ipv4{0x0a0a010b};
  others[3].destination = Ipv4{0x0a0a0165};
  others[4].source.octets[0] = 0x20;  // IPv6 addresses that end in the same way
  EXPECT_EQ(take(kFirst), Verdict::pass);
  for (const Fragment& other : others) EXPECT_EQ(take(other), Verdict::park);
  EXPECT_EQ(take(kMiddle), Verdict::pass);
}

// A plain model: every byte of every datagram that was ever claimed.
TEST_F(FragmentsTest, AgreesWithAPlainModelOnRandomFragments) {
  struct Model {
    std::set<std::pair<unsigned, unsigned>> pieces;
    bool first = false, refused = false;
  };
  std::mt19937 random(7);
  std::map<std::uint32_t, Model> models;
  for (int round = 0; round < 20'000; ++round) {
    const std::uint32_t id = random() % 1500;
    const unsigned at = random() % 12, units = 1 + random() % 2;
    Model& model = models[id];
    const auto verdict =
        table
            .take(piece(static_cast<std::uint16_t>(at * 8), static_cast<std::uint16_t>(units * 8), true, id),
                  0, now)
            .verdict;
    bool overlaps = false;
    for (const auto& [from, size] : model.pieces)
      overlaps = overlaps || (from < at + units && at < from + size);
    Verdict expected = at == 0 || model.first ? Verdict::pass : Verdict::park;
    if (overlaps) expected = Verdict::overlap;
    if (model.pieces.contains({at, units})) expected = Verdict::duplicate;
    if (model.refused) expected = Verdict::refuse;
    if (expected == Verdict::park && verdict == Verdict::early) expected = Verdict::early;
    ASSERT_EQ(verdict, expected) << round;
    model.refused = model.refused || expected == Verdict::overlap;
    if (expected == Verdict::pass || expected == Verdict::park || expected == Verdict::early)
      model.pieces.insert({at, units}), model.first = model.first || at == 0;
  }
  EXPECT_EQ(totals.pushed_out.get(), 0u);
}

}  // namespace
}  // namespace headgate::core
