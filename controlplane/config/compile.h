// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "controlplane/config/roles.h"
#include "controlplane/health/remedy.h"
#include "controlplane/health/service_state.h"
#include "controlplane/kernel/plan.h"
#include "controlplane/probe/check.h"
#include "model/config.pb.h"
#include "model/forwarding.pb.h"

// What a valid configuration means for each part. Pure; nothing in here can fail.
namespace headgate::config {

/// Identity of a target: forwarding.Target as a value. Derived from numbers and names that were configured,
/// so that it is the same after a restart.
struct TargetKey {
  std::uint32_t real = 0;
  L4Port port = 0;
  Protocol protocol = Protocol::tcp;
  std::string check;  ///< probe::Check::identity()

  auto operator<=>(const TargetKey&) const = default;
};

/// One service of one real server under one check, and how it is probed.
struct Target {
  Ip address;
  probe::Check check;
  health::Policy policy;
  health::Remedies remedies = {};
  bool enabled = false;      ///< its real server is
  std::uint32_t weight = 1;  ///< of its real server
  /// The targets of its backup, when it does not take over from that as soon as it is up again (preempt dis).
  std::set<TargetKey> yields_to;
  std::set<TargetKey> buddies = {};  ///< it takes new sessions only while all of these are up
};

struct Compiled {
  forwarding::Generation generation;  ///< without number
  std::map<TargetKey, Target> targets;
  kernel::Plan kernel;
  std::map<std::uint32_t, std::uint32_t> alert_at;  ///< realthr of the groups that have one
  std::map<std::uint32_t, std::string> formulas;    ///< advhlth, likewise
};

[[nodiscard]] Compiled compile(const Config& config);

/// The check that a service of a real server really gets; `real` null: of one without a check of its own.
[[nodiscard]] probe::Check check_of(const Config& config, const Virt& virt, const Service& service,
                                    const Real* real, const Group& group, Protocol protocol);
/// The identity of the target that decides about a real server in its role for a service.
[[nodiscard]] TargetKey target_of(const Config& config, const Virt& virt, const Service& service,
                                  const Player& player, Protocol protocol);
/// The port of the real servers: rport, or the virtual port when that is 0.
[[nodiscard]] L4Port real_port(const Service& service);

[[nodiscard]] forwarding::Target to_message(const TargetKey& key);
[[nodiscard]] TargetKey from_message(const forwarding::Target& target);

}  // namespace headgate::config
