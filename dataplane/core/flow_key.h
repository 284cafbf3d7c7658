// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "model/ip.h"

namespace headgate::core {

/// The tuple of a packet, in host order. Protocol stands beside it, not in it, so that a session holds two of
/// these in 24 bytes.
struct FlowKey {
  Ipv4 source;
  Ipv4 destination;
  L4Port source_port = 0;
  L4Port destination_port = 0;

  bool operator==(const FlowKey&) const = default;
  [[nodiscard]] constexpr FlowKey reversed() const noexcept {
    return {destination, source, destination_port, source_port};
  }
};
static_assert(sizeof(FlowKey) == 12);

/// Mixes two words into one by a 128-bit product, whose every bit depends on every bit of both.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) noexcept {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

/// The hash of a flow under a secret seed.
[[nodiscard]] constexpr std::uint64_t hash(const FlowKey& key, Protocol protocol,
                                           std::uint64_t seed) noexcept {
  const std::uint64_t addresses = std::uint64_t{key.source.value} << 32 | key.destination.value;
  const std::uint64_t rest = std::uint64_t{key.source_port} << 48 |
                             std::uint64_t{key.destination_port} << 32 | static_cast<std::uint64_t>(protocol);
  return mix(mix(addresses ^ seed, rest ^ 0x9e3779b97f4a7c15u) ^ seed, 0xd6e8feb86659fd93u);
}

/// A hash of a client that is the same on every unit and at every start, for metrics that must agree.
[[nodiscard]] constexpr std::uint64_t stable_hash(Ipv4 address, L4Port port) noexcept {
  return mix(mix(std::uint64_t{address.value} << 16 | port, 0x9e3779b97f4a7c15u) ^ 0x2545f4914f6cdd1du,
             0xd6e8feb86659fd93u);
}

}  // namespace headgate::core
