// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/core/fragments.h"
#include "model/tick.h"

namespace headgate::shell {

/// Fragments that wait for the first one of their datagram, in the order they came (core::Action::park). One
/// worker owns it. As large as the core's own bound: it never asks for more.
template <class Packet>
class ParkQueue {
 public:
  static constexpr std::size_t kCapacity = core::Fragments::kMostParked;
  struct Entry {
    Packet* packet = nullptr;
    std::uint32_t datagram = 0;
    Tick since;
  };

  /// False when it is full: the packet is still the caller's.
  [[nodiscard]] bool put(Packet* packet, std::uint32_t datagram, Tick now) noexcept {
    if (count_ == kCapacity) return false;
    entries_[count_++] = {packet, datagram, now};
    return true;
  }
  /// Takes the oldest fragments of a datagram out, as many as there are and `out` has room for; returns how
  /// many.
  std::size_t take(std::uint32_t datagram, std::span<Packet*> out) noexcept {
    return take_if(out, [&](const Entry& entry) { return entry.datagram == datagram; });
  }
  /// Likewise those that have waited as long as they may.
  std::size_t take_impatient(Tick now, std::span<Packet*> out) noexcept {
    return take_if(out, [&](const Entry& entry) {
      return now.since(entry.since) >= static_cast<std::int32_t>(core::Fragments::kPatience);
    });
  }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  /// Takes all out.
  std::size_t take_all(std::span<Packet*> out) noexcept {
    return take_if(out, [](const Entry&) { return true; });
  }

 private:
  template <class Condition>
  std::size_t take_if(std::span<Packet*> out, Condition&& meant) noexcept {
    std::size_t taken = 0;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      if (taken < out.size() && meant(entries_[i])) {
        out[taken++] = entries_[i].packet;
      } else {
        entries_[kept++] = entries_[i];
      }
    }
    count_ = kept;
    return taken;
  }

  std::array<Entry, kCapacity> entries_{};
  std::size_t count_ = 0;
};

}  // namespace headgate::shell
