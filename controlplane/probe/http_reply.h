// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "controlplane/probe/conversation.h"

// Reads the reply to an HTTP check. Pure, incremental, bounded: it keeps at most one status line, whatever
// comes.
namespace headgate::probe {

/// Decides by the status line, as soon as the three digits and what follows them are there; headers and body
/// are not waited for. Accepts HTTP/1.x, with or without a reason phrase, lines ended by CR LF or LF.
class HttpReply {
 public:
  /// The longest status line that is read; a longer one without its status is no HTTP.
  static constexpr std::size_t kLongest = 256;

  /// Takes the next bytes of the stream; the outcome once it is decided, and the same one from then on.
  const std::optional<Outcome>& append(std::string_view bytes);
  /// The stream has ended: decides if that has not happened yet.
  Outcome end();

 private:
  void decide();

  std::string line_;
  std::optional<Outcome> outcome_;
};

}  // namespace headgate::probe
