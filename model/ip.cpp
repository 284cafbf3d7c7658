// SPDX-License-Identifier: Apache-2.0
#include "model/ip.h"

#include <arpa/inet.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

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

std::optional<Ip> Ip::parse(std::string_view text) {
  if (const auto v4 = Ipv4::parse(text)) return Ip(*v4);
  char terminated[INET6_ADDRSTRLEN];
  if (text.size() >= sizeof terminated) return std::nullopt;
  text.copy(terminated, text.size());
  terminated[text.size()] = '\0';
  Ip address;
  if (inet_pton(AF_INET6, terminated, address.octets.data()) != 1) return std::nullopt;
  return address;
}

bool Ip::is_host() const noexcept {
  if (is_v4()) return octets[12] != 0 && octets[12] != 127 && octets[12] < 224;
  const Ip loopback = [] {
    Ip one;
    one.octets[15] = 1;
    return one;
  }();
  const bool multicast = octets[0] == 0xff;
  const bool link_local = octets[0] == 0xfe && (octets[1] & 0xc0) == 0x80;
  return !none() && *this != loopback && !multicast && !link_local;
}

std::string Ip::text() const {
  if (none()) return Ipv4{}.text();
  if (is_v4()) return v4().text();
  char text[INET6_ADDRSTRLEN];
  return inet_ntop(AF_INET6, octets.data(), text, sizeof text);
}

std::string Ip::wire() const {
  if (none()) return {};
  const std::size_t skipped = is_v4() ? 12 : 0;
  return {reinterpret_cast<const char*>(octets.data()) + skipped, octets.size() - skipped};
}

std::optional<Ip> Ip::from_wire(std::string_view bytes) noexcept {
  Ip address;
  if (bytes.empty()) return address;
  if (bytes.size() != 4 && bytes.size() != 16) return std::nullopt;
  if (bytes.size() == 4) address.octets[10] = address.octets[11] = 0xff;
  std::memcpy(address.octets.data() + 16 - bytes.size(), bytes.data(), bytes.size());
  return address;
}

Ip prefix_of(const Ip& address, unsigned length) noexcept {
  Ip prefix = address;
  unsigned kept = std::min(address.is_v4() ? 96 + length : length, 128u);
  for (std::uint8_t& octet : prefix.octets) {
    const unsigned here = std::min(kept, 8u);
    octet &= static_cast<std::uint8_t>(0xff00u >> here);
    kept -= here;
  }
  return prefix;
}

bool same_prefix(const Ip& one, const Ip& other, unsigned length) noexcept {
  return one.is_v4() == other.is_v4() && prefix_of(one, length) == prefix_of(other, length);
}

std::string endpoint_text(const Ip& address, std::uint16_t port) {
  const bool bare = address.is_v4() || address.none();
  return bare ? fmt::format("{}:{}", address.text(), port) : fmt::format("[{}]:{}", address.text(), port);
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
