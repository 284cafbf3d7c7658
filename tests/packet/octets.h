// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

// Numbers in network order, written plainly: one octet after the other.
namespace headgate::testing {

using Bytes = std::vector<std::uint8_t>;

inline void put16(Bytes& out, std::uint32_t value) {
  out.push_back(static_cast<std::uint8_t>(value >> 8));
  out.push_back(static_cast<std::uint8_t>(value));
}

inline void put32(Bytes& out, std::uint32_t value) {
  put16(out, value >> 16);
  put16(out, value & 0xffff);
}

inline void set16(Bytes& out, std::size_t at, std::uint16_t value) {
  out[at] = static_cast<std::uint8_t>(value >> 8);
  out[at + 1] = static_cast<std::uint8_t>(value);
}

inline void append(Bytes& out, const Bytes& more) {
  out.insert(out.end(), more.begin(), more.end());
}

[[nodiscard]] inline std::uint16_t get16(const Bytes& in, std::size_t at) {
  return static_cast<std::uint16_t>(in[at] << 8 | in[at + 1]);
}

[[nodiscard]] inline std::uint32_t get32(const Bytes& in, std::size_t at) {
  return std::uint32_t{get16(in, at)} << 16 | get16(in, at + 2);
}

/// The octets from `begin` to before `end`.
[[nodiscard]] inline Bytes slice(const Bytes& in, std::size_t begin, std::size_t end) {
  return {in.begin() + static_cast<std::ptrdiff_t>(begin), in.begin() + static_cast<std::ptrdiff_t>(end)};
}

}  // namespace headgate::testing
