// SPDX-License-Identifier: Apache-2.0
// The single words that threads share: tallies, the doorbell.
#include <poll.h>

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "dataplane/core/shared.h"
#include "dataplane/shell/doorbell.h"

namespace headgate::testing {
namespace {

constexpr unsigned kThreads = 3;
constexpr unsigned kRounds = 20'000;

TEST(Words, TalliesLoseNothing) {
  core::Tally tally;
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&tally] {
      for (unsigned round = 0; round < kRounds; ++round) {
        tally.open();
        tally.open();
        tally.close(2);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(tally.current, 0u);
  EXPECT_GE(tally.highest, 2u);
  EXPECT_LE(tally.highest, 2u * kThreads);
}

// Who rings has done something before: the one who answers sees it, this time or the next.
TEST(Words, NoRingOfTheDoorbellIsLost) {
  shell::Doorbell doorbell;
  std::atomic<std::uint64_t> done{0};
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&] {
      for (unsigned round = 0; round < kRounds; ++round) {
        done.fetch_add(1, std::memory_order_relaxed);
        doorbell.ring();
      }
    });
  }
  std::uint64_t seen = 0;
  while (seen < std::uint64_t{kThreads} * kRounds) {
    pollfd waiting{.fd = doorbell.fd(), .events = POLLIN, .revents = 0};
    const int ready = poll(&waiting, 1, 60'000);
    EXPECT_EQ(ready, 1) << "a ring was lost after " << seen;
    if (ready != 1) break;
    doorbell.answer();
    seen = done.load(std::memory_order_relaxed);
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace headgate::testing
