// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "model/config.pb.h"
#include "model/forwarding.pb.h"

// What an apply would do, as a value: printing it is `diff`.
namespace headgate::config {

/// Sessions of one service that are bound to one real server.
struct Binding {
  std::uint32_t virt = 0;
  std::uint32_t vport = 0;
  std::uint32_t protocol = 0;
  std::uint32_t real = 0;
  std::uint32_t rport = 0;

  auto operator<=>(const Binding&) const = default;
};

struct Plan {
  std::string diff;         ///< in the format of the dump
  std::set<Binding> ended;  ///< bindings whose sessions end: their server is disabled, or they are gone
  std::set<Binding> kept;   ///< bindings whose sessions go on
};

[[nodiscard]] Plan plan(const Config& running, const Config& next);

/// How many sessions a plan ends, by what the dataplane counts now. It counts by server, and by virtual
/// server and server: where one service of several between the same two ends, their sum, which is the most
/// that it can be.
[[nodiscard]] std::uint64_t sessions_ended(const Plan& plan, const forwarding::Stats& stats);

}  // namespace headgate::config
