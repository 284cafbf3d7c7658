// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/routes.h"

#include <algorithm>
#include <tuple>

namespace headgate::core {

Routes::Routes(std::vector<Route> routes) {
  const auto order = [](const Route& r) { return std::tuple(r.prefix, r.metric, r.port, r.gateway); };
  std::ranges::sort(routes, {}, order);
  for (Route& route : routes) {
    if (route.length > 32) continue;
    route.prefix.value &= mask_of(route.length).value;
    auto& same_length = by_length_[route.length];
    const bool known = !same_length.empty() && same_length.back().prefix == route.prefix;
    if (!known) same_length.push_back(route);  // the lowest metric came first
  }
}

std::optional<NextHop> Routes::lookup(Ipv4 destination) const noexcept {
  for (unsigned length = 33; length-- > 0;) {
    const auto& routes = by_length_[length];
    if (routes.empty()) continue;
    const Ipv4 prefix{destination.value & mask_of(length).value};
    const auto found = std::ranges::lower_bound(routes, prefix, {}, &Route::prefix);
    if (found == routes.end() || found->prefix != prefix) continue;
    return NextHop{found->port, found->gateway.none() ? destination : found->gateway};
  }
  return std::nullopt;
}

}  // namespace headgate::core
