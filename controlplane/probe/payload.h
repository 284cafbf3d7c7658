// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "controlplane/probe/conversation.h"

// Checks that know bytes, and no protocol.
namespace headgate::probe {

/// What a server is to answer.
struct Expected {
  std::string bytes;
  std::size_t offset = 0;  ///< where in the answer they are
};

/// The content of a WAP check, "SENT EXPECTED OFFSET": octets in hexadecimal, and where in the answer they
/// begin; 0 where that is left out. Nothing for another text.
struct WapExchange {
  std::string payload;
  Expected expected;
};
[[nodiscard]] std::optional<WapExchange> read_wap(std::string_view text);

/// Says `payload`, and compares: the WAP checks (reference 4.2) and every other one that is given as bytes.
/// The first answer decides. Without a payload there is no check.
[[nodiscard]] std::unique_ptr<Conversation> compare_answer(std::string payload, Expected expected);

/// Says `payload` and passes on any answer. An empty payload is one octet of zero: an empty datagram reaches
/// many programs as an error, or as the end of something.
[[nodiscard]] std::unique_ptr<Conversation> await_answer(std::string payload);
/// Likewise, and passes too when the server has said nothing for so long: what fails is a refusal.
[[nodiscard]] std::unique_ptr<Conversation> await_no_refusal(std::string payload,
                                                             std::chrono::milliseconds quiet);

}  // namespace headgate::probe
