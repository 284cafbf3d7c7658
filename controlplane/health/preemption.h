// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "controlplane/health/service_state.h"

namespace headgate::health {

/// Whether a server that does not preempt its backup is held back, given whether it was (reference 3.2:
/// `preempt dis`). It is from its failure on, for as long as the backup is available; so it comes back when
/// the backup fails, or when an operator says so. A server without a verdict has not failed.
[[nodiscard]] constexpr bool held_back(bool before, Health primary, bool backup_available) {
  return backup_available && (before || primary == Health::down);
}

}  // namespace headgate::health
