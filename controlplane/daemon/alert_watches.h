// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "controlplane/config/compile.h"
#include "controlplane/daemon/seams.h"
#include "controlplane/probe/watcher.h"

// Which directories are watched for alerts, and when a watch that was lost is begun again. Mission B.4.
namespace headgate::daemon {

/// One watch for each server, port and login that a target with `alerts` has, shared by all such targets. An
/// alert is only ever a hint to look: what a watch brings, and that it was lost, decides nothing.
class AlertWatches {
 public:
  struct Told {
    std::function<void(const config::TargetKey&)> on_alert;  ///< the server of this target has an alert
    std::function<void(std::string)> on_lost;                ///< a sentence for the log
  };

  AlertWatches(probe::Watcher& watcher, Timers& timers, Told told);
  ~AlertWatches();

  /// The targets of the running configuration. A watch that stays wanted stays.
  void configure(const std::map<config::TargetKey, config::Target>& targets);
  /// Watching begins.
  void begin();

 private:
  using Key = std::tuple<Ip, L4Port, std::string, std::string>;  ///< address, port, user, password
  struct Entry {
    std::set<config::TargetKey> targets;
    std::chrono::milliseconds pause{0};  ///< the shortest interval of these: between two attempts at least
    probe::WatchId id = 0;
    TimerId timer = 0;
    std::chrono::milliseconds begun{0};  ///< when the last attempt was
    bool complained = false;             ///< the log has it that there is no watch
  };

  void start(const Key& key);
  void alerted(const Key& key);
  void lost(const Key& key, const std::string& why);
  void forget(Entry& entry);

  probe::Watcher& watcher_;
  Timers& timers_;
  Told told_;
  std::map<Key, Entry> entries_;
  probe::WatchId last_ = 0;
  bool begun_ = false;
};

}  // namespace headgate::daemon
