// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "controlplane/probe/check.h"
#include "controlplane/probe/conversation.h"
#include "controlplane/probe/tls_contexts.h"

// What a check does with a server: connections, one after the other, and what is said over each. Pure.
namespace headgate::probe {

/// One connection of a check.
struct Leg {
  Carrier carrier = Carrier::stream;
  L4Port port = 0;
  std::unique_ptr<Conversation> talk;  ///< null: that the connection stands is all
  bool any_port = false;               ///< of datagrams: the server may answer from another port
};

/// What checks take from outside.
struct Means {
  TlsContexts& tls;
  std::uint64_t salt = 0;  ///< what nobody outside can foretell; another for each probe
  std::chrono::system_clock::time_point now = {};
};

/// The connections of a check with the server at `address`; `port` is that of the service, for checks without
/// a port of their own. None for checks that are no connections.
[[nodiscard]] std::vector<Leg> legs_of(const Check& check, const Ip& address, L4Port port,
                                       const Means& means);

}  // namespace headgate::probe
