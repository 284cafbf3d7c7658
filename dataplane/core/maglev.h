// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace headgate::core {

/// Distributes hashes over servers evenly, and with little change when one is added or taken away.
///
/// The table of Maglev (Eisenbud et al., NSDI 2016): each server has a permutation of the slots, derived from
/// its identity alone, and in turn each takes the next free slot of its own. Two units with the same servers
/// have the same table, whatever the order of the list. Slots of any two servers differ by one at most.
///
/// The number of slots must not follow the number of servers, or each change would move all clients: there
/// are three sizes, and only a list that grows beyond kFew or kMany, or shrinks to it, is distributed anew.
class Maglev {
 public:
  /// Slots a server, at least: shares differ by 1.6 % at most.
  static constexpr std::size_t kSlotsEach = 64;
  static constexpr std::size_t kFew = 64, kMany = 1024;

  /// One to 65,535 servers by their identities.
  explicit Maglev(std::vector<std::uint64_t> identities);

  /// The position of the server, in the list of identities, that has this hash.
  [[nodiscard]] std::uint16_t at(std::uint64_t hash) const noexcept {
    return slots_[static_cast<std::size_t>((hash >> 32) * slots_.size() >> 32)];
  }
  [[nodiscard]] const std::vector<std::uint64_t>& identities() const noexcept { return identities_; }
  [[nodiscard]] const std::vector<std::uint16_t>& slots() const noexcept { return slots_; }

 private:
  std::vector<std::uint64_t> identities_;
  std::vector<std::uint16_t> slots_;
};

}  // namespace headgate::core
