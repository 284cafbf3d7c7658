// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "dataplane/core/burst.h"
#include "tests/packet/wire.h"

namespace headgate::testing {

/// Frames of one burst and room for the switch's own packets, taken once.
struct Burst {
  static constexpr std::size_t kSize = 128;
  std::array<std::array<std::uint8_t, kSize>, core::kBurst> octets{}, room{};
  std::array<core::Frame, core::kBurst> frames{}, spare{};
  std::size_t used = 0;

  void start() {
    used = 0;
    for (std::size_t i = 0; i < spare.size(); ++i) spare[i] = {.data = room[i].data(), .capacity = kSize};
  }
  void add(const Wire& wire) {
    std::ranges::copy(wire.bytes, octets[used].begin());
    frames[used] = {.data = octets[used].data(),
                    .length = static_cast<std::uint16_t>(wire.bytes.size()),
                    .capacity = kSize,
                    .port = static_cast<core::PortIndex>(wire.port - 1)};
    ++used;
  }
};

}  // namespace headgate::testing
