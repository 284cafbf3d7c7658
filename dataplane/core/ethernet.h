// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "model/ip.h"

namespace headgate::core {

constexpr std::size_t kEthernetHeader = 14;

/// An Ethernet address in one word: its six octets as they lie in memory, and two more, of which nothing is
/// said.
struct MacWord {
  std::uint64_t value = 0;

  MacWord() = default;
  explicit constexpr MacWord(std::uint64_t word) noexcept : value(word) {}
  explicit MacWord(const Mac& mac) noexcept { std::memcpy(&value, mac.octets.data(), mac.octets.size()); }
  constexpr bool operator==(const MacWord& other) const noexcept { return (value ^ other.value) << 16 == 0; }
};

/// Writes both addresses of an Ethernet header.
inline void write_ethernet(std::uint8_t* header, MacWord destination, MacWord source) noexcept {
  std::memcpy(header, &destination.value, 6);
  std::memcpy(header + 6, &source.value, 6);
}

}  // namespace headgate::core
