// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "controlplane/probe/conversation.h"

namespace headgate::probe {

/// Asks for a file (RFC 1350): its first block passes, an error of the server is told. The transfer then ends
/// in order: by the acknowledgement of a block that is the last, or by an error that stops the server from
/// sending it again. Answers come from another port than the one that was asked.
[[nodiscard]] std::unique_ptr<Conversation> tftp_read(const std::string& file);

}  // namespace headgate::probe
