// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/eventfd.h>

#include <atomic>
#include <cstdint>

#include "dataplane/shell/fd.h"

namespace headgate::shell {

/// Wakes the control thread. Rings once however often it is pushed, until it is answered: at most one system
/// call for each round of the control thread.
class Doorbell {
 public:
  Doorbell() : fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

  void ring() noexcept {
    if (rung_.exchange(true, std::memory_order_acq_rel)) return;
    const std::uint64_t one = 1;
    static_cast<void>(!write(fd_.get(), &one, sizeof one));
  }
  /// Control thread, before it looks at what there is to do.
  void answer() noexcept {
    std::uint64_t count = 0;
    static_cast<void>(!read(fd_.get(), &count, sizeof count));
    // An exchange, not a store: who rang before it in vain is seen, with all that was done before the ring.
    rung_.exchange(false, std::memory_order_acq_rel);
  }
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }

 private:
  Fd fd_;
  std::atomic<bool> rung_{false};
};

}  // namespace headgate::shell
