// SPDX-License-Identifier: Apache-2.0
#include "dataplane/shell/park_queue.h"

#include <array>
#include <vector>

#include <gtest/gtest.h>

namespace headgate::shell {
namespace {

using Queue = ParkQueue<int>;

std::vector<int> taken(std::span<int* const> packets, std::size_t count) {
  std::vector<int> out;
  for (int* packet : packets.first(count)) out.push_back(*packet);
  return out;
}

class ParkQueueTest : public ::testing::Test {
 protected:
  std::array<int, 8> numbers{0, 1, 2, 3, 4, 5, 6, 7};
  std::array<int*, 8> out{};
  Queue queue;
  Tick now{100};
};

TEST_F(ParkQueueTest, GivesADatagramsFragmentsInTheirOrderAndKeepsTheOthers) {
  for (std::uint32_t i = 0; i < 6; ++i) EXPECT_TRUE(queue.put(&numbers[i], 1 + i % 2, now));
  EXPECT_EQ(taken(out, queue.take(2, out)), (std::vector{1, 3, 5}));
  EXPECT_EQ(queue.size(), 3u);
  EXPECT_EQ(taken(out, queue.take(1, std::span(out).first(2))), (std::vector{0, 2})) << "a piece at a time";
  EXPECT_EQ(taken(out, queue.take(1, out)), (std::vector{4}));
  EXPECT_TRUE(queue.empty());
}

TEST_F(ParkQueueTest, GivesWhoWaitedLongEnough) {
  EXPECT_TRUE(queue.put(&numbers[0], 1, now));
  EXPECT_TRUE(queue.put(&numbers[1], 2, now.plus(1)));
  EXPECT_EQ(queue.take_impatient(now.plus(core::Fragments::kPatience - 1), out), 0u);
  EXPECT_EQ(taken(out, queue.take_impatient(now.plus(core::Fragments::kPatience), out)), (std::vector{0}));
  EXPECT_EQ(taken(out, queue.take_all(out)), (std::vector{1}));
}

TEST_F(ParkQueueTest, RefusesWhatItHasNoRoomFor) {
  for (std::size_t i = 0; i < Queue::kCapacity; ++i) EXPECT_TRUE(queue.put(&numbers[0], 1, now));
  EXPECT_FALSE(queue.put(&numbers[1], 1, now));
  EXPECT_EQ(queue.size(), Queue::kCapacity);
}

}  // namespace
}  // namespace headgate::shell
