// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "model/forwarding.pb.h"

// Who of a service takes its new sessions now, and in whose place. Reference 3.2: what the dataplane does
// with the same states, for screens and logs.
namespace headgate::health {

/// Whether a server takes new sessions, as far as its state says.
enum class Availability : std::uint8_t {
  open,
  last,     ///< when no open one of its group takes them
  closed,   ///< failed, disabled or drained
  unknown,  ///< not proven yet
};

struct Situation {
  std::function<Availability(const forwarding::Member&)> availability;
  std::set<std::uint32_t> full;  ///< real servers at maxcon
  bool was_short = false;        ///< the service was closed for having too few servers
};

struct Standby {
  using Pair = std::pair<std::uint32_t, std::uint32_t>;  ///< primary, backup

  std::set<std::uint32_t> taking;  ///< real servers that take new sessions
  std::set<Pair> failover;         ///< a backup that stands in for a server that is closed
  std::set<Pair> overflow;         ///< a backup that takes what a full server does not
  std::optional<int> fallback;     ///< index of the group that has stepped in
  std::uint32_t available = 0;     ///< members that take new sessions, be it at last
  bool undecided = false;          ///< nobody takes new sessions, but somebody who may is not proven
  bool is_short = false;     ///< closed for having fewer members than minthrsh, until maxthrsh is reached
  bool may_suffice = false;  ///< then: with the members that are not proven there may be enough
  bool is_false = false;     ///< closed since the group's health formula is false
  bool unsettled = false;    ///< members that are not proven can make it true

  bool operator==(const Standby&) const = default;
};

/// Members first, unless there are too few or their formula is false, each with its backup in its place while
/// it is closed, or beside it while it is full; when none of these is open, those of them that are so at
/// last; when nobody is left, the first group that has somebody. Pure.
[[nodiscard]] Standby standby(const forwarding::Service& service, const Situation& situation);

}  // namespace headgate::health
