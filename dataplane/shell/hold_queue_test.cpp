// SPDX-License-Identifier: Apache-2.0
#include "dataplane/shell/hold_queue.h"

#include <gtest/gtest.h>

#include <vector>

namespace headgate::shell {
namespace {

using Queue = HoldQueue<int>;
using Put = Queue::Put;

struct Released {
  std::vector<int> sent;
  std::vector<int> dropped;
};

Released release(Queue& queue, Tick now, std::vector<core::HopIndex> resolved) {
  Released out;
  queue.release(
      now,
      [&](core::HopIndex hop) { return std::find(resolved.begin(), resolved.end(), hop) != resolved.end(); },
      [&](int* packet, core::HopIndex) { out.sent.push_back(*packet); },
      [&](int* packet) { out.dropped.push_back(*packet); });
  return out;
}

TEST(HoldQueueTest, TellsTheFirstPacketForAHopSoThatItIsAskedForOnce) {
  Queue queue;
  int packet = 1;
  EXPECT_EQ(queue.put(&packet, 7, {0}), Put::first);
  EXPECT_EQ(queue.put(&packet, 7, {0}), Put::taken);
  EXPECT_EQ(queue.put(&packet, 8, {0}), Put::first);
}

TEST(HoldQueueTest, SendsInOrderWhenTheHopIsKnownAndKeepsTheOthers) {
  Queue queue;
  int packets[] = {0, 1, 2};
  static_cast<void>(queue.put(&packets[0], 7, {0}));
  static_cast<void>(queue.put(&packets[1], 8, {0}));
  static_cast<void>(queue.put(&packets[2], 7, {0}));

  EXPECT_EQ(release(queue, {1}, {7}).sent, (std::vector<int>{0, 2}));
  EXPECT_EQ(queue.size(), 1U);
  EXPECT_EQ(release(queue, {1}, {8}).sent, (std::vector<int>{1}));
  EXPECT_TRUE(queue.empty());
}

TEST(HoldQueueTest, KnowsForWhomPacketsWait) {
  Queue queue;
  int packet = 1;
  static_cast<void>(queue.put(&packet, 7, {0}));
  EXPECT_TRUE(queue.holds(7));
  EXPECT_FALSE(queue.holds(7 + 256)) << "alike in the last bits";
  static_cast<void>(release(queue, {1}, {7}));
  EXPECT_FALSE(queue.holds(7));
}

TEST(HoldQueueTest, AHopThatResolvesMeanwhileLetsNoneOvertake) {
  Queue queue;
  int packets[] = {0, 1, 2};
  for (int& packet : packets) static_cast<void>(queue.put(&packet, 7, {0}));
  std::vector<int> sent;
  const auto send = [&](int* packet, core::HopIndex) { sent.push_back(*packet); };
  const auto drop = [](int*) { FAIL(); };
  int looks = 0;
  queue.release(
      {1}, [&](core::HopIndex) { return ++looks > 1; }, send, drop);
  EXPECT_EQ(sent, std::vector<int>{});
  queue.release(
      {1}, [](core::HopIndex) { return true; }, send, drop);
  EXPECT_EQ(sent, (std::vector<int>{0, 1, 2}));
}

TEST(HoldQueueTest, DropsWhatWaitedThreeSecondsAlsoOverTheWrapOfTheClock) {
  Queue queue;
  int packet = 5;
  const Tick start{0xfffffff0};
  static_cast<void>(queue.put(&packet, 7, start));
  EXPECT_TRUE(release(queue, start.plus(3 * Tick::kPerSecond - 1), {}).dropped.empty());
  EXPECT_EQ(release(queue, start.plus_seconds(3), {}).dropped, (std::vector<int>{5}));
  EXPECT_TRUE(queue.empty());
}

TEST(HoldQueueTest, HoldsFourForAHopAndABoundedNumberInAll) {
  Queue queue;
  int packet = 1;
  for (std::size_t i = 0; i < Queue::kPerHop; ++i) EXPECT_NE(queue.put(&packet, 0, {0}), Put::full);
  EXPECT_EQ(queue.put(&packet, 0, {0}), Put::full);
  for (std::size_t i = Queue::kPerHop; i < Queue::kCapacity; ++i) {
    EXPECT_EQ(queue.put(&packet, static_cast<core::HopIndex>(i), {0}), Put::first);
  }
  EXPECT_EQ(queue.put(&packet, 9999, {0}), Put::full);
}

}  // namespace
}  // namespace headgate::shell
