// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "controlplane/probe/conversation.h"
#include "model/ip.h"

namespace headgate::probe {

/// Asks the SIP server at `address` and `port` what it can do (OPTIONS, RFC 3261, 11), over UDP. 2xx passes,
/// 1xx is waited past, every other status is told. The answer is to come to the port that asked (rport, RFC
/// 3581); one with another Call-ID is not heard.
[[nodiscard]] std::unique_ptr<Conversation> sip_options(const Ip& address, L4Port port, std::uint64_t salt);

}  // namespace headgate::probe
