// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/routes.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

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
    lengths_.push_back({bits, std::move(same_length)});
  }
}

std::optional<NextHop> Routes::lookup(const Ip& destination) const noexcept {
  const bool v4 = destination.is_v4();
  for (const Length& length : lengths_) {
    if (v4 && length.bits < kMappedBits) return std::nullopt;  // those of IPv6
    const Ip prefix = prefix_of(destination, v4 ? length.bits - kMappedBits : length.bits);
    const auto found = std::ranges::lower_bound(length.routes, prefix, {}, &Route::prefix);
    if (found == length.routes.end() || found->prefix != prefix) continue;
    return NextHop{found->port, found->gateway.none() ? destination : found->gateway};
  }
  return std::nullopt;
}

}  // namespace headgate::core
