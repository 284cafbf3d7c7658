// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "controlplane/probe/conversation.h"
#include "controlplane/probe/status_set.h"

namespace headgate::probe {

/// What a streaming server is asked.
struct RtspAsk {
  Ip address;
  L4Port port = 554;
  std::string host = {};  ///< as its URLs have it; empty: the address
  std::string path = {};  ///< begins with "/": to be described; empty: the server only says what it can
  StatusSet statuses = {};
};

/// OPTIONS, or DESCRIBE of a path, judged by the status (RFC 2326, 10.1 and 10.2).
[[nodiscard]] std::unique_ptr<Conversation> rtsp(const RtspAsk& ask);

}  // namespace headgate::probe
