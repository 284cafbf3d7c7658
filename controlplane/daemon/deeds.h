// SPDX-License-Identifier: Apache-2.0
#pragma once

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
    std::function<void()> changed;  ///< what is stored of targets
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
  void end(probe::TargetId id, const Line& line, const action::Ended& ended) const;
  void tell(telemetry::Severity severity, const Line& line, const std::string& what) const;

  Monitor& monitor_;
  action::Actions& actions_;
  Ears ears_;
};

}  // namespace headgate::daemon
