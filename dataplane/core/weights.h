// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

// Fine weights (kWeightUnit is 1) that follow from time and measurements.
namespace headgate::core {

/// A member that came back to a leastconns service without slow start of its own reaches its weight after so
/// long, or the least loaded server, empty as it is, would get every new session (reference 3.3).
constexpr std::uint32_t kRecoverySeconds = 30;

/// The fine weight of a server so many ticks after it opened, when it is to reach `weight` after `seconds`:
/// in proportion to the time, at least 1, and `weight` from then on (reference 3.3, slowstr).
[[nodiscard]] std::uint32_t ramped(std::uint32_t weight, std::uint32_t ticks, std::uint32_t seconds) noexcept;

constexpr std::uint32_t kBestScore = 10;

/// A fine weight in proportion to a score of its target (metric health), at least 1. More than the best score
/// is the best.
[[nodiscard]] std::uint32_t by_score(std::uint32_t weight, std::uint32_t score) noexcept;

/// A fine weight as its target says it can bear it, in thousandths of what it has otherwise, at least 1; a
/// share of 0 says nothing.
[[nodiscard]] std::uint32_t by_share(std::uint32_t weight, std::uint32_t share) noexcept;

/// Weights in inverse proportion to what servers cost, a reply time or octets (reference 3.1, response and
/// bandwidth): half the cost, twice the weight. 48 kWeightUnit for the least cost, and kWeightUnit at least,
/// so that nobody is forgotten: the range of configured weights. A cost of 0 is less than any other.
[[nodiscard]] std::vector<std::uint32_t> inverse_weights(std::span<const std::uint64_t> costs);

/// Reply times with those that are not known (0) in the middle of the others; all 1 when none is known.
[[nodiscard]] std::vector<std::uint64_t> with_unknown_times(std::vector<std::uint64_t> microseconds);

}  // namespace headgate::core
