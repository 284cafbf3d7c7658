// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controlplane/probe/conversation.h"
#include "controlplane/probe/expected_value.h"

namespace headgate::probe {

/// What a directory is asked.
struct LdapAsk {
  unsigned version = 3;   ///< 2 or 3
  std::string user = {};  ///< distinguished name to log in with; empty: anonymous
  std::string password = {};
  std::optional<std::string> base = {};    ///< name of an entry that must be there; empty text: the root
  std::string attribute = {};              ///< that the entry must have; empty: none
  ExpectedValue value = {};                ///< which at least one value of the attribute must pass
  std::vector<std::string> measured = {};  ///< attributes that the entry must have, each a number
  bool alerts = false;                     ///< read the alerts that last, too
};

/// Where a directory shows the types of its alerts that last, and the attributes that hold them.
constexpr const char* kMonitorEntry = "cn=monitor";
constexpr const char* kUnavailableAlert = "unavailable-alert-type";
constexpr const char* kDegradedAlert = "degraded-alert-type";

/// Binds, reads the entry where one is named, and unbinds (RFC 4511). The outcome has the value that passed,
/// else the first one, and the highest value of each measured attribute. An alert that makes the server
/// unavailable fails, one that degrades it is a degraded reading. Messages up to 64 KiB are read, and 1 MiB
/// in all.
[[nodiscard]] std::unique_ptr<Conversation> ldap(LdapAsk ask);

}  // namespace headgate::probe
