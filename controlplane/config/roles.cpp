// SPDX-License-Identifier: Apache-2.0
#include "controlplane/config/roles.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "controlplane/config/topology.h"

namespace headgate::config {
namespace {

class Casting {
 public:
  Casting(const Config& config, const Group& group) : config_(config), group_(group) {}

  Cast run() {
    Cast cast;
    for (const Player& player : players_of(group_)) cast.members.push_back({player, {}});
    for (CastMember& member : cast.members) member.backup = backups_of(member.self);
    for (const std::string* setting : {&group_.backup(), &group_.secbkp()}) add_fallback(*setting, cast);
    return cast;
  }

 private:
  /// The first group that checks a server goes on checking it.
  Player player(const Real& real, const Group& group, bool resting) {
    return {&real, checked_by_.emplace(real.number(), &group).first->second, resting};
  }

  std::vector<Player> players_of(const Group& group) {
    std::vector<Player> players;
    for (const std::uint32_t number : group.member())
      if (const Real* real = usable(number))
        players.push_back(player(*real, group, std::ranges::count(group.resting(), number) != 0));
    return players;
  }

  std::vector<Player> backups_of(const Player& primary) {
    const BackupName name = backup_name(primary.real->backup());
    const Group* group = name.group ? find_group(config_, name.number) : nullptr;
    const Real* real = name.group ? nullptr : usable(name.number);
    std::vector<Player> backups;
    if (group != nullptr) backups = players_of(*group);
    if (real != nullptr) backups.push_back(player(*real, *primary.checked_by, false));
    std::erase_if(backups, [&](const Player& backup) { return backup.real == primary.real; });
    return backups;
  }

  void add_fallback(const std::string& setting, Cast& cast) {
    const BackupName name = backup_name(setting);
    CastFallback fallback{.group = name.group ? name.number : 0, .members = {}};
    if (const Group* group = name.group ? find_group(config_, name.number) : nullptr)
      for (const Player& player : players_of(*group)) fallback.members.push_back({player, {}});
    else if (const Real* real = name.group ? nullptr : usable(name.number))
      fallback.members.push_back({player(*real, group_, false), {}});
    if (name.group)
      for (CastMember& member : fallback.members) member.backup = backups_of(member.self);
    if (!fallback.members.empty()) cast.fallback.push_back(std::move(fallback));
  }

  [[nodiscard]] const Real* usable(std::uint32_t number) const {
    const Real* real = find_real(config_, number);
    return real == nullptr || address_of(real->rip()).none() ? nullptr : real;
  }

  const Config& config_;
  const Group& group_;
  std::map<std::uint32_t, const Group*> checked_by_;
};

}  // namespace

BackupName backup_name(const std::string& setting) {
  BackupName name{.group = setting.starts_with('g')};
  std::from_chars(setting.data() + (name.group ? 1 : 0), setting.data() + setting.size(), name.number);
  return name.number == 0 ? BackupName{} : name;
}

Cast cast_of(const Config& config, const Group& group) {
  return Casting(config, group).run();
}

}  // namespace headgate::config
