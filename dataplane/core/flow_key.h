// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>

#include "model/ip.h"

namespace headgate::core {

/// An address as two words, as they lie in memory.
struct IpWords {
  std::uint64_t first = 0;
  std::uint64_t last = 0;

  bool operator==(const IpWords&) const = default;
};

/// The first words of an IPv4-mapped address, as they lie in memory (little-endian).
constexpr std::uint64_t kMappedFirst = 0;
constexpr std::uint64_t kMappedLast = 0xffff0000;

[[nodiscard]] inline IpWords words(const Ip& address) noexcept {
  IpWords out;
  std::memcpy(&out, address.octets.data(), sizeof out);
  return out;
}

/// Whether two addresses are the same, in two comparisons.
[[nodiscard]] inline bool same(const Ip& a, const Ip& b) noexcept {
  const IpWords x = words(a);
  const IpWords y = words(b);
  return ((x.first ^ y.first) | (x.last ^ y.last)) == 0;
}

/// The tuple of a packet, ports in host order. Protocol stands beside it.
struct FlowKey {
  Ip source;
  Ip destination;
  L4Port source_port = 0;
  L4Port destination_port = 0;

  bool operator==(const FlowKey&) const = default;
  [[nodiscard]] constexpr FlowKey reversed() const noexcept {
    return {destination, source, destination_port, source_port};
  }
};

/// Mixes two words into one by a 128-bit product, whose every bit depends on every bit of both.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) noexcept {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

namespace hashing {
constexpr std::uint64_t kA = 0x9e3779b97f4a7c15u;
constexpr std::uint64_t kB = 0xd6e8feb86659fd93u;
constexpr std::uint64_t kC = 0x2545f4914f6cdd1du;

/// One word for both addresses: all their bits for IPv4, a keyed mix for IPv6.
[[nodiscard]] inline std::uint64_t addresses(IpWords source, IpWords destination,
                                             std::uint64_t seed) noexcept {
  const bool mapped = (source.first | destination.first) == 0;
  const std::uint64_t last = (source.last >> 32 << 32) | destination.last >> 32;
  if (mapped && static_cast<std::uint32_t>(source.last) == kMappedLast) [[likely]]
    return last;
  return mix(mix(source.first ^ seed, source.last ^ kA) ^ seed, kC) ^
         mix(destination.first ^ seed, destination.last ^ kB);
}
}  // namespace hashing

/// The hash of a flow under a secret seed.
[[nodiscard]] inline std::uint64_t hash(const FlowKey& key, Protocol protocol, std::uint64_t seed) noexcept {
  const std::uint64_t rest = std::uint64_t{key.source_port} << 48 |
                             std::uint64_t{key.destination_port} << 32 | static_cast<std::uint64_t>(protocol);
  const std::uint64_t addresses = hashing::addresses(words(key.source), words(key.destination), seed);
  return mix(mix(addresses ^ seed, rest ^ hashing::kA) ^ seed, hashing::kB);
}

/// A hash of a client that is the same on every unit and at every start, for metrics that must agree.
[[nodiscard]] inline std::uint64_t stable_hash(const Ip& address, L4Port port) noexcept {
  const IpWords at = words(address);
  const std::uint64_t v4 = __builtin_bswap32(static_cast<std::uint32_t>(at.last >> 32));
  const std::uint64_t number =
      address.is_v4() ? v4 : mix(at.first ^ hashing::kB, __builtin_bswap64(at.last) ^ hashing::kC);
  return mix(mix(number << 16 ^ number >> 48 ^ port, hashing::kA) ^ hashing::kC, hashing::kB);
}

}  // namespace headgate::core
