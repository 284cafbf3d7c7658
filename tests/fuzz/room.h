// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <sanitizer/asan_interface.h>

#include "frames.h"

namespace headgate::fuzz {

/// Memory of exactly as many octets as are asked for: what touches others, the address sanitizer sees.
template <std::size_t most>
class Room {
 public:
  Room() { ASAN_POISON_MEMORY_REGION(memory_.data(), memory_.size()); }
  ~Room() { ASAN_UNPOISON_MEMORY_REGION(memory_.data(), memory_.size()); }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  /// `size` zeros, until the next call.
  [[nodiscard]] std::uint8_t* lend(std::size_t size) {
    require(size <= most);
    std::uint8_t* const begin = memory_.data() + kFence;
    ASAN_POISON_MEMORY_REGION(begin, lent_);
    ASAN_UNPOISON_MEMORY_REGION(begin, size);
    lent_ = size;
    std::memset(begin, 0, size);
    return begin;
  }

 private:
  static constexpr std::size_t kFence = 64;

  alignas(8) std::array<std::uint8_t, kFence + most + kFence> memory_;
  std::size_t lent_ = 0;
};

}  // namespace headgate::fuzz
