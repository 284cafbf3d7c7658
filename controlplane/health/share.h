// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

// What a server says of itself that it can bear. Reference 3.1 and 4.2.
namespace headgate::health {

/// Of a server's configured weight, in thousandths; 0: it has not said.
using Share = std::uint32_t;
constexpr Share kWhole = 1000;

/// Weights as they are configured: what says more or less is no weight.
constexpr std::uint32_t kLeastWeight = 1;
constexpr std::uint32_t kMostWeight = 48;

/// What one answer says.
struct Bearing {
  enum class Of : std::uint8_t {
    configured,  ///< `number` percent of the configured weight
    itself,      ///< `number` in its place
  };
  Of of = Of::configured;
  std::uint32_t number = 0;
  bool operator==(const Bearing&) const = default;
};

/// At least 1, since a server that has said that it can bear nothing has said something.
[[nodiscard]] constexpr Share share_of(const Bearing& bearing, std::uint32_t configured) {
  constexpr std::uint64_t kPercent = 100;
  const std::uint64_t whole = bearing.of == Bearing::Of::configured ? kPercent : std::max(configured, 1u);
  return static_cast<Share>(std::max<std::uint64_t>(std::uint64_t{bearing.number} * kWhole / whole, 1));
}

}  // namespace headgate::health
