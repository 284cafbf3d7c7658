// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "controlplane/action/actions.h"

// What a configured action means, and what it is told. Pure.
namespace headgate::action {

/// A program on this machine, called without a shell.
struct Command {
  std::vector<std::string> words;
  bool operator==(const Command&) const = default;
};
/// A POST.
struct Call {
  Ip address;
  L4Port port = 80;
  std::string host;  ///< for the Host header
  std::string path = "/";
  bool operator==(const Call&) const = default;
};
using Way = std::variant<Command, Call>;

/// A command begins with "/". Blanks part its words, but within '...' and "..."; behind a backslash, outside
/// of '...', any character stands for itself. A call is http://ADDRESS[:PORT][/PATH], an address of IPv6 in
/// brackets. An error says what is wrong and what is allowed.
[[nodiscard]] Result<Way> read_way(std::string_view text);

/// What a command finds in its environment: HEADGATE_ACTION, _REAL, _ADDRESS, _PORT, _REASON; and PATH.
[[nodiscard]] std::vector<std::string> environment_of(const Act& act);
/// The POST of a call, with the same facts as JSON.
[[nodiscard]] std::string request_of(const Call& call, const Act& act);

}  // namespace headgate::action
