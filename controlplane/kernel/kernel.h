// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controlplane/kernel/plan.h"
#include "model/result.h"

namespace headgate::kernel {

/// Names of the kernel interfaces of ports, as far as they are known.
using DeviceNames = std::map<std::uint32_t, std::string>;

/// Brings the kernel to a plan. Sentences tell what could not be done; the next call tries it again.
class Kernel {
 public:
  virtual ~Kernel() = default;
  /// Before the dataplane gets a generation: links up, and the guard over the VIPs of both plans.
  virtual std::vector<std::string> prepare(const Plan& next, const DeviceNames& names) = 0;
  /// The plan, whole. VIPs that are new, or new again, are announced.
  virtual std::vector<std::string> apply(const Plan& plan, const DeviceNames& names) = 0;
  /// Announces the VIPs of one interface, which has come up.
  virtual void announce(const Plan& plan, const DeviceNames& names, std::uint32_t port) = 0;
  /// The Ethernet address of a neighbour, while the kernel knows it.
  [[nodiscard]] virtual std::map<Ip, Mac> neighbours() = 0;
  [[nodiscard]] virtual Mac mac_of(const std::string& device) = 0;
};

/// The kernel of this network namespace. What is ours in it is kept in `state_file`.
[[nodiscard]] Result<std::unique_ptr<Kernel>> make_kernel(std::string state_file);

/// Takes out of the kernel everything that headgated has put in: guard, addresses, routes, sysctls.
[[nodiscard]] std::vector<std::string> withdraw(const std::string& state_file);

}  // namespace headgate::kernel
