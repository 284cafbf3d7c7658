// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

#include "controlplane/kernel/inquiry.h"
#include "controlplane/probe/prober.h"

namespace headgate::probe {

/// Whether the links of this switch's ports are up: asked of the kernel where it has the port's device, else
/// as the dataplane has told.
class Links {
 public:
  /// What the dataplane says of its ports.
  void learn(std::map<std::uint32_t, bool> up) { told_ = std::move(up); }
  /// Of a check by `link`: its `port` is the number, its `path` the kernel's device, empty when it has none.
  [[nodiscard]] Result look(const Check& check);

 private:
  kernel::Inquiry inquiry_;
  std::map<std::uint32_t, bool> told_;
};

}  // namespace headgate::probe
