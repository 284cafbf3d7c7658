// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "controlplane/probe/conversation.h"

namespace headgate::probe {

/// Asks for the time (NTP version 4, RFC 5905). A server that is synchronised passes; a kiss code is named.
/// The time that we say it is with us is `salt`: an answer that does not return it is not heard.
[[nodiscard]] std::unique_ptr<Conversation> ntp_request(std::uint64_t salt);

}  // namespace headgate::probe
