// SPDX-License-Identifier: Apache-2.0
// A server that is closed while a worker binds sessions to it.
#include <atomic>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "dataplane/core/switch.h"
#include "tests/packet/bench.h"
#include "tests/threads/burst.h"

namespace headgate::testing {
namespace {

constexpr std::size_t kSessions = 8192;

class Opening {
 public:
  /// A worker opens sessions from one burst to the next; the server is closed in the middle of one, and
  /// opened again when the worker rests.
  void run_round(unsigned bursts_before) {
    std::atomic<unsigned> bursts{0};
    std::thread worker([&] { open_sessions(bursts); });
    while (bursts.load(std::memory_order_relaxed) < bursts_before) {
    }
    bench_.shared.admit(slot(), forwarding::CLOSED);
    closed_.store(true, std::memory_order_relaxed);
    worker.join();
    bench_.shared.admit(slot(), forwarding::OPEN);
    closed_.store(false, std::memory_order_relaxed);
  }
  [[nodiscard]] std::vector<core::SessionView> sessions() {
    std::vector<core::SessionView> views;
    std::size_t cursor = 0;
    while (worker_.dump(cursor, kSessions, {}, bench_.now, views)) {
    }
    return views;
  }
  void clear() {
    std::size_t cursor = 0, cleared = 0;
    while (worker_.clear(cursor, kSessions, {}, cleared)) {
    }
  }
  [[nodiscard]] std::uint64_t current() const { return bench_.current(1); }

 private:
  [[nodiscard]] core::BindingSlot slot() const {
    return bench_.generation->layout->services[0].members[0].binding;
  }
  void open_sessions(std::atomic<unsigned>& bursts) {
    while (!closed_.load(std::memory_order_relaxed)) {
      burst_.start();
      while (burst_.used < core::kBurst) burst_.add(ip(kClient, kVip).tcp(port_++, 80, kSyn).in(kClientPort));
      core::Spares spares{burst_.spare};
      worker_.process(burst_.frames, spares, *bench_.generation, bench_.now);
      bursts.fetch_add(1, std::memory_order_relaxed);
    }
  }

  Bench bench_{web(1), {.sessions = kSessions}};
  core::Switch& worker_ = bench_.worker();
  Burst burst_;
  std::atomic<bool> closed_{false};
  std::uint16_t port_ = 1024;
};

TEST(ClosingRace, NoSessionOutlivesAClosingOfItsServerThatItsOpeningMet) {
  Opening opening;
  std::mt19937 random(1);
  std::size_t seen = 0;
  for (unsigned round = 0; round < 500; ++round) {
    opening.run_round(1 + random() % 8);
    for (const core::SessionView& session : opening.sessions()) {
      ASSERT_EQ(session.life, core::Life::terminated) << "client port " << session.client_port;
      ++seen;
    }
    opening.clear();
    ASSERT_EQ(opening.current(), 0u);
  }
  EXPECT_GT(seen, 1000u);
}

}  // namespace
}  // namespace headgate::testing
