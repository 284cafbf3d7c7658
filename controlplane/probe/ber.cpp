// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/ber.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "controlplane/probe/bytes.h"

namespace headgate::probe {
namespace {

constexpr unsigned kLongestLength = 4;  // octets
constexpr std::size_t kMostArcs = 128;  // RFC 2578, 3.5

std::string length_octets(std::size_t length) {
  std::string out;
  if (length < 0x80) {
    put(out, length, 1);
    return out;
  }
  unsigned octets = 1;
  while (length >> 8 * octets != 0) ++octets;
  put(out, 0x80 | octets, 1);
  put(out, length, octets);
  return out;
}

std::optional<std::vector<std::uint32_t>> arcs_of(std::string_view text) {
  if (text.starts_with('.')) text.remove_prefix(1);
  std::vector<std::uint32_t> arcs;
  while (arcs.size() < kMostArcs) {
    std::uint32_t arc = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), arc);
    if (error != std::errc{}) return std::nullopt;
    arcs.push_back(arc);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) return arcs;
    if (text.front() != '.') return std::nullopt;
    text.remove_prefix(1);
  }
  return std::nullopt;
}

/// Seven bits an octet, of which all but the last have the eighth set (X.690, 8.19.2).
void put_arc(std::string& out, std::uint64_t arc) {
  unsigned groups = 1;
  while (arc >> 7 * groups != 0) ++groups;
  while (groups-- > 0) put(out, (arc >> 7 * groups & 0x7f) | (groups > 0 ? 0x80 : 0), 1);
}

}  // namespace

std::optional<BerElement> take_ber(std::string_view& rest) {
  Reader reader(rest);
  const auto tag = reader.number<std::uint8_t>();
  std::size_t length = reader.number<std::uint8_t>();
  if ((tag & 0x1f) == 0x1f || length == 0x80 || length > (0x80 | kLongestLength)) return std::nullopt;
  if (length > 0x80) {
    const std::string_view octets = reader.take(length & 0x7f);
    length = 0;
    for (const char c : octets) length = length << 8 | octet(c);
  }
  const std::string_view value = reader.take(length);
  if (reader.failed()) return std::nullopt;
  rest = reader.rest();
  return BerElement{tag, value};
}

std::optional<std::string_view> take_ber(std::string_view& rest, std::uint8_t tag) {
  const auto element = take_ber(rest);
  return element && element->tag == tag ? std::optional(element->value) : std::nullopt;
}

std::optional<std::int64_t> ber_integer(std::string_view value) {
  if (value.empty() || value.size() > sizeof(std::int64_t)) return std::nullopt;
  std::uint64_t number = (octet(value.front()) & 0x80) != 0 ? ~std::uint64_t{0} : 0;
  for (const char c : value) number = number << 8 | octet(c);
  return static_cast<std::int64_t>(number);
}

std::optional<std::uint64_t> ber_unsigned(std::string_view value) {
  if (value.size() == sizeof(std::uint64_t) + 1 && value.front() == '\0') value.remove_prefix(1);
  const auto number = ber_integer(value);
  if (!number || value.size() == sizeof(std::uint64_t)) return number;
  return static_cast<std::uint64_t>(*number) & ~(~std::uint64_t{0} << 8 * value.size());
}

std::string ber(std::uint8_t tag, std::string_view value) {
  std::string out(1, static_cast<char>(tag));
  return out.append(length_octets(value.size())).append(value);
}

std::string ber_integer(std::int64_t number) {
  unsigned octets = 1;
  while (octets < sizeof number && number >> (8 * octets - 1) != 0 && number >> (8 * octets - 1) != -1)
    ++octets;
  std::string value;
  put(value, static_cast<std::uint64_t>(number), octets);
  return ber(kBerInteger, value);
}

std::optional<std::string> ber_oid(std::string_view text) {
  const auto arcs = arcs_of(text);
  if (!arcs || arcs->size() < 2 || (*arcs)[0] > 2 || ((*arcs)[0] < 2 && (*arcs)[1] > 39)) return std::nullopt;
  std::string out;
  put_arc(out, std::uint64_t{(*arcs)[0]} * 40 + (*arcs)[1]);
  std::for_each(arcs->begin() + 2, arcs->end(), [&](std::uint32_t arc) { put_arc(out, arc); });
  return out;
}

}  // namespace headgate::probe
