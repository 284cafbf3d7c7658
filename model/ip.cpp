// SPDX-License-Identifier: Apache-2.0
#include "model/ip.h"

#include <bit>
#include <charconv>

#include <fmt/format.h>

namespace headgate {

std::optional<Ipv4> Ipv4::parse(std::string_view text) {
  std::uint32_t value = 0;
  for (int group = 0; group < 4; ++group) {
    unsigned octet = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), octet);
    const auto digits = static_cast<std::size_t>(end - text.data());
    const bool leading_zero = digits > 1 && text.front() == '0';
    if (error != std::errc{} || digits > 3 || octet > 255 || leading_zero) return std::nullopt;
    value = value << 8 | octet;
    text.remove_prefix(digits);
    if (group == 3) return text.empty() ? std::optional(Ipv4{value}) : std::nullopt;
    if (!text.starts_with('.')) return std::nullopt;
    text.remove_prefix(1);
  }
  return std::nullopt;
}

std::string Ipv4::text() const {
  return fmt::format("{}.{}.{}.{}", value >> 24, value >> 16 & 255, value >> 8 & 255, value & 255);
}

std::optional<unsigned> prefix_length(Ipv4 mask) {
  const auto length = static_cast<unsigned>(std::countl_one(mask.value));
  return mask_of(length) == mask ? std::optional(length) : std::nullopt;
}

Ipv4 mask_of(unsigned prefix_length) {
  return {prefix_length == 0 ? 0u : ~std::uint32_t{0} << (32 - prefix_length)};
}

std::string Mac::text() const {
  const auto& o = octets;
  return fmt::format("{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", o[0], o[1], o[2], o[3], o[4], o[5]);
}

}  // namespace headgate
