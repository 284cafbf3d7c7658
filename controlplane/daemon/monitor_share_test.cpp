// SPDX-License-Identifier: Apache-2.0
#include "controlplane/daemon/monitor.h"

#include "controlplane/daemon/engine_fixture.h"

// What a server says that it can bear of its weight, on its way to the dataplane. Reference 3.1.
namespace headgate::daemon {
namespace {

using std::chrono::seconds;
using Of = health::Bearing::Of;

TEST(Share, IsOfTheConfiguredWeightInThousandths) {
  EXPECT_EQ(health::share_of({Of::configured, 50}, 10), 500u);
  EXPECT_EQ(health::share_of({Of::configured, 1000}, 48), 10'000u);
  EXPECT_EQ(health::share_of({Of::itself, 24}, 10), 2400u);
  EXPECT_EQ(health::share_of({Of::itself, 1}, 48), 20u);
  EXPECT_EQ(health::share_of({Of::itself, 5}, 0), 5000u);
}

TEST(Share, OfNothingIsNotThatNothingWasSaid) {
  EXPECT_EQ(health::share_of({Of::configured, 0}, 10), 1u);
}

class MonitorShare : public testing::Test {
 protected:
  MonitorShare() {
    monitor_.begin();
    watch(10);
  }
  void watch(std::uint32_t weight) {
    monitor_.configure({{key_,
                         {.address = Ipv4{kServer1},
                          .policy = {.inter = seconds(2), .retry = 1},
                          .enabled = true,
                          .weight = weight}}},
                       false);
    time_.pass(milliseconds(1999));
  }
  void check() { time_.pass(seconds(2)); }
  void says(Of of, std::uint32_t number) {
    prober_.bears[{kServer1, 80}] = {of, number};
    check();
  }
  health::Share share() const { return monitor_.targets().at(key_).share; }

  const TargetKey key_{1, 80, Protocol::tcp, "agent"};
  FakeTime time_;
  FakeProber prober_{time_};
  Monitor monitor_{prober_, time_, time_, [](const TargetKey&) {}};
};

TEST_F(MonitorShare, IsToldWhenItHasChanged) {
  check();
  (void)monitor_.measured_news({}, 9).states;
  EXPECT_EQ(share(), 0u) << "it has not said anything";
  says(Of::configured, 50);
  const forwarding::States news = monitor_.measured_news({}, 9).states;
  ASSERT_EQ(news.target_size(), 1);
  EXPECT_EQ(news.target(0).share(), 500u);
  check();
  EXPECT_EQ(monitor_.measured_news({}, 9).states.target_size(), 0);
}

TEST_F(MonitorShare, OfAWeightFollowsTheConfiguredOne) {
  says(Of::itself, 5);
  EXPECT_EQ(share(), 500u);
  watch(20);
  check();
  EXPECT_EQ(share(), 250u);
}

TEST_F(MonitorShare, StaysWhenAnAnswerSaysNothingOfIt) {
  says(Of::configured, 50);
  prober_.bears.clear();
  check();
  prober_.down = {{kServer1, 80}};
  check();
  EXPECT_EQ(share(), 500u);
}

TEST_F(MonitorShare, IsTakenBackFromTheDataplane) {
  says(Of::configured, 50);
  const forwarding::States known = monitor_.whole();
  Monitor next(prober_, time_, time_, [](const TargetKey&) {});
  next.configure({{key_, {.address = Ipv4{kServer1}, .enabled = true}}}, false);
  next.adopt(known);
  EXPECT_EQ(next.targets().at(key_).share, 500u);
  EXPECT_EQ(next.measured_news({}, 9).states.target_size(), 0);
}

}  // namespace
}  // namespace headgate::daemon
