// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/turns.h"

#include <algorithm>

namespace headgate::core {
namespace {

// The stride of weight 1; fine enough for weights in the hundreds.
constexpr std::uint64_t kStride = std::uint64_t{1} << 20;

using Key = unsigned __int128;

constexpr Key key_of(std::uint64_t load, std::uint64_t moment) noexcept {
  return Key{load} << 64 | moment;
}

constexpr std::uint64_t moment_of(Key key) noexcept {
  return static_cast<std::uint64_t>(key);
}

}  // namespace

Turns::Turns(std::span<const std::uint32_t> weights, std::span<const std::uint64_t> loads, std::size_t first,
             std::uint64_t latest)
    : keys_(weights.size()),
      strides_(weights.size()),
      winners_(std::max<std::size_t>(2 * weights.size(), 2)),
      latest_(latest) {
  const std::size_t n = weights.size();
  for (std::size_t i = 0; i < n; ++i) {
    strides_[i] = std::max<std::uint64_t>(kStride * kWeightUnit / weights[i], 1);
    // First turns are spread over the stride: any whole round then has each as often as its weight says.
    keys_[i] = key_of(loads[i], strides_[i] * ((i + n - first % n) % n + 1) / n);
    winners_[n + i] = static_cast<std::uint16_t>(i);
  }
  for (std::size_t node = n; node-- > 1;) {
    const std::uint16_t left = winners_[2 * node];
    const std::uint16_t right = winners_[2 * node + 1];
    winners_[node] = keys_[right] < keys_[left] ? right : left;
  }
}

void Turns::set_load(std::size_t server, std::uint64_t load) noexcept {
  std::uint64_t moment = moment_of(keys_[server]);
  if (this->load(server) == kFull) moment = std::max(moment, reached_);
  keys_[server] = key_of(load, moment);
  replay(server);
}

void Turns::take(std::size_t server, std::uint64_t load) noexcept {
  reached_ = std::max(reached_, moment_of(keys_[server]));
  keys_[server] = key_of(load, reached_ + strides_[server]);
  replay(server);
  if (reached_ > latest_) rebase();
}

// Plays the server's matches up to the root again. The opponents are known beforehand, so that their keys are
// fetched together, and the outcome decides by moves, not by branches that would be guessed wrongly half of
// the time.
void Turns::replay(std::size_t server) noexcept {
  auto best = static_cast<std::uint16_t>(server);
  Key key = keys_[server];
  for (std::size_t node = server + size(); node > 1; node >>= 1) {
    const std::uint16_t other = winners_[node ^ 1];
    const Key others = keys_[other];
    const bool loses = others < key;
    best = loses ? other : best;
    key = loses ? others : key;
    winners_[node >> 1] = best;
  }
}

void Turns::rebase() noexcept {
  for (Key& key : keys_) {
    const std::uint64_t moment = moment_of(key);
    key = key_of(static_cast<std::uint64_t>(key >> 64), moment > reached_ ? moment - reached_ : 0);
  }
  reached_ = 0;
  for (std::size_t i = 0; i < size(); ++i) replay(i);
}

}  // namespace headgate::core
