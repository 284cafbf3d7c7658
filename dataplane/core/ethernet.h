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
  const auto write = [](std::uint8_t* at, std::uint64_t mac) {
    const auto first = static_cast<std::uint32_t>(mac);
    const auto last = static_cast<std::uint16_t>(mac >> 32);
    std::memcpy(at, &first, sizeof first);
    std::memcpy(at + sizeof first, &last, sizeof last);
  };
  write(header, destination.value);
  write(header + 6, source.value);
}

/// Writes a whole Ethernet header of a type that the compiler knows, with two stores. `source` is of the
/// constructor from a Mac: nothing but its six octets is set.
[[gnu::always_inline]] inline void write_ethernet(std::uint8_t* header, MacWord destination, MacWord source,
                                                  std::uint16_t type) noexcept {
  std::memcpy(header, &destination.value, sizeof destination.value);
  const std::uint64_t rest = source.value | std::uint64_t{__builtin_bswap16(type)} << 48;
  std::memcpy(header + 6, &rest, sizeof rest);
}

}  // namespace headgate::core
