// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/maglev.h"

#include <algorithm>
#include <numeric>

#include "dataplane/core/flow_key.h"

namespace headgate::core {
namespace {

constexpr std::uint16_t kFree = 0xffff;

// Prime, so that every step leads through all slots.
std::size_t slots_for(std::size_t servers) {
  constexpr std::size_t kSmall = 8209, kMiddle = 65537, kLarge = 4194319;
  static_assert(kSmall / Maglev::kFew >= Maglev::kSlotsEach && kMiddle / Maglev::kMany >= Maglev::kSlotsEach);
  if (servers <= Maglev::kFew) return kSmall;
  return servers <= Maglev::kMany ? kMiddle : kLarge;
}

struct Walk {
  std::size_t at;
  std::size_t step;
};

}  // namespace

Maglev::Maglev(std::vector<std::uint64_t> identities)
    : identities_(std::move(identities)), slots_(slots_for(identities_.size()), kFree) {
  const std::size_t size = slots_.size();
  std::vector<std::uint16_t> order(identities_.size());
  std::iota(order.begin(), order.end(), std::uint16_t{0});
  std::ranges::sort(order, {}, [&](std::uint16_t server) { return identities_[server]; });
  std::vector<Walk> walks;
  for (const std::uint64_t identity : identities_) {
    walks.push_back({mix(identity ^ 0x9e3779b97f4a7c15u, 0xd6e8feb86659fd93u) % size,
                     mix(identity ^ 0x2545f4914f6cdd1du, 0x9e3779b97f4a7c15u) % (size - 1) + 1});
  }
  for (std::size_t taken = 0; taken < size; ++taken) {
    const std::uint16_t server = order[taken % order.size()];
    Walk& walk = walks[server];
    while (slots_[walk.at] != kFree) walk.at = (walk.at + walk.step) % size;
    slots_[walk.at] = server;
  }
}

}  // namespace headgate::core
