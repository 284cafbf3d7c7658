// SPDX-License-Identifier: Apache-2.0
#include "controlplane/daemon/asio_timers.h"

#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controlplane/probe/run_until.h"

namespace headgate::daemon {
namespace {

using testing::ElementsAre;
using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;

class AsioTimersTest : public testing::Test {
 protected:
  std::function<void()> say(int what) {
    return [this, what] { said_.push_back(what); };
  }
  void hear(std::size_t count) {
    EXPECT_TRUE(run_until(context_, [&] { return said_.size() >= count; }));
  }

  boost::asio::io_context context_{1};
  AsioTimers timers_{context_};
  std::vector<int> said_;
};

TEST_F(AsioTimersTest, RunInTheOrderInWhichTheyAreDue) {
  timers_.after(30ms, say(3));
  timers_.after(10ms, say(1));
  timers_.after(20ms, say(2));
  hear(3);
  EXPECT_THAT(said_, ElementsAre(1, 2, 3));
}

TEST_F(AsioTimersTest, OfOneMomentRunInTheOrderInWhichTheyWereMade) {
  for (int i = 0; i < 5; ++i) timers_.after(10s - 9990ms, say(i));
  hear(5);
  EXPECT_THAT(said_, ElementsAre(0, 1, 2, 3, 4));
}

TEST_F(AsioTimersTest, AreNeverEarly) {
  for (int i = 0; i < 200; ++i) {
    const auto due = Steady::now() + 1ms;
    bool run = false;
    timers_.after(1ms, [&] {
      EXPECT_GE(Steady::now(), due);
      run = true;
    });
    EXPECT_TRUE(run_until(context_, [&] { return run; }));
  }
}

TEST_F(AsioTimersTest, OneThatIsCancelledDoesNotRunEvenByAnotherOfItsMoment) {
  TimerId second = 0;
  timers_.after(5ms, [&] {
    say(1)();
    timers_.cancel(second);
  });
  second = timers_.after(5ms, say(2));
  const TimerId first = timers_.after(1ms, say(0));
  timers_.cancel(first);
  timers_.cancel(0);
  timers_.after(10ms, say(3));
  hear(2);
  EXPECT_THAT(said_, ElementsAre(1, 3));
  timers_.cancel(first);
}

TEST_F(AsioTimersTest, OneThatMakesOthersLetsTheEventLoopGoOn) {
  int rounds = 0;
  std::function<void()> again = [&] {
    if (++rounds < 100'000'000) timers_.after(0ms, again);
  };
  again();
  timers_.after(20ms, say(1));
  hear(1);
  EXPECT_GT(rounds, 1);
}

TEST_F(AsioTimersTest, ManyOfOneMomentHaveEachItsOwnId) {
  std::set<TimerId> ids;
  for (int i = 0; i < 1000; ++i) ids.insert(timers_.after(1h, say(i)));
  EXPECT_EQ(ids.size(), 1000u);
  EXPECT_FALSE(ids.contains(0));
}

TEST_F(AsioTimersTest, EndWithTheirOwner) {
  {
    AsioTimers gone(context_);
    gone.after(1ms, say(1));
  }
  timers_.after(5ms, say(2));
  hear(1);
  EXPECT_THAT(said_, ElementsAre(2));
}

}  // namespace
}  // namespace headgate::daemon
