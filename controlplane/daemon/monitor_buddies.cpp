// SPDX-License-Identifier: Apache-2.0
// Buddies: services of other servers without which a server takes no new sessions. Reference 2.1, 4.4.
#include <utility>

#include <fmt/format.h>

#include "controlplane/daemon/monitor.h"

namespace headgate::daemon {

using health::Health;

std::string buddy_text(const TargetKey& buddy) {
  return fmt::format("real server {} port {}", buddy.real, buddy.port);
}

/// Only the buddy's own verdict counts, never its buddies, so that there is no loop. One without a verdict
/// leaves a target that serves as it is; a target that has none itself begins without that buddy.
std::optional<TargetKey> Monitor::lacked_buddy(const Watched& watched) const {
  const bool without = watched.lacks.has_value() || watched.state.health == Health::unknown;
  std::optional<TargetKey> unproven;
  for (const TargetKey& key : watched.target.buddies) {
    const Health health = health_by(key);
    if (health == Health::down) return key;
    if (health == Health::unknown && without && !unproven) unproven = key;
  }
  return unproven;
}

Health Monitor::health_by(const TargetKey& key) const {
  const auto found = targets_.find(key);
  return found == targets_.end() ? Health::unknown : found->second.state.health;
}

/// To those that stand in for it, one whose buddy has failed has failed itself.
Health Monitor::health_with_buddies(const Watched& watched) const {
  return watched.lacks ? health_by(*watched.lacks) : watched.state.health;
}

void Monitor::settle_buddies(const TargetKey& key, Watched& watched) {
  const auto before = std::exchange(watched.lacks, lacked_buddy(watched));
  if (watched.lacks.has_value() != before.has_value() && begun_) on_verdict_(key);
}

void Monitor::settle_buddies() {
  depending_.clear();
  for (auto& [key, watched] : targets_) {
    for (const TargetKey& buddy : watched.target.buddies) depending_[buddy].push_back(key);
    settle_buddies(key, watched);
  }
}

/// At a verdict only those are looked at that depend on it: a mass failure has as many verdicts as targets.
void Monitor::settle_buddies_of(const TargetKey& buddy) {
  const auto found = depending_.find(buddy);
  if (found == depending_.end()) return;
  for (const TargetKey& key : found->second) settle_buddies(key, targets_.at(key));
}

}  // namespace headgate::daemon
