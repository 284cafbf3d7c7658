// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "model/ip.h"

namespace headgate::core {

constexpr std::size_t kEthernetHeader = 14;

/// An Ethernet address in one word: its six octets as they lie in memory, two zero octets behind.
struct MacWord {
  std::uint64_t value = 0;

  MacWord() = default;
  explicit constexpr MacWord(std::uint64_t word) noexcept : value(word & ((std::uint64_t{1} << 48) - 1)) {}
  explicit MacWord(const Mac& mac) noexcept { std::memcpy(&value, mac.octets.data(), mac.octets.size()); }
  bool operator==(const MacWord&) const = default;
};

/// Writes both addresses of an Ethernet header, with two stores.
inline void write_ethernet(std::uint8_t* header, MacWord destination, MacWord source) noexcept {
  const std::uint64_t first = destination.value | source.value << 48;
  const auto rest = static_cast<std::uint32_t>(source.value >> 16);
  std::memcpy(header, &first, sizeof first);
  std::memcpy(header + sizeof first, &rest, sizeof rest);
}

}  // namespace headgate::core
