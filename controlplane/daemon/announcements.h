// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "controlplane/daemon/monitor.h"
#include "controlplane/telemetry/event_log.h"

// Turns changes of state into the lines that administrators know. Reference 4.7. Pure.
namespace headgate::daemon {

/// What a configuration says of those that lines tell about.
struct Names {
  std::map<std::uint32_t, Ip> rips;
  std::map<std::uint32_t, Ip> vips;
  std::map<std::uint32_t, std::uint32_t> maxcon;       ///< by server; those that have a limit
  std::map<std::uint32_t, std::uint32_t> alert_at;     ///< realthr, by group
  std::map<std::uint32_t, std::string> formula_texts;  ///< of groups that have one
  std::map<std::uint32_t, std::uint32_t> minthrsh;     ///< likewise
};

/// The states that lines tell about: all of them, or those that are looked at.
struct Picture {
  using ServiceKey = std::tuple<std::uint32_t, std::uint32_t, Protocol>;  ///< virtual server, virtual port
  using Pair = std::pair<std::uint32_t, std::uint32_t>;

  std::map<TargetKey, health::Health> services;
  std::map<TargetKey, std::string> reasons;  ///< of those that are not well: what brought that
  std::map<std::uint32_t, health::ServerHealth> servers;
  /// Whether any member takes new sessions, by virtual server and by its service; absent while not known.
  std::map<std::uint32_t, bool> virts;
  std::map<ServiceKey, bool> virt_services;

  std::map<std::uint32_t, std::optional<bool>> formulas;  ///< of groups that have one: true for all services
  std::map<std::uint32_t, std::optional<bool>> enough;  ///< of groups with minthrsh: servers for all services
  std::set<Pair> failover;                              ///< server, and the backup that stands in for it
  std::set<Pair> overflow;                              ///< full server, and the backup that helps out
  std::set<Pair> stepped_in_groups;                     ///< group, and the one that has stepped in
  std::set<Pair> stepped_in_servers;                    ///< group, and the server that has stepped in
  std::set<std::uint32_t> full;                         ///< servers at maxcon
  std::map<std::uint32_t, std::size_t> available;       ///< servers of a group with realthr that are not gone
  /// Of servers with buddies one that is down, empty when all are up; nothing while that is not known.
  std::map<std::uint32_t, std::optional<std::string>> buddy_down;
};

/// `now` as far as it is known, and what `before` knew of the rest: a server with a target that is not proven
/// yet has not changed.
[[nodiscard]] Picture carried_over(const Names& names, const Picture& before, Picture now);

struct Announcement {
  telemetry::Severity severity;
  std::string text;
  std::string subject = {};  ///< whose state it tells
  bool operator==(const Announcement&) const = default;
};

/// One line for each change from `before` to `now`, servers before their services. What was not known before
/// is told when it is up, and when it has failed; a new check of a service that is known already is not news.
[[nodiscard]] std::vector<Announcement> announcements(const Names& names, const Picture& before,
                                                      const Picture& now);

}  // namespace headgate::daemon
