// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "controlplane/daemon/monitor.h"
#include "controlplane/telemetry/event_log.h"

// Turns changes of state into the lines that administrators know. Reference 4.7.
namespace headgate::daemon {

/// The states that lines tell about.
struct Picture {
  std::map<TargetKey, health::Health> services;
  std::map<std::uint32_t, health::ServerHealth> servers;
  std::map<std::uint32_t, bool> virts;  ///< whether any service can be served; absent while that is not known
  std::map<std::uint32_t, Ipv4> rips;
  std::map<std::uint32_t, Ipv4> vips;
};

[[nodiscard]] Picture picture_of(const forwarding::Generation& generation, const Targets& targets);

/// The state of one real server over all of its targets.
[[nodiscard]] health::ServerState server_state_of(const Targets& targets, std::uint32_t real);

struct Announcement {
  telemetry::Severity severity;
  std::string text;
  bool operator==(const Announcement&) const = default;
};

/// One line for each change from `before` to `now`, servers before their services. What was not known before
/// is told when it is up, and when it has failed. Pure.
[[nodiscard]] std::vector<Announcement> announcements(const Picture& before, const Picture& now);

}  // namespace headgate::daemon
