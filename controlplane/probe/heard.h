// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "controlplane/probe/dialogue.h"

// For tests: a server's whole side of a dialogue, played in pieces.
namespace headgate::probe {

/// All that the client said, and how it ended.
struct Heard {
  std::string said;
  Outcome outcome;
  bool operator==(const Heard&) const = default;
};

/// Lets a conversation hear what a server says in pieces of `piece` bytes, at least 1, and then that it is
/// done.
inline Heard hear(Conversation& conversation, std::string_view server, std::size_t piece = 4096) {
  auto turn = conversation.begin();
  Heard out{turn.say, {}};
  for (; !turn.outcome && !server.empty(); server.remove_prefix(std::min(piece, server.size()))) {
    turn = conversation.hear(server.substr(0, piece));
    out.said += turn.say;
  }
  out.outcome = turn.outcome ? *turn.outcome : conversation.end();
  return out;
}

inline Heard hear(const Dialogue::Script& script, std::string_view server, std::size_t piece = 4096) {
  Dialogue dialogue(script);
  return hear(dialogue, server, piece);
}

}  // namespace headgate::probe
