// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

namespace headgate {

/// A number that names one kind of thing; numbers of different kinds do not mix.
template <class Kind, class Number>
struct Id {
  Number value = 0;

  constexpr auto operator<=>(const Id&) const = default;
  [[nodiscard]] constexpr std::size_t index() const noexcept { return value; }
};

/// Numbers an administrator typed (reference section 2).
using RealNumber = Id<struct RealNumberKind, std::uint32_t>;
using GroupNumber = Id<struct GroupNumberKind, std::uint32_t>;
using VirtNumber = Id<struct VirtNumberKind, std::uint32_t>;
using PortNumber = Id<struct PortNumberKind, std::uint16_t>;
using VlanNumber = Id<struct VlanNumberKind, std::uint16_t>;

}  // namespace headgate

template <class Kind, class Number>
struct std::hash<headgate::Id<Kind, Number>> {
  std::size_t operator()(headgate::Id<Kind, Number> id) const noexcept {
    return std::hash<Number>{}(id.value);
  }
};
