// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "controlplane/daemon/monitor.h"
#include "controlplane/telemetry/event_log.h"

// Turns changes of state into the lines that administrators know. Reference 4.7.
namespace headgate::daemon {

/// The states that lines tell about.
struct Picture {
  std::map<TargetKey, health::Health> services;
  std::map<std::uint32_t, health::ServerHealth> servers;
  /// Whether any member takes new sessions, by virtual server and by its service; absent while not known.
  std::map<std::uint32_t, bool> virts;
  std::map<std::tuple<std::uint32_t, std::uint32_t, Protocol>, bool> virt_services;  ///< with its port
  std::map<std::uint32_t, Ip> rips;
  std::map<std::uint32_t, Ip> vips;
};

[[nodiscard]] Picture picture_of(const forwarding::Generation& generation, const Monitor& monitor);

/// `now` as far as it is known, and what `before` knew of the rest: a server with a target that is not proven
/// yet has not changed.
[[nodiscard]] Picture carried_over(const Picture& before, Picture now);

/// The state of one real server over all of its targets.
[[nodiscard]] health::ServerState server_state_of(const Targets& targets, std::uint32_t real);

struct Announcement {
  telemetry::Severity severity;
  std::string text;
  bool operator==(const Announcement&) const = default;
};

/// One line for each change from `before` to `now`, servers before their services. What was not known before
/// is told when it is up, and when it has failed; a new check of a service that is known already is not news.
/// Pure.
[[nodiscard]] std::vector<Announcement> announcements(const Picture& before, const Picture& now);

}  // namespace headgate::daemon
