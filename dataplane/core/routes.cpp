// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/routes.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

#include "dataplane/core/flow_key.h"

namespace headgate::core {
namespace {

std::uint32_t number4(const Ip& address) noexcept {
  return __builtin_bswap32(static_cast<std::uint32_t>(words(address).last >> 32));
}

unsigned __int128 number6(const Ip& address) noexcept {
  const IpWords both = words(address);
  return static_cast<unsigned __int128>(__builtin_bswap64(both.first)) << 64 | __builtin_bswap64(both.last);
}

template <class Number>
Number mask_of_bits(unsigned bits) noexcept {
  constexpr unsigned kAll = 8 * sizeof(Number);
  return bits == 0 ? Number{0} : static_cast<Number>(~Number{0} << (kAll - bits));
}

}  // namespace

template <class Number>
void Routes::add(Lengths<Number>& lengths, const std::vector<Route>& same_length, Number mask) {
  Length<Number> length{.mask = mask};
  for (const Route& route : same_length) {
    if constexpr (sizeof(Number) == 4)
      length.prefixes.push_back(number4(route.prefix));
    else
      length.prefixes.push_back(number6(route.prefix));
    length.next.push_back({route.port, route.gateway});
  }
  lengths.push_back(std::move(length));
}

Routes::Routes(std::vector<Route> routes) {
  const auto order = [](const Route& r) { return std::tuple(r.prefix, r.metric, r.port, r.gateway); };
  std::map<std::pair<bool, unsigned>, std::vector<Route>, std::greater<>> by_length;  // IPv4 first
  for (Route& route : routes) {
    const bool v4 = route.prefix.is_v4();
    if (route.length > (v4 ? 32u : 128u)) continue;
    route.prefix = prefix_of(route.prefix, route.length);
    by_length[{v4, route.length}].push_back(route);
  }
  for (auto& [kind, same_length] : by_length) {
    std::ranges::sort(same_length, {}, order);
    // The lowest metric stays. Not std::ranges::unique: clang 14 can't compile its result.
    const auto same_prefix = [](const Route& a, const Route& b) { return a.prefix == b.prefix; };
    same_length.erase(std::unique(same_length.begin(), same_length.end(), same_prefix), same_length.end());
    if (kind.first)
      add(of_v4_, same_length, mask_of_bits<std::uint32_t>(kind.second));
    else
      add(of_v6_, same_length, mask_of_bits<unsigned __int128>(kind.second));
  }
}

template <class Number>
const NextHop* Routes::find(const Lengths<Number>& lengths, Number destination) noexcept {
  for (const Length<Number>& length : lengths) {
    const Number prefix = destination & length.mask;
    const auto found = std::lower_bound(length.prefixes.begin(), length.prefixes.end(), prefix);
    if (found != length.prefixes.end() && *found == prefix)
      return &length.next[static_cast<std::size_t>(found - length.prefixes.begin())];
  }
  return nullptr;
}

std::optional<NextHop> Routes::lookup(const Ip& destination) const noexcept {
  const NextHop* next =
      destination.is_v4() ? find(of_v4_, number4(destination)) : find(of_v6_, number6(destination));
  if (next == nullptr) return std::nullopt;
  return NextHop{next->port, next->address.none() ? destination : next->address};
}

}  // namespace headgate::core
