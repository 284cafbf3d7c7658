// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "controlplane/health/service_state.h"

#include <span>

// What verdicts and operator settings mean for sessions. Mission A.1-A.6, reference 4.4-4.6.
namespace headgate::health {

/// What the dataplane may do with the packets of one service of one real server.
enum class Admission : std::uint8_t {
  closed,    ///< its sessions are terminated and counted
  draining,  ///< its sessions go on, no new one
  open,
  last,  ///< open, but only for those whom no other of the group takes
};

/// Everything that decides about admission.
struct Standing {
  Health health = Health::unknown;
  bool configured = true;  ///< /cfg/slb/real n/ena
  bool operating = true;   ///< /oper/slb/ena n; false in both drain modes
  bool grace = false;      ///< /cfg/slb/adv/grace
};

/// A degraded service takes sessions at last. Grace protects the sessions of what failed by its check, never
/// of what was disabled (reference 4.6). A target without a verdict takes no new session, and ends none.
[[nodiscard]] Admission admission(const Standing& standing);

/// A real server as the sum of its load-balanced services.
enum class ServerHealth : std::uint8_t {
  unknown,  ///< no service is up, and not all have failed
  up,       ///< at least one service is up
  failed,   ///< all services have failed
};
struct ServerState {
  ServerHealth health = ServerHealth::unknown;
  unsigned layer = 4;  ///< 3: failed, and nothing has been heard from its address: reachability comes first
  bool operator==(const ServerState&) const = default;
};

/// One service of a server, as its checks see it.
struct ServiceView {
  Health health = Health::unknown;
  bool heard = false;  ///< the last probe got any answer of the host, be it a refusal
};

/// Only when all of its services have failed has a server failed; it is back with the first that is up
/// (mission A.3, A.4). A server without services is unknown.
[[nodiscard]] ServerState server_state(std::span<const ServiceView> services);

}  // namespace headgate::health
