// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace headgate::core {

/// Whether all conditions hold, with one branch for the lot: each is evaluated, so none may depend on
/// another.
template <class... Conditions>
[[nodiscard]] constexpr bool all(Conditions... conditions) noexcept {
  return (static_cast<unsigned>(conditions) & ...) != 0;
}

}  // namespace headgate::core
