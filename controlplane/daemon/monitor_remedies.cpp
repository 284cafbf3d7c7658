// SPDX-License-Identifier: Apache-2.0
// What is to be done about targets that fail, and what was: the monitor's part of it.
#include <algorithm>

#include "controlplane/daemon/monitor.h"

namespace headgate::daemon {
namespace {

constexpr const char* kWaiting = "waits for its turn";
constexpr const char* kUnderWay = "under way";

Deed from_message(const forwarding::Deed& deed) {
  return {deed.unix_ms(), deed.failover() ? health::Remedy::failover : health::Remedy::restart,
          deed.outcome() == kUnderWay ? "unknown: headgated ended before" : deed.outcome()};
}

}  // namespace

forwarding::Deed to_message(const Deed& deed) {
  forwarding::Deed out;
  out.set_unix_ms(deed.unix_ms);
  out.set_failover(deed.remedy == health::Remedy::failover);
  out.set_outcome(deed.outcome);
  return out;
}

void Monitor::treat(const TargetKey& key, Watched& watched, const health::State& before) {
  const health::State& now = watched.state;
  const health::Part failed = now.failed > before.failed ? now.failed - before.failed : 0;
  if (failed == 0 && now.successes == before.successes && now.health == before.health) return;
  health::RemedyStep step =
      health::checked(watched.target.policy, watched.target.remedies, watched.remedy,
                      {.at = timers_.now(),
                       .failed = failed,
                       .health = now.health,
                       .demands_failover = watched.demands_failover,
                       .ours = watched.target.enabled && operation(key.real) == forwarding::ENABLED});
  watched.remedy = std::move(step.state);
  if (!step.remedy) return;
  watched.deeds.push_back({clock_.unix_ms(), *step.remedy, kWaiting});
  if (watched.deeds.size() > Watched::kDeeds) watched.deeds.pop_front();
  notices_.on_remedy(key, *step.remedy);
}

/// Of one that has something under way.
std::optional<Monitor::Treatment> Monitor::treatment_of(probe::TargetId id) {
  std::optional<Treatment> found;
  if (Watched* watched = find(id)) found.emplace(Treatment{watched->deeds, watched->remedy});
  for (auto& [service, parted] : parted_)
    if (parted.id == id) found.emplace(Treatment{parted.deeds, parted.remedy});
  if (!found || !found->remedy.under_way || found->deeds.empty()) return std::nullopt;
  return found;
}

void Monitor::deed_begins(probe::TargetId id) {
  const auto treatment = treatment_of(id);
  if (!treatment) return;
  treatment->deeds.back().outcome = kUnderWay;
  // It may have come back for a moment while this waited.
  if (treatment->deeds.back().remedy == health::Remedy::failover) treatment->remedy.failed_over = true;
}

void Monitor::deed_ended(probe::TargetId id, std::string outcome) {
  const auto treatment = treatment_of(id);
  if (!treatment) return;
  treatment->remedy = health::ended(std::move(treatment->remedy));
  treatment->deeds.back().outcome = std::move(outcome);
}

void Monitor::deed_withdrawn(probe::TargetId id, health::Remedy remedy) {
  const auto treatment = treatment_of(id);
  if (!treatment) return;
  treatment->remedy = health::withdrawn(std::move(treatment->remedy), remedy);
  treatment->deeds.pop_back();
}

bool Monitor::still_wanted(probe::TargetId id, health::Remedy remedy, const std::string& what) const {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return false;
  const auto& [key, watched] = *found->second;
  const health::Remedies& remedies = watched.target.remedies;
  return watched.state.health == health::Health::down && watched.target.enabled &&
         operation(key.real) == forwarding::ENABLED &&
         what == (remedy == health::Remedy::restart ? remedies.restart : remedies.failover);
}

/// A check that takes another's place begins anew, as does a service that was gone for a while, but not what
/// is done about it: what is under way stays the only thing, under its id, restarts count, and one failover
/// is enough.
void Monitor::inherit_deeds(const Parted& old, Watched& heir) {
  if (old.deeds.empty()) return;
  heir.deeds = old.deeds;
  heir.remedy.restarts = old.remedy.restarts;
  heir.remedy.under_way = old.remedy.under_way;
  heir.remedy.failed_over = old.remedy.failed_over;
  if (old.remedy.under_way) heir.id = old.id;
}

/// With what they mean for what is still to be done: restarts count, and one failover is enough. What had not
/// been begun has not been done.
void Monitor::adopt_deeds(const forwarding::TargetState& known, Watched& watched) const {
  if (watched.remedy.under_way) return;  // this headgated has begun something since
  if (known.deed_size() != 0) watched.deeds.clear();
  for (const forwarding::Deed& deed : known.deed())
    if (deed.outcome() != kWaiting) watched.deeds.push_back(from_message(deed));
  watched.remedy = {.down = watched.state.health == health::Health::down};
  for (const Deed& deed : watched.deeds) {
    const std::chrono::milliseconds age(clock_.unix_ms() - std::min(deed.unix_ms, clock_.unix_ms()));
    if (deed.remedy == health::Remedy::restart)
      watched.remedy.restarts.push_back(timers_.now() - age);
    else if (watched.remedy.down && deed.unix_ms >= watched.since_unix_ms)
      watched.remedy.failed_over = true;
  }
}

health::Part Monitor::failed(const Watched& watched) const {
  return health::counted(watched.target.policy, watched.state, timers_.now());
}

}  // namespace headgate::daemon
