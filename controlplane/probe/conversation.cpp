// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/conversation.h"

#include "controlplane/probe/dialogue.h"
#include "controlplane/probe/http_reply.h"

namespace headgate::probe {

std::unique_ptr<Conversation> conversation(const Check& check, const Ip& address, L4Port port) {
  switch (check.kind) {
    case Kind::http:
    case Kind::httphead:
      return http_exchange(http_request(check, address, port));
    case Kind::smtp:
      return std::make_unique<Dialogue>(smtp_script(check.user));
    case Kind::pop3:
      return std::make_unique<Dialogue>(pop3_script(check.user, check.password));
    case Kind::imap:
      return std::make_unique<Dialogue>(imap_script(check.user, check.password));
    case Kind::nntp:
      return std::make_unique<Dialogue>(nntp_script(check.path));
    default:
      break;
  }
  return nullptr;
}

}  // namespace headgate::probe
