// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace headgate::core {

// The Internet checksum (RFC 1071) over words as they lie in memory: its sum does not depend on byte order,
// so nothing here converts. All sums are folded, 0 to 0xffff.

[[nodiscard]] constexpr std::uint16_t fold(std::uint64_t sum) noexcept {
  sum = (sum & 0xffffffff) + (sum >> 32);
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>((sum & 0xffff) + (sum >> 16));
}

/// The sum over `length` bytes, added to `start`; an odd last byte counts as if a zero followed.
[[nodiscard]] inline std::uint16_t sum_of(const std::uint8_t* data, std::size_t length,
                                          std::uint64_t start = 0) noexcept {
  std::uint64_t sum = start;
  for (; length >= 4; length -= 4, data += 4) {
    std::uint32_t word = 0;
    std::memcpy(&word, data, 4);
    sum += word;
  }
  std::uint32_t rest = 0;
  if (length > 0) std::memcpy(&rest, data, length);
  return fold(sum + rest);
}

/// The sum over an IPv4 header without options.
[[nodiscard]] inline std::uint16_t sum_of_20(const std::uint8_t* data) noexcept {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  std::uint32_t third = 0;
  std::memcpy(&first, data, 8);
  std::memcpy(&second, data + 8, 8);
  std::memcpy(&third, data + 16, 4);
  return fold((first & 0xffffffff) + (first >> 32) + (second & 0xffffffff) + (second >> 32) + third);
}

/// The one's complement sum of two sums.
[[nodiscard]] constexpr std::uint16_t add(std::uint16_t a, std::uint16_t b) noexcept {
  const std::uint32_t sum = std::uint32_t{a} + b;
  return static_cast<std::uint16_t>((sum & 0xffff) + (sum >> 16));
}

/// What has to be added to a checksum field when words of one sum are replaced by words of another (RFC
/// 1624).
[[nodiscard]] constexpr std::uint16_t delta(std::uint16_t old_sum, std::uint16_t new_sum) noexcept {
  return add(static_cast<std::uint16_t>(~old_sum), new_sum);
}

/// The delta of the opposite replacement.
[[nodiscard]] constexpr std::uint16_t opposite(std::uint16_t delta) noexcept {
  return static_cast<std::uint16_t>(~delta);
}

/// A checksum field after a replacement: HC' = ~(~HC + ~m + m') (RFC 1624, equation 3).
[[nodiscard]] constexpr std::uint16_t updated(std::uint16_t field, std::uint16_t delta) noexcept {
  return static_cast<std::uint16_t>(~add(static_cast<std::uint16_t>(~field), delta));
}

}  // namespace headgate::core
