// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controlplane/probe/check.h"
#include "controlplane/probe/conversation.h"
#include "model/result.h"

// Health scripts: connections that are opened one after the other, what is sent over each, and what must
// come. Reference 4.3. Pure.
namespace headgate::probe {

/// One thing that a script does with a connection: it sends, or it waits for an answer.
struct ScriptMove {
  std::string send;        ///< octets; empty: it waits
  std::string expect;      ///< octets; empty: any answer will do
  std::size_t offset = 0;  ///< they begin no earlier than so far into what has come since the last send
  std::size_t depth = 0;   ///< and end no more than so many octets behind that; 0: anywhere
  std::optional<std::chrono::milliseconds> wait = {};  ///< longest time for it
  std::string shown = {};                              ///< the statement, for reasons: `expect "OK"`

  bool operator==(const ScriptMove&) const = default;
};

/// One connection of a script, from its `open` to its `close`, the next `open` or the end.
struct ScriptLeg {
  L4Port port = 0;                      ///< 0: that of the service
  std::optional<Carrier> carrier = {};  ///< nothing: that of the service
  std::vector<ScriptMove> moves = {};

  bool operator==(const ScriptLeg&) const = default;
};

/// A script may cost so much: the text of each statement and one octet more.
constexpr std::size_t kScriptRoom = 1024;

/// What the statements mean, or a sentence about the first that can't be: "statement 3: send needs an open
/// before it". No statements: no legs.
[[nodiscard]] headgate::Result<std::vector<ScriptLeg>> read_script(const std::vector<Statement>& statements);

/// The conversation of one connection. Over datagrams each is an answer of its own; of a stream what has come
/// since the last send is one. Of answers of more than 64 KiB the beginning is forgotten.
[[nodiscard]] std::unique_ptr<Conversation> script_conversation(ScriptLeg leg, Carrier carrier);

}  // namespace headgate::probe
