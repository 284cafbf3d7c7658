// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/config.pb.h"

// Who may serve the sessions of a group, and when: its members, their backups, and the groups that step in.
// Reference 3.2. Pure, over a configuration that need not be valid: what does not exist has no role.
namespace headgate::config {

/// What a `backup` setting names.
struct BackupName {
  std::uint32_t number = 0;  ///< 0: none
  bool group = false;

  bool operator==(const BackupName&) const = default;
};
[[nodiscard]] BackupName backup_name(const std::string& setting);

/// A real server with an address, and the group whose health check decides about it.
struct Player {
  const Real* real = nullptr;
  const Group* checked_by = nullptr;
  bool resting = false;  ///< disabled in its group: no new sessions
};

struct CastMember {
  Player self;
  std::vector<Player> backup;  ///< its own; what those have as backups does not count
};

struct CastFallback {
  std::uint32_t group = 0;  ///< 0: a single backup server
  std::vector<CastMember> members;
};

struct Cast {
  std::vector<CastMember> members;
  std::vector<CastFallback> fallback;  ///< in the order of their use
};

/// The roles around a group. A server in several of them is checked in all of them as in its first, members
/// before their backups, so that it has one state and one set of sessions.
[[nodiscard]] Cast cast_of(const Config& config, const Group& group);

/// Calls `visit` with each player of each role; a server with two roles comes twice.
template <class Visit>
void for_each_player(const Cast& cast, const Visit& visit) {
  const auto all = [&](const std::vector<CastMember>& members) {
    for (const CastMember& member : members) {
      visit(member.self);
      for (const Player& backup : member.backup) visit(backup);
    }
  };
  all(cast.members);
  for (const CastFallback& fallback : cast.fallback) all(fallback.members);
}

}  // namespace headgate::config
