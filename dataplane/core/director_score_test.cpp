// SPDX-License-Identifier: Apache-2.0
// What scores weigh, and what being the last means for thresholds and slow start.
#include "dataplane/core/director.h"

#include <vector>

#include <gtest/gtest.h>

#include "dataplane/core/selection_bed.h"
#include "dataplane/core/turns.h"

namespace headgate::core {
namespace {

using forwarding::CLOSED, forwarding::LAST, forwarding::OPEN;
using Weights = std::vector<std::uint32_t>;

struct Scores : ::testing::Test {
  Shared shared;
  Director director{shared};
  forwarding::Service service;

  Scores() {
    service.set_virt(1);
    service.set_vip(Ip(Ipv4{0x0a0a0164}).wire());
    service.set_vport(80);
    service.set_protocol(6);
    service.set_metric(forwarding::HEALTH);
    for (const std::uint32_t real : {1u, 2u}) {
      auto& member = *service.add_member();
      member.set_real(real);
      member.set_rip(Ip(Ipv4{0x0a0a020a + real}).wire());
      member.set_rport(80);
      member.set_weight(real);  // 1 and 2
      member.set_idle_seconds(600);
      member.mutable_target()->set_real(real);
    }
  }
  void publish() {
    forwarding::Generation generation;
    generation.set_number(1);
    *generation.add_service() = service;
    ASSERT_TRUE(director.publish(generation).ok());
  }
  void tell(std::uint32_t real, forwarding::Admission admission, std::uint32_t score) {
    forwarding::States states;
    auto& target = *states.add_target();
    target.mutable_target()->set_real(real);
    target.set_admission(admission);
    target.set_score(score);
    director.set_states(states);
  }
  std::shared_ptr<const Selection> selection() { return director.build()->selections[0]; }
  Weights weights() { return selection()->tiers[0].weights; }
};

TEST_F(Scores, WeighInProportionToThemAndToTheConfiguredWeight) {
  publish();
  tell(1, OPEN, 10);
  tell(2, OPEN, 5);
  EXPECT_EQ(weights(), (Weights{kWeightUnit, kWeightUnit}));
  tell(2, OPEN, 1);
  EXPECT_EQ(weights(), (Weights{kWeightUnit, 2 * kWeightUnit / 10})) << "at once";
}

TEST_F(Scores, AreTheBestWhileTheyAreNotKnown) {
  publish();
  tell(1, OPEN, 0);
  tell(2, OPEN, 0);
  EXPECT_EQ(weights(), (Weights{kWeightUnit, 2 * kWeightUnit}));
}

TEST_F(Scores, OfDegradedServersWeighInTheirRound) {
  publish();
  tell(1, LAST, 10);
  tell(2, LAST, 5);
  EXPECT_TRUE(weights().empty());
  EXPECT_EQ(selection()->last[0].weights, (Weights{kWeightUnit, kWeightUnit}));
}

TEST_F(Scores, ShareNewSessionsInProportion) {
  publish();
  tell(1, OPEN, 10);
  tell(2, OPEN, 2);
  const auto built = director.build();
  std::vector<int> taken(2);
  for (std::uint32_t i = 0; i < 1400; ++i) {
    const Member* member =
        pick(built->layout->services[0], *built->selections[0], shared, {client(i), L4Port{1}, 0});
    ASSERT_NE(member, nullptr);
    ++taken[member->number - 1];
  }
  EXPECT_NEAR(taken[0], 1000, 5) << "1 x 10 to 2 x 2";
  EXPECT_NEAR(taken[1], 400, 5);
}

TEST_F(Scores, InfluenceNoOtherMetric) {
  for (const auto metric : kMetrics) {
    if (metric == forwarding::HEALTH) continue;
    service.set_metric(metric);
    publish();
    tell(1, OPEN, 10);
    tell(2, OPEN, 10);
    const Weights before = weights();
    const auto same = selection();
    tell(2, OPEN, 1);
    EXPECT_EQ(selection(), same) << metric << ": nothing is made anew";
    tell(2, CLOSED, 1);
    tell(2, OPEN, 1);
    EXPECT_EQ(weights(), before) << metric;
  }
}

TEST_F(Scores, OutlastAnApply) {
  publish();
  tell(1, OPEN, 10);
  tell(2, OPEN, 5);
  service.mutable_member(0)->set_weight(3);
  publish();
  EXPECT_EQ(weights(), (Weights{3 * kWeightUnit, kWeightUnit}));
}

// ---- Being the last

TEST_F(Scores, AServerThatIsLastCountsForTheThreshold) {
  service.set_min_available(2);
  publish();
  tell(1, OPEN, 10);
  tell(2, LAST, 10);
  EXPECT_FALSE(selection()->group_closed);
  tell(2, CLOSED, 10);
  EXPECT_TRUE(selection()->group_closed);
}

TEST_F(Scores, AMemberThatRestsIsNotEvenTheLast) {
  service.mutable_member(0)->set_resting(true);
  publish();
  tell(1, LAST, 10);
  EXPECT_EQ(shared.state(director.build()->layout->services[0].members[0].binding).admission,
            forwarding::DRAINING);
}

TEST_F(Scores, AServerThatIsLastNoMoreIsOnItsWayToItsShare) {
  service.set_slow_start_seconds(10);
  publish();
  const Tick start{1000};
  static_cast<void>(director.tick(start));
  tell(1, OPEN, 10);
  static_cast<void>(director.tick(start.plus_seconds(11)));
  EXPECT_EQ(weights(), (Weights{kWeightUnit}));
  tell(1, LAST, 10);
  EXPECT_EQ(selection()->last[0].weights, (Weights{kWeightUnit})) << "it had its share already";
  tell(1, OPEN, 10);
  EXPECT_EQ(weights(), (Weights{1}));
}

TEST_F(Scores, WhatHeadgatedToldIsHandedBackWhole) {
  publish();
  forwarding::States states;
  auto& target = *states.add_target();
  target.mutable_target()->set_real(1);
  target.set_admission(LAST);
  target.set_verdict(forwarding::DEGRADED);
  target.set_score(4);
  auto& operation = *states.add_operation();
  operation.set_real(1);
  operation.set_since_unix_ms(7);
  operation.set_disabled_since_unix_ms(8);
  states.set_whole(true);
  director.set_states(states);
  EXPECT_EQ(director.states().SerializeAsString(), states.SerializeAsString());
}

}  // namespace
}  // namespace headgate::core
