// SPDX-License-Identifier: Apache-2.0
// Targets whose clock passes numbers at which clocks have stood still or gone round. Reports 9, 10.
#include "controlplane/daemon/engine_fixture.h"
#include "controlplane/daemon/monitor.h"

namespace headgate::daemon {
namespace {

class ClockTest : public testing::TestWithParam<std::uint64_t> {};

TEST_P(ClockTest, NoTargetWaitsLongerThanTwoIntervals) {
  constexpr unsigned kTargets = 64, kChecks = 1000;
  FakeTime time;
  time.stall(milliseconds(GetParam()));
  FakeProber prober(time);
  Monitor monitor(prober, time, time, [](const TargetKey&) {});
  std::map<TargetKey, config::Target> targets;
  for (unsigned i = 0; i < kTargets; ++i)
    targets[{i + 1, 80, Protocol::tcp, "tcp"}] = {
        .address = Ipv4{0x0a140000 + i}, .policy = {.inter = std::chrono::seconds(1)}, .enabled = true};
  monitor.configure(targets, false);
  monitor.begin();
  time.pass(std::chrono::seconds(kChecks));
  EXPECT_EQ(prober.sent.size(), kTargets);
  for (const auto& [service, times] : prober.sent) {
    EXPECT_GE(times.size(), kChecks - 1);
    for (std::size_t i = 1; i < times.size(); ++i)
      ASSERT_LE(times[i] - times[i - 1], std::chrono::seconds(2));
  }
  for (const auto& [key, watched] : monitor.targets()) EXPECT_EQ(watched.state.health, health::Health::up);
}

constexpr std::uint64_t kBefore = 500'000;
INSTANTIATE_TEST_SUITE_P(Near, ClockTest,
                         testing::Values(0, (std::uint64_t{1} << 31) - kBefore,
                                         (std::uint64_t{1} << 32) - kBefore));

// Reports 18: not all at once, neither the first time nor ever after.
TEST(Policy, ThatChangesForManyTargetsKeepsThemSpread) {
  constexpr unsigned kTargets = 500;
  FakeTime time;
  FakeProber prober(time);
  Monitor monitor(prober, time, time, [](const TargetKey&) {});
  std::map<TargetKey, config::Target> targets;
  for (unsigned i = 0; i < kTargets; ++i)
    targets[{i + 1, 80, Protocol::tcp, "tcp"}] = {.address = Ipv4{0x0a140000 + i}, .enabled = true};
  monitor.configure(targets, false);
  monitor.begin();
  time.pass(std::chrono::seconds(4));
  for (auto& [key, target] : targets) target.policy.inter = std::chrono::seconds(5);
  monitor.configure(targets, false);
  for (int slot = 0; slot < 150; ++slot) {
    const auto before = prober.probes;
    time.pass(milliseconds(100));
    EXPECT_LE(prober.probes - before, kTargets / 25) << slot;
  }
  EXPECT_GE(prober.probes, 3 * kTargets);
}

}  // namespace
}  // namespace headgate::daemon
