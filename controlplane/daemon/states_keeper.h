// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "controlplane/config/store.h"
#include "controlplane/daemon/monitor.h"

// Stores what is known about servers, a slice at a time: no verdict waits for the rest.
namespace headgate::daemon {

class StatesKeeper {
 public:
  /// All of them outlive this.
  StatesKeeper(const config::Store& store, const Monitor& monitor, Timers& timers)
      : store_(store), monitor_(monitor), timers_(timers) {}

  /// There is something to keep; it is kept with the next beat.
  void changed() { changed_ = true; }
  /// Likewise, and it can't wait for that. `kept` is called once it is stored, or could not be, never from
  /// inside of this.
  void changed_much(std::function<void()> kept = {});
  /// To be called every second. A full disk costs only what a start without hand-back would have read: what
  /// could not be stored is tried again with the next beat.
  void beat();
  /// All of it, before this returns.
  Status keep();

 private:
  void begin();
  void end(bool well);
  void go_on(const TargetKey& from);
  [[nodiscard]] Result<std::optional<TargetKey>> write_some(const TargetKey& from);

  const config::Store& store_;
  const Monitor& monitor_;
  Timers& timers_;
  std::optional<config::StatesWriter> writer_;  ///< while it writes
  TimerId next_slice_ = 0;
  bool changed_ = true;  ///< since the last writing began
  bool soon_ = false;
  std::vector<std::function<void()>> waiting_;  ///< for the next writing
  std::vector<std::function<void()>> served_;   ///< by this one
};

}  // namespace headgate::daemon
