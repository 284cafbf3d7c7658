// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/maglev.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace headgate::core {
namespace {

std::vector<std::uint64_t> servers(std::size_t count) {
  std::vector<std::uint64_t> identities;
  std::mt19937_64 random(5);
  for (std::size_t i = 0; i < count; ++i) identities.push_back(random());
  return identities;
}

class MaglevOf : public ::testing::TestWithParam<std::size_t> {};

TEST_P(MaglevOf, SharesDifferByOneSlotAtMost) {
  const Maglev table(servers(GetParam()));
  std::vector<std::size_t> slots(GetParam(), 0);
  for (const std::uint16_t server : table.slots()) ++slots.at(server);
  EXPECT_LE(std::ranges::max(slots) - std::ranges::min(slots), 1u);
  EXPECT_GE(std::ranges::min(slots), Maglev::kSlotsEach);
}

// The optimum is the share of the server that left, 1/n; what moves beside it is the table's own price.
TEST_P(MaglevOf, OneServerLessMovesLittleBesideItsOwnClients) {
  const std::size_t count = GetParam();
  if (count < 2) return;
  auto identities = servers(count);
  const Maglev before(identities);
  identities.pop_back();
  const Maglev after(identities);
  std::mt19937_64 random(6);
  constexpr int kClients = 20000;
  int lost = 0, moved = 0;
  for (int i = 0; i < kClients; ++i) {
    const std::uint64_t client = random();
    const bool was_there = before.at(client) == count - 1;
    lost += was_there ? 1 : 0;
    moved += !was_there && before.at(client) != after.at(client) ? 1 : 0;
  }
  EXPECT_NEAR(lost, kClients / static_cast<double>(count), kClients * 0.02);
  EXPECT_LE(moved, kClients * 0.05) << "more than 5 % of the clients of servers that stayed";
}

INSTANTIATE_TEST_SUITE_P(Sizes, MaglevOf, ::testing::Values(1, 2, 3, 16, 100, 1024));

TEST(Maglev, TheOrderOfTheListDoesNotMatter) {
  auto identities = servers(50);
  const Maglev one(identities);
  std::ranges::reverse(identities);
  const Maglev other(identities);
  for (std::size_t slot = 0; slot < one.slots().size(); ++slot)
    ASSERT_EQ(one.slots()[slot], 49 - other.slots()[slot]);
}

}  // namespace
}  // namespace headgate::core
