// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// Messages of binary protocols as bytes, in network order. Pure.
namespace headgate::probe {

/// Appends a number of `octets` octets.
inline void put(std::string& out, std::uint64_t number, unsigned octets) {
  while (octets-- > 0) out += static_cast<char>(number >> 8 * octets);
}

[[nodiscard]] inline std::uint8_t octet(char c) noexcept {
  return static_cast<std::uint8_t>(c);
}

/// Reads a message from its beginning, and never beyond its end: what is not there is zero or empty, and from
/// then on the reader has failed.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  [[nodiscard]] bool failed() const noexcept { return failed_; }
  [[nodiscard]] std::string_view rest() const noexcept { return rest_; }
  [[nodiscard]] std::string_view take(std::size_t size) noexcept {
    failed_ = failed_ || size > rest_.size();
    if (failed_) return {};
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  template <std::unsigned_integral Number>
  [[nodiscard]] Number number() noexcept {
    std::uint64_t value = 0;
    for (const char c : take(sizeof(Number))) value = value << 8 | octet(c);
    return static_cast<Number>(value);
  }

 private:
  std::string_view rest_;
  bool failed_ = false;
};

/// The bytes that pairs of hexadecimal digits stand for, in either case; nothing where there is anything
/// else.
[[nodiscard]] inline std::optional<std::string> from_hex(std::string_view text) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    const char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
  };
  if (text.size() % 2 != 0) return std::nullopt;
  std::string out;
  for (; !text.empty(); text.remove_prefix(2)) {
    const int high = digit(text[0]);
    const int low = digit(text[1]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high << 4 | low);
  }
  return out;
}

}  // namespace headgate::probe
