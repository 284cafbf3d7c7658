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

/// What IP carries in a flow and which IP, in one octet.
struct Transport {
  Transport() = default;  ///< Transport{} is none
  constexpr Transport(Protocol protocol, bool v6) noexcept
      : octet(static_cast<std::uint8_t>(static_cast<unsigned>(protocol) | (v6 ? kIpv6 : 0u))) {}

  bool operator==(const Transport&) const = default;
  [[nodiscard]] constexpr bool none() const noexcept { return octet == 0; }
  [[nodiscard]] constexpr Protocol protocol() const noexcept {
    return static_cast<Protocol>(octet & (kIpv6 - 1));
  }
  [[nodiscard]] constexpr bool v6() const noexcept { return (octet & kIpv6) != 0; }
  [[nodiscard]] constexpr bool is_tcp() const noexcept { return protocol() == Protocol::tcp; }

  static constexpr unsigned kIpv6 = 128;  ///< no protocol of ours has so high a number
  std::uint8_t octet;
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

}  // namespace hashing

/// A secret, and what the hash of flows takes from it.
struct HashSeed {
  explicit constexpr HashSeed(std::uint64_t secret) noexcept
      : addresses(mix(secret ^ hashing::kA, hashing::kB)), rest(mix(secret ^ hashing::kB, hashing::kC)) {}
  std::uint64_t addresses;
  std::uint64_t rest;
};

namespace hashing {
/// One word for two IPv6 addresses. Each word meets a secret: whoever knew one could make it zero, and the
/// product with it.
[[nodiscard]] inline std::uint64_t addresses(IpWords source, IpWords destination,
                                             const HashSeed& seed) noexcept {
  return mix(mix(source.first ^ seed.addresses, source.last ^ seed.rest) ^ seed.addresses, kC) ^
         mix(destination.first ^ seed.rest, destination.last ^ seed.addresses);
}
}  // namespace hashing

/// The hash of a flow, from words as they lie in its packets: `addresses` both of IPv4, source first, or
/// hashing::addresses(); `ports` both, source first.
[[nodiscard]] constexpr std::uint64_t hash(std::uint64_t addresses, std::uint32_t ports, Transport transport,
                                           const HashSeed& seed) noexcept {
  const std::uint64_t rest = ports | static_cast<std::uint64_t>(transport.protocol()) << 32;
  // Ports of one client are near each other: multiplied once only, they could meet in few buckets.
  return mix(addresses ^ seed.addresses, rest * hashing::kA ^ seed.rest);
}

/// The hash of a flow under a secret seed.
[[nodiscard]] inline std::uint64_t hash(const FlowKey& key, Transport transport,
                                        const HashSeed& seed) noexcept {
  const IpWords source = words(key.source);
  const IpWords destination = words(key.destination);
  const std::uint64_t addresses = transport.v6() ? hashing::addresses(source, destination, seed)
                                                 : source.last >> 32 | destination.last >> 32 << 32;
  const std::uint32_t ports =
      std::uint32_t{__builtin_bswap16(key.destination_port)} << 16 | __builtin_bswap16(key.source_port);
  return hash(addresses, ports, transport, seed);
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
