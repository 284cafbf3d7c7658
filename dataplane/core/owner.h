// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "dataplane/core/burst.h"
#include "dataplane/core/generation.h"

namespace headgate::core {

/// The worker that owns a packet's session: a hash of the client's address and port, the part of the tuple
/// that is the same in both directions. A packet for a VIP comes from its client, any other goes to one; a
/// VIP that was taken away counts as long as sessions of it are remembered. An
/// ICMP error belongs to the owner of the session it is about. A fragment whose ports are not known yet
/// (Frame::ports) belongs to the worker that gathers its datagram, the same for all its fragments. All else
/// belongs to worker 0.
[[nodiscard]] unsigned owner(const Frame& frame, const Generation& generation, unsigned workers) noexcept;

}  // namespace headgate::core
