// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "controlplane/probe/ldap_watch.h"
#include "model/ip.h"

// Watches directories for alerts. When to begin a watch, and again, is decided elsewhere (daemon/).
namespace headgate::probe {

/// Names a watch.
using WatchId = std::uint64_t;

struct Watch {
  Ip address;
  L4Port port = 0;
  WatchAsk ask;
  std::chrono::milliseconds patience{0};  ///< until the watch must stand
};

/// Holds watches and tells what they bring.
class Watcher {
 public:
  struct Events {
    std::function<void()> on_alert;                       ///< an alert has come, or several
    std::function<void(const std::string& why)> on_over;  ///< last, and once: the watch is over
  };

  virtual ~Watcher() = default;
  /// Begins a watch in place of an earlier one of that name. Nothing is told from inside of start(), nor
  /// after cancel(); within what is told, the watch may be cancelled.
  virtual void start(WatchId id, const Watch& watch, Events events) = 0;
  virtual void cancel(WatchId id) = 0;
};

}  // namespace headgate::probe
