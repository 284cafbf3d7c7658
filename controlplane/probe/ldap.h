// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "controlplane/probe/conversation.h"
#include "controlplane/probe/expected_value.h"

namespace headgate::probe {

/// What a directory is asked.
struct LdapAsk {
  unsigned version = 3;   ///< 2 or 3
  std::string user = {};  ///< distinguished name to log in with; empty: anonymous
  std::string password = {};
  std::optional<std::string> base = {};  ///< name of an entry that must be there; empty text: the root
  std::string attribute = {};            ///< that the entry must have; empty: none
  ExpectedValue value = {};              ///< which at least one value of the attribute must pass
};

/// Binds, reads the entry where one is named, and unbinds (RFC 4511). The outcome has the value that passed,
/// else the first one. Messages up to 64 KiB are read.
[[nodiscard]] std::unique_ptr<Conversation> ldap(LdapAsk ask);

}  // namespace headgate::probe
