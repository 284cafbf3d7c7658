// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "model/config.pb.h"
#include "model/forwarding.pb.h"

// What an apply would do, as a value: printing it is `diff`.
namespace headgate::config {

/// Sessions of one service that are bound to one real server. They go on as long as nothing of this changes:
/// they are counted for the group, and sent to the addresses.
struct Binding {
  std::uint32_t virt = 0;
  std::uint32_t vport = 0;
  std::uint32_t protocol = 0;
  std::uint32_t real = 0;
  std::uint32_t rport = 0;
  std::uint32_t group = 0;
  std::string vip;
  std::string rip;

  auto operator<=>(const Binding&) const = default;
};

struct Plan {
  std::string diff;         ///< in the format of the dump
  std::set<Binding> ended;  ///< bindings whose sessions end: their server is disabled, or they are gone
};

[[nodiscard]] Plan plan(const Config& running, const Config& next);

/// How many sessions a plan ends, by what the dataplane counts now.
[[nodiscard]] std::uint64_t sessions_ended(const Plan& plan, const forwarding::Stats& stats);

}  // namespace headgate::config
