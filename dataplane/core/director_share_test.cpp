// SPDX-License-Identifier: Apache-2.0
// What servers say that they can bear of their weight.
#include "dataplane/core/director.h"

#include <vector>

#include <gtest/gtest.h>

#include "dataplane/core/selection_bed.h"
#include "dataplane/core/turns.h"

namespace headgate::core {
namespace {

using forwarding::OPEN;
using Weights = std::vector<std::uint32_t>;

/// Two services of servers 1 and 2 with weights 1 and 2: the first one's targets are checked by an agent.
struct Shares : ::testing::Test {
  Shared shared;
  Director director{shared};
  forwarding::Generation generation;

  Shares() {
    generation.set_number(1);
    for (const std::uint32_t vport : {80u, 81u}) {
      forwarding::Service& service = *generation.add_service();
      service.set_virt(1);
      service.set_vip(Ip(Ipv4{0x0a0a0164}).wire());
      service.set_vport(vport);
      service.set_protocol(6);
      service.set_metric(forwarding::ROUNDROBIN);
      for (const std::uint32_t real : {1u, 2u}) {
        forwarding::Member& member = *service.add_member();
        member.set_real(real);
        member.set_rip(Ip(Ipv4{0x0a0a020a + real}).wire());
        member.set_rport(80);
        member.set_weight(real);
        member.set_idle_seconds(600);
        *member.mutable_target() = target(real, vport == 80 ? "agent" : "tcp");
      }
    }
  }
  static forwarding::Target target(std::uint32_t real, const char* check) {
    forwarding::Target target;
    target.set_real(real);
    target.set_check(check);
    return target;
  }
  void set_metric(forwarding::Metric metric) { generation.mutable_service(0)->set_metric(metric); }
  void publish() { ASSERT_TRUE(director.publish(generation).ok()); }
  void tell(std::uint32_t real, const char* check, std::uint32_t share, bool whole = false) {
    forwarding::States states;
    states.set_whole(whole);
    auto& state = *states.add_target();
    *state.mutable_target() = target(real, check);
    state.set_admission(OPEN);
    state.set_share(share);
    director.set_states(states);
  }
  void open_all() {
    publish();
    for (const std::uint32_t real : {1u, 2u})
      for (const char* check : {"agent", "tcp"}) tell(real, check, 0);
  }
  std::shared_ptr<const Selection> selection(std::size_t service = 0) {
    return director.build()->selections[service];
  }
  Weights weights(std::size_t service = 0) { return selection(service)->tiers[0].weights; }
};

TEST_F(Shares, WeighInProportionByEveryMetricThatHasWeights) {
  for (const auto metric : kMetrics) {
    set_metric(metric);
    open_all();
    const Weights before = weights();
    const auto same = selection();
    tell(2, "agent", 500);
    const bool hashed =
        metric == forwarding::HASH || metric == forwarding::MINMISSES || metric == forwarding::PHASH;
    if (hashed)
      EXPECT_EQ(selection(), same) << metric << ": nothing is made anew";
    else
      EXPECT_EQ(weights(), (Weights{before[0], before[1] / 2})) << metric << ": at once";
  }
}

TEST_F(Shares, AreNoMatterOfGroupsWhoseTargetsDidNotSay) {
  open_all();
  const auto others = selection(1);
  tell(2, "agent", 250);
  EXPECT_EQ(weights(), (Weights{kWeightUnit, kWeightUnit / 2}));
  EXPECT_EQ(selection(1), others);
  EXPECT_EQ(weights(1), (Weights{kWeightUnit, 2 * kWeightUnit}));
}

TEST_F(Shares, ThatAreTheSameMakeNothingAnew) {
  open_all();
  tell(2, "agent", 250);
  const auto same = selection();
  tell(2, "agent", 250);
  tell(2, "agent", 250, true);
  EXPECT_EQ(selection(), same) << "the turns of its servers go on";
}

TEST_F(Shares, ThatAreSaidNoMoreAreForgotten) {
  open_all();
  tell(2, "agent", 250);
  tell(2, "agent", 0, true);
  EXPECT_EQ(weights(), (Weights{kWeightUnit, 2 * kWeightUnit}));
}

TEST_F(Shares, OutlastAnApplyAndBelongToTheirCheck) {
  open_all();
  tell(2, "agent", 250);
  publish();
  EXPECT_EQ(weights(), (Weights{kWeightUnit, kWeightUnit / 2}));
  *generation.mutable_service(0)->mutable_member(1)->mutable_target() = target(2, "tcp");
  publish();
  EXPECT_EQ(weights(), (Weights{kWeightUnit, 2 * kWeightUnit}))
      << "another check decides, which said nothing";
}

TEST_F(Shares, AreWhatSlowStartLeadsTo) {
  generation.mutable_service(0)->set_slow_start_seconds(10);
  publish();
  const Tick start{1000};
  static_cast<void>(director.tick(start));
  tell(1, "agent", 0);
  tell(2, "agent", 500);
  static_cast<void>(director.tick(start.plus_seconds(5)));
  EXPECT_EQ(weights(), (Weights{kWeightUnit / 2, kWeightUnit / 2}));
  static_cast<void>(director.tick(start.plus_seconds(11)));
  EXPECT_EQ(weights(), (Weights{kWeightUnit, kWeightUnit}));
}

TEST_F(Shares, AndScoresMultiply) {
  set_metric(forwarding::HEALTH);
  open_all();
  forwarding::States states;
  auto& state = *states.add_target();
  *state.mutable_target() = target(2, "agent");
  state.set_admission(OPEN);
  state.set_share(500);
  state.set_score(5);
  director.set_states(states);
  EXPECT_EQ(weights(), (Weights{kWeightUnit, kWeightUnit / 2}));
}

TEST_F(Shares, AreHandedBack) {
  publish();
  tell(2, "agent", 250, true);
  ASSERT_EQ(director.states().target_size(), 1);
  EXPECT_EQ(director.states().target(0).share(), 250u);
}

TEST_F(Shares, SplitNewSessionsInProportion) {
  open_all();
  tell(2, "agent", 250);
  const auto built = director.build();
  std::vector<int> taken(2);
  for (std::uint32_t i = 0; i < 300; ++i) {
    const Member* member =
        pick(built->layout->services[0], *built->selections[0], shared, {client(i), L4Port{1}, 0});
    ASSERT_NE(member, nullptr);
    ++taken[member->number - 1];
  }
  EXPECT_NEAR(taken[0], 200, 2) << "1 to a quarter of 2";
  EXPECT_NEAR(taken[1], 100, 2);
}

}  // namespace
}  // namespace headgate::core
