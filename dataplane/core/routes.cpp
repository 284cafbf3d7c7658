// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/routes.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

#include "dataplane/core/flow_key.h"

namespace headgate::core {
namespace {

constexpr unsigned kMappedBits = 96;

}  // namespace

Routes::Routes(std::vector<Route> routes) {
  const auto order = [](const Route& r) { return std::tuple(r.prefix, r.metric, r.port, r.gateway); };
  std::map<unsigned, std::vector<Route>, std::greater<>> by_length;
  for (Route& route : routes) {
    const bool v4 = route.prefix.is_v4();
    if (route.length > (v4 ? 32u : 128u)) continue;
    route.prefix = prefix_of(route.prefix, route.length);
    by_length[route.length + (v4 ? kMappedBits : 0)].push_back(route);
  }
  for (auto& [bits, same_length] : by_length) {
    std::ranges::sort(same_length, {}, order);
    // The lowest metric stays. Not std::ranges::unique: clang 14 can't compile its result.
    const auto same_prefix = [](const Route& a, const Route& b) { return a.prefix == b.prefix; };
    same_length.erase(std::unique(same_length.begin(), same_length.end(), same_prefix), same_length.end());
    Length length{.bits = bits, .mask = mask_of_bits(bits)};
    for (const Route& route : same_length)
      length.ways.push_back({number_of(route.prefix), {route.port, route.gateway}});
    lengths_.push_back(std::move(length));
  }
}

Routes::Number Routes::number_of(const Ip& address) noexcept {
  const IpWords both = words(address);
  return {__builtin_bswap64(both.first), __builtin_bswap64(both.last)};
}

Routes::Number Routes::mask_of_bits(unsigned bits) noexcept {
  const auto word = [](unsigned set) { return set == 0 ? 0 : ~std::uint64_t{0} << (64 - set); };
  return {word(std::min(bits, 64u)), word(bits > 64 ? bits - 64 : 0)};
}

std::optional<NextHop> Routes::lookup(const Ip& destination) const noexcept {
  const Number wanted = number_of(destination);
  const bool v4 = destination.is_v4();
  for (const Length& length : lengths_) {
    if (v4 && length.bits < kMappedBits) return std::nullopt;  // those of IPv6
    const Number prefix{wanted.high & length.mask.high, wanted.low & length.mask.low};
    const auto found = std::ranges::lower_bound(length.ways, prefix, {}, &Way::prefix);
    if (found == length.ways.end() || found->prefix != prefix) continue;
    return NextHop{found->next.port, found->next.address.none() ? destination : found->next.address};
  }
  return std::nullopt;
}

}  // namespace headgate::core
