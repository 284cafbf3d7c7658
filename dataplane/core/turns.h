// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace headgate::core {

/// What a weight of 1 is in the fine weights that choosing works with, so that fractions can be told.
constexpr std::uint32_t kWeightUnit = 256;

/// Whose turn it is among a fixed number of servers: the one with the least load, and among equals the one
/// whose turn by weight comes first.
///
/// Turns by weight are strides: a server that is taken moves on by 1/weight, so that within one round each
/// has exactly as many turns as its weight says, spread evenly, without a list as long as the sum of weights.
/// A tournament tree over the servers keeps the first at its root: taking or changing one costs O(log n).
/// Not thread-safe: one worker owns it. Nothing allocates after construction.
class Turns {
 public:
  /// The load of a server that takes nothing; it comes last.
  static constexpr std::uint64_t kFull = ~std::uint64_t{0};

  Turns() = default;
  /// Moments of turns begin anew here, long before they could wrap.
  static constexpr std::uint64_t kLatest = std::uint64_t{1} << 62;
  /// Fine weights, each at least 1, and present loads of 65,535 servers at most; `first` has the first turn
  /// among equals.
  Turns(std::span<const std::uint32_t> weights, std::span<const std::uint64_t> loads, std::size_t first,
        std::uint64_t latest = kLatest);

  [[nodiscard]] std::size_t size() const noexcept { return strides_.size(); }
  /// The server whose turn it is. There must be one.
  [[nodiscard]] std::uint16_t first() const noexcept { return winners_[1]; }
  [[nodiscard]] std::uint64_t load(std::size_t server) const noexcept {
    return static_cast<std::uint64_t>(keys_[server] >> 64);
  }
  /// A server has another load than was known. One that comes back from kFull has missed its turns.
  void set_load(std::size_t server, std::uint64_t load) noexcept;
  /// The server had its turn and has this load now.
  void take(std::size_t server, std::uint64_t load) noexcept;

 private:
  using Key = unsigned __int128;  // load, then the moment of the next turn

  void replay(std::size_t server) noexcept;
  void rebase() noexcept;

  std::vector<Key> keys_;
  std::vector<std::uint64_t> strides_;
  std::vector<std::uint16_t> winners_;  ///< node i plays 2i against 2i + 1; leaves begin at size()
  std::uint64_t latest_ = kLatest;
  std::uint64_t reached_ = 0;  ///< the latest moment of a turn that was taken
};

}  // namespace headgate::core
