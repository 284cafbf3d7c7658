// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/weights.h"

#include <algorithm>
#include <limits>

#include "dataplane/core/turns.h"
#include "model/tick.h"

namespace headgate::core {
namespace {

constexpr std::uint64_t kWholeShare = 1000;
constexpr std::uint64_t kMostWeight = 48;  // the largest configured weight (reference 2.1)

}  // namespace

std::uint32_t ramped(std::uint32_t weight, std::uint32_t ticks, std::uint32_t seconds) noexcept {
  const std::uint64_t whole = std::uint64_t{seconds} * Tick::kPerSecond;
  if (ticks >= whole) return weight;
  return std::max(static_cast<std::uint32_t>(std::uint64_t{weight} * ticks / whole), 1u);
}

std::uint32_t by_score(std::uint32_t weight, std::uint32_t score) noexcept {
  const std::uint64_t share = std::uint64_t{weight} * std::min(score, kBestScore) / kBestScore;
  return std::max(static_cast<std::uint32_t>(share), 1u);
}

std::uint32_t by_share(std::uint32_t weight, std::uint32_t share) noexcept {
  if (share == 0) return weight;
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(std::uint64_t{weight} * share / kWholeShare, 1, kMost));
}

std::vector<std::uint32_t> inverse_weights(std::span<const std::uint64_t> costs) {
  std::vector<std::uint32_t> weights;
  if (costs.empty()) return weights;
  const std::uint64_t least = std::max<std::uint64_t>(*std::ranges::min_element(costs), 1);
  for (const std::uint64_t cost : costs) {
    const auto share = static_cast<unsigned __int128>(kMostWeight * kWeightUnit) * least;
    const auto weight = static_cast<std::uint64_t>(share / std::max(cost, least));
    weights.push_back(static_cast<std::uint32_t>(std::max<std::uint64_t>(weight, kWeightUnit)));
  }
  return weights;
}

std::vector<std::uint64_t> with_unknown_times(std::vector<std::uint64_t> microseconds) {
  std::uint64_t sum = 0;
  std::uint64_t known = 0;
  for (const std::uint64_t time : microseconds) {
    sum += time;
    known += time != 0 ? 1 : 0;
  }
  const std::uint64_t middle = known == 0 ? 1 : sum / known;
  std::ranges::replace(microseconds, std::uint64_t{0}, middle);
  return microseconds;
}

}  // namespace headgate::core
