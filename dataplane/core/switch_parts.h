// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "dataplane/core/burst.h"

// What the parts of the switch (switch.cpp, pipeline.cpp, opening.cpp, complaining.cpp) have in common.
namespace headgate::core {

/// Whether a port is in a set of ports, a bit each.
[[nodiscard]] constexpr bool allowed(std::uint64_t ports, PortIndex port) noexcept {
  return (ports >> port & 1) != 0;
}

}  // namespace headgate::core
