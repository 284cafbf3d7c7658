// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <immintrin.h>

namespace headgate::core {

// The Internet checksum (RFC 1071) over words as they lie in memory: its sum does not depend on byte order,
// so nothing here converts. All sums are folded, 0 to 0xffff.

[[nodiscard]] constexpr std::uint16_t fold(std::uint64_t sum) noexcept {
  // The upper half of a number plus itself, halves swapped, is the sum of both halves with its carry.
  sum += std::rotr(sum, 32);
  const auto half = static_cast<std::uint32_t>(sum >> 32);
  return static_cast<std::uint16_t>((half + std::rotr(half, 16)) >> 16);
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

/// Whether the sum over an IPv4 header without options is 0xffff, as it is with the right checksum.
[[nodiscard]] inline bool sums_to_ones(const std::uint8_t* data) noexcept {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  std::uint32_t third = 0;
  std::memcpy(&first, data, 8);
  std::memcpy(&second, data + 8, 8);
  std::memcpy(&third, data + 16, 4);
  unsigned long long sum = 0;
  unsigned char carry = _addcarry_u64(0, first, second, &sum);
  carry = _addcarry_u64(carry, sum, third, &sum);
  sum += carry;
  // Folding keeps the remainder by 0xffff, of which a sum above zero is a multiple or not. The product with
  // the inverse is small for multiples alone.
  constexpr std::uint64_t kInverse = 0xfffefffefffeffff;
  static_assert(kInverse * 0xffff == 1);
  return sum * kInverse <= ~std::uint64_t{0} / 0xffff;
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

/// One less in the first byte of its word: what an IPv4 checksum has to learn of a hop, the same for every
/// packet.
constexpr std::uint16_t kTtlDelta = delta(1, 0);

/// A checksum field after a replacement: HC' = ~(~HC + ~m + m') (RFC 1624, equation 3).
[[nodiscard]] constexpr std::uint16_t updated(std::uint16_t field, std::uint16_t delta) noexcept {
  // The same as ~add(~field, delta): the borrow goes round the end.
  return static_cast<std::uint16_t>(field - delta - (field < delta ? 1 : 0));
}

}  // namespace headgate::core
