// SPDX-License-Identifier: Apache-2.0
#include "controlplane/daemon/alert_watches.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace headgate::daemon {

using std::chrono::milliseconds;

AlertWatches::AlertWatches(probe::Watcher& watcher, Timers& timers, Told told)
    : watcher_(watcher), timers_(timers), told_(std::move(told)) {}

AlertWatches::~AlertWatches() {
  for (auto& [key, entry] : entries_) forget(entry);
}

void AlertWatches::configure(const std::map<config::TargetKey, config::Target>& targets) {
  std::map<Key, Entry> wanted;
  for (const auto& [key, target] : targets) {
    const probe::Check& check = target.check;
    if (!check.alerts || target.policy.inter.count() == 0) continue;
    const L4Port port = check.port != 0 ? check.port : key.port;
    Entry& entry = wanted[{target.address, port, check.user, check.password}];
    const milliseconds inter = target.policy.inter;
    entry.pause = entry.targets.empty() ? inter : std::min(entry.pause, inter);
    entry.targets.insert(key);
  }
  for (auto& [key, entry] : entries_) {
    const auto still = wanted.find(key);
    if (still == wanted.end()) {
      forget(entry);
      continue;
    }
    std::swap(entry.targets, still->second.targets);
    entry.pause = still->second.pause;
    still->second = std::move(entry);
  }
  entries_ = std::move(wanted);
  if (begun_) begin();
}

void AlertWatches::begin() {
  begun_ = true;
  for (auto& [key, entry] : entries_) {
    if (entry.id != 0) continue;
    entry.id = ++last_;
    start(key);
  }
}

void AlertWatches::start(const Key& key) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  entry.timer = 0;
  entry.begun = timers_.now();
  const auto& [address, port, user, password] = key;
  watcher_.start(entry.id, {address, port, {user, password}, entry.pause},
                 {.on_alert = [this, key] { alerted(key); },
                  .on_over = [this, key](const std::string& why) { lost(key, why); }});
}

void AlertWatches::alerted(const Key& key) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  const std::set<config::TargetKey> targets = found->second.targets;
  for (const config::TargetKey& target : targets) told_.on_alert(target);
}

// One that had stood for a while was a good one: that it is lost is news again.
void AlertWatches::lost(const Key& key, const std::string& why) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  constexpr int kAWhile = 5;
  if (timers_.now() - entry.begun > kAWhile * entry.pause) entry.complained = false;
  if (!std::exchange(entry.complained, true)) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(entry.pause).count();
    told_.on_lost(fmt::format("alerts of {} are not watched: {}; trying again every {} s",
                              endpoint_text(std::get<Ip>(key), std::get<L4Port>(key)), why, seconds));
  }
  entry.timer = timers_.after(entry.pause, [this, key] { start(key); });
}

void AlertWatches::forget(Entry& entry) {
  timers_.cancel(entry.timer);
  if (entry.id != 0) watcher_.cancel(entry.id);
}

}  // namespace headgate::daemon
