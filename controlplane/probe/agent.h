// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "controlplane/probe/conversation.h"

namespace headgate::probe {

/// What a server's own agent says of it, in one line as HAProxy's agent-check has it: "up", "75%",
/// "drain 50%", "down#disk full".
struct AgentSays {
  enum class Mode : std::uint8_t { ready, drain, maintenance };

  std::optional<bool> up = {};           ///< up; down, fail, failed or stopped
  std::optional<Mode> mode = {};         ///< what its operator wants of it
  std::optional<unsigned> percent = {};  ///< of its configured weight
  std::string reason = {};               ///< behind "#"
  bool operator==(const AgentSays&) const = default;
};

/// The largest share of a weight that is believed, in percent.
constexpr unsigned kMostPercent = 1000;

/// Reads words between blanks and commas, in any case; of two that contradict each other the later one
/// counts. Nothing where a word is unknown, or where there is none.
[[nodiscard]] std::optional<AgentSays> parse_agent(std::string_view line);

/// What an agent's line makes of its server: nothing when it takes it out (down, maint); degraded when it
/// wants no new sessions (drain, 0%), so that it has them only when nobody else is left.
[[nodiscard]] std::optional<health::Reading> reading_of(const AgentSays& says);

/// Says `greeting`, if there is one, and hears one line, or what comes before the end. Passes unless the line
/// says that the server is down or cannot be read. The outcome has the line, and what share of its weight
/// that says the server bears.
[[nodiscard]] std::unique_ptr<Conversation> agent(std::string greeting);

}  // namespace headgate::probe
