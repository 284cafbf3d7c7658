// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/weights.h"

#include <gtest/gtest.h>

#include "dataplane/core/turns.h"
#include "model/tick.h"

namespace headgate::core {
namespace {

constexpr std::uint32_t kSecond = Tick::kPerSecond;
using Weights = std::vector<std::uint32_t>;
using Costs = std::vector<std::uint64_t>;

TEST(Ramp, GrowsWithTheTimeUpToTheWeight) {
  EXPECT_EQ(ramped(1000, 0, 10), 1u) << "never 0: it is open";
  EXPECT_EQ(ramped(1000, 1 * kSecond, 10), 100u);
  EXPECT_EQ(ramped(1000, 5 * kSecond, 10), 500u);
  EXPECT_EQ(ramped(1000, 10 * kSecond, 10), 1000u);
  EXPECT_EQ(ramped(1000, 0xffffffff, 10), 1000u);
  EXPECT_EQ(ramped(1000, 0, 0), 1000u);
  EXPECT_EQ(ramped(65535 * kWeightUnit, 1, 134217727), 1u);
}

TEST(ByScore, IsAShareInTenthsAndNeverNothing) {
  EXPECT_EQ(by_score(kWeightUnit, 10), kWeightUnit);
  EXPECT_EQ(by_score(kWeightUnit, 5), kWeightUnit / 2);
  EXPECT_EQ(by_score(1, 1), 1u);
  EXPECT_EQ(by_score(kWeightUnit, 200), kWeightUnit);
  EXPECT_EQ(by_score(0xffffffff, 9), 3865470565u);
}

TEST(ByShare, IsInThousandthsAndNeverNothing) {
  EXPECT_EQ(by_share(10 * kWeightUnit, 500), 5 * kWeightUnit);
  EXPECT_EQ(by_share(kWeightUnit, 48'000), 48 * kWeightUnit);
  EXPECT_EQ(by_share(kWeightUnit, 1), 1u);
  EXPECT_EQ(by_share(kWeightUnit, 0), kWeightUnit) << "nothing was said";
  EXPECT_EQ(by_share(0xffffffff, 0xffffffff), 0xffffffff);
}

TEST(InverseWeights, HalfTheCostIsTwiceTheWeight) {
  EXPECT_EQ(inverse_weights(Costs{100, 200, 400}),
            (Weights{48 * kWeightUnit, 24 * kWeightUnit, 12 * kWeightUnit}));
}

TEST(InverseWeights, NobodyIsForgottenAndNothingOverflows) {
  EXPECT_EQ(inverse_weights(Costs{1, 1'000'000}), (Weights{48 * kWeightUnit, kWeightUnit}));
  EXPECT_EQ(inverse_weights(Costs{std::uint64_t{1} << 63, std::uint64_t{1} << 62}),
            (Weights{24 * kWeightUnit, 48 * kWeightUnit}));
  EXPECT_EQ(inverse_weights(Costs{0, 0}), (Weights{48 * kWeightUnit, 48 * kWeightUnit}));
  EXPECT_EQ(inverse_weights(Costs{0, 4}), (Weights{48 * kWeightUnit, 12 * kWeightUnit}));
  EXPECT_EQ(inverse_weights(Costs{}), Weights{});
}

TEST(UnknownTimes, CountAsTheMiddleOfTheOthers) {
  EXPECT_EQ(with_unknown_times({100, 0, 300}), (Costs{100, 200, 300}));
  EXPECT_EQ(with_unknown_times({0, 0}), (Costs{1, 1}));
  EXPECT_EQ(with_unknown_times({}), Costs{});
}

}  // namespace
}  // namespace headgate::core
