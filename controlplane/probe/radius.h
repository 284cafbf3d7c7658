// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "controlplane/probe/conversation.h"

// Asks a RADIUS server, with the secret that it shares with its clients.
namespace headgate::probe {

struct RadiusLogin {
  std::string user;      ///< at most 253 octets
  std::string password;  ///< at most 128 octets
  std::string secret;    ///< not empty
};

/// Logs in by PAP (RFC 2865), the request signed with a Message-Authenticator (RFC 3579, 3.2): Access-Accept
/// passes, Access-Reject and Access-Challenge do not. An answer must be signed with the secret; one with
/// another identifier is not heard. A server that knows another secret says nothing at all.
[[nodiscard]] std::unique_ptr<Conversation> radius_login(const RadiusLogin& login, std::uint64_t salt);

/// Accounts for a session of `user` (RFC 2866): Accounting-Response passes. What is told is the Stop of a
/// session that took no time, always the same one. A Start, or an Interim-Update of a session that is not
/// known, would leave a session open that counts against the limits of the user; Accounting-On would end all
/// sessions of the switch. A Stop ends what never was.
[[nodiscard]] std::unique_ptr<Conversation> radius_accounting(const std::string& user,
                                                              const std::string& secret, std::uint64_t salt);

}  // namespace headgate::probe
