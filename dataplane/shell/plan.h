// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "dataplane/core/burst.h"
#include "dataplane/core/generation.h"
#include "dataplane/shell/steering_tables.h"

namespace headgate::shell {

constexpr std::uint16_t kNoDevice = 0xffff;

/// A port as workers see it.
struct PlannedPort {
  core::PortIndex index = 0;
  std::uint16_t device = kNoDevice;  ///< DPDK's number
  std::uint16_t twin = kNoDevice;    ///< of the kernel's end; none where an XDP program steers
  unsigned worker = 0;               ///< who alone receives and sends on it
};

/// All that workers read between two swaps.
struct Plan {
  std::unique_ptr<const core::Generation> generation;  ///< null: nothing is switched yet
  std::shared_ptr<const Steering> steering;
  std::vector<PlannedPort> ports;
  std::array<std::uint8_t, core::kMaxPorts> position{};  ///< by PortIndex: 1 + position in `ports`; 0: none

  [[nodiscard]] const PlannedPort* port(core::PortIndex index) const noexcept {
    if (index >= position.size() || position[index] == 0) return nullptr;
    return &ports[position[index] - 1U];
  }
};

}  // namespace headgate::shell
