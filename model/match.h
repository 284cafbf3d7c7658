// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "model/line.h"
#include "model/result.h"

namespace headgate {

/// The command that a typed word means: that of exactly this word, else the one that it abbreviates. Several
/// spellings of one command (`same`) are no ambiguity. Null when there is none; an error names all it could
/// be. `Command` has a member `word`.
template <class Command, class Same>
Result<const Command*> match_word(const std::vector<Command>& commands, std::string_view typed, Same same) {
  const Command* found = nullptr;
  std::vector<std::string> several;
  for (const Command& command : commands) {
    if (command.word == typed) return &command;
    if (typed.empty() || !std::string_view(command.word).starts_with(typed)) continue;
    if (found != nullptr && same(*found, command)) continue;
    found = &command;
    several.push_back(command.word);
  }
  if (several.size() < 2) return found;
  return Error{fmt::format("ambiguous command \"{}\": {}", line::shown(typed), line::join(several, ", "))};
}

}  // namespace headgate
