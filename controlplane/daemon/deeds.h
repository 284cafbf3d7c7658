// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <string>

#include "controlplane/action/actions.h"
#include "controlplane/daemon/monitor.h"
#include "controlplane/telemetry/event_log.h"

namespace headgate::daemon {

/// Has done what the monitor demands about targets that fail, says so in the log, and tells the monitor how
/// it ended. Nothing that goes wrong with it is more than a line.
class Deeds {
 public:
  struct Ears {
    /// Severity, text and subject of a line for the log.
    std::function<void(telemetry::Severity, std::string, std::string)> note;
    std::function<void()> changed;                         ///< what is stored of targets
    std::function<void(std::function<void()>)> when_kept;  ///< calls it when that is stored, soon
  };

  Deeds(Monitor& monitor, action::Actions& actions, Ears ears);

  /// Says how an application check failed; of others the verdict says enough.
  void failed(const TargetKey& key, health::Part part) const;
  void begin(const TargetKey& key, health::Remedy remedy);

 private:
  struct Line {
    std::string service;  ///< "real service 10.10.2.11:8080"
    health::Remedy remedy;
  };
  /// One thing that is to be done.
  struct Asked {
    probe::TargetId id;
    Line line;
    action::Act act;
  };
  /// So many things are done at once; others wait for their turn.
  static constexpr std::size_t kAtOnce = 32;

  void go_on();
  void run(const Asked& asked);
  [[nodiscard]] bool wanted(const Asked& asked) const;
  void withdraw(const Asked& asked) const;
  void end(probe::TargetId id, const Line& line, const action::Ended& ended);
  void tell(telemetry::Severity severity, const Line& line, const std::string& what) const;

  Monitor& monitor_;
  action::Actions& actions_;
  Ears ears_;
  std::deque<Asked> waiting_;
  std::size_t under_way_ = 0;
};

}  // namespace headgate::daemon
