// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>

namespace headgate::core {

/// Network order in memory, host order in hand.
[[nodiscard]] inline std::uint16_t load16(const std::uint8_t* at) noexcept {
  std::uint16_t value = 0;
  std::memcpy(&value, at, 2);
  return __builtin_bswap16(value);
}
[[nodiscard]] inline std::uint32_t load32(const std::uint8_t* at) noexcept {
  std::uint32_t value = 0;
  std::memcpy(&value, at, 4);
  return __builtin_bswap32(value);
}
inline void store16(std::uint8_t* at, std::uint16_t value) noexcept {
  value = __builtin_bswap16(value);
  std::memcpy(at, &value, 2);
}
inline void store32(std::uint8_t* at, std::uint32_t value) noexcept {
  value = __builtin_bswap32(value);
  std::memcpy(at, &value, 4);
}
/// Words as they lie in memory, for checksums.
[[nodiscard]] inline std::uint16_t load_raw16(const std::uint8_t* at) noexcept {
  std::uint16_t value = 0;
  std::memcpy(&value, at, 2);
  return value;
}
[[nodiscard]] inline std::uint32_t load_raw32(const std::uint8_t* at) noexcept {
  std::uint32_t value = 0;
  std::memcpy(&value, at, 4);
  return value;
}
[[nodiscard]] inline std::uint64_t load_raw64(const std::uint8_t* at) noexcept {
  std::uint64_t value = 0;
  std::memcpy(&value, at, 8);
  return value;
}
inline void store_raw16(std::uint8_t* at, std::uint16_t value) noexcept {
  std::memcpy(at, &value, 2);
}

}  // namespace headgate::core
