// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

#include "controlplane/daemon/engine.h"
#include "model/control.pb.h"

// The state of everything, as screens show it. Reference 4.8.
namespace headgate::control {

/// What is known apart from configuration and health.
struct Surroundings {
  std::map<Ip, Mac> neighbours;
  std::map<std::uint32_t, Mac> port_macs;  ///< of the ports' own interfaces
  std::map<std::uint32_t, bool> ports_up;
  std::map<std::uint32_t, std::uint64_t> current;  ///< sessions by real server
  const daemon::Announcer& announcer;              ///< who takes new sessions
  std::uint64_t now_unix_ms = 0;
  std::uint32_t changes_of = 0;  ///< the real server whose targets' changes are asked for; 0: none
};

/// Pure over its arguments.
[[nodiscard]] StatusReply status_of(const config::Config& config, const daemon::Monitor& monitor,
                                    const Surroundings& around);

/// Of one virtual server; nothing when there is none of that number.
[[nodiscard]] std::optional<State> virt_state_of(const config::Config& config, const daemon::Monitor& monitor,
                                                 const Surroundings& around, std::uint32_t virt);

}  // namespace headgate::control
