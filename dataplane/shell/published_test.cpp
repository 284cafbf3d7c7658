// SPDX-License-Identifier: Apache-2.0
//
// Made to be run under ThreadSanitizer, too.
#include "dataplane/shell/published.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace headgate::shell {
namespace {

constexpr unsigned kWorkers = 2;

/// Both halves are equal for as long as it lives.
struct Value {
  explicit Value(std::uint64_t n) : left(n), right(n) { ++alive; }
  ~Value() {
    left = 0;
    right = ~std::uint64_t{0};
    --alive;
  }
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;
  std::uint64_t left;
  std::uint64_t right;
  static inline std::atomic<int> alive{0};
};

TEST(PublishedTest, WorkersNeverSeeAValueThatIsGone) {
  {
    Published<Value> published(kWorkers, std::make_unique<const Value>(0));
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> torn{0};
    std::vector<std::thread> threads;
    for (unsigned worker = 0; worker < kWorkers; ++worker) {
      threads.emplace_back([&, worker] {
        published.join(worker);
        for (unsigned round = 0; !stop.load(); ++round) {
          const Value& value = published.enter(worker);
          if (value.left != value.right) ++torn;
          if (round % 64 == worker) {
            published.leave(worker);
            published.join(worker);
          }
        }
        published.leave(worker);
      });
    }
    for (std::uint64_t n = 1; n <= 300; ++n) {
      published.publish(std::make_unique<const Value>(n));
      EXPECT_EQ(Value::alive, 1) << "the one before is freed when publish() returns";
    }
    stop = true;
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(torn, 0U);
  }
  EXPECT_EQ(Value::alive, 0);
}

TEST(PublishedTest, NobodyWaitsForAWorkerThatLeft) {
  Published<Value> published(1, std::make_unique<const Value>(0));
  published.join(0);
  static_cast<void>(published.enter(0));
  published.leave(0);
  published.publish(std::make_unique<const Value>(1));
  EXPECT_EQ(published.latest().left, 1U);
}

}  // namespace
}  // namespace headgate::shell
