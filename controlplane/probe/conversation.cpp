// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/conversation.h"

#include <utility>

#include "controlplane/probe/dialogue.h"
#include "controlplane/probe/http_reply.h"

namespace headgate::probe {
namespace {

/// A request, and a reply whose status decides.
class HttpConversation final : public Conversation {
 public:
  explicit HttpConversation(std::string request) : request_(std::move(request)) {}

  Turn begin() override { return {std::move(request_), {}}; }
  Turn hear(std::string_view bytes) override { return {{}, reply_.append(bytes)}; }
  Outcome end() override { return reply_.end(); }

 private:
  std::string request_;
  HttpReply reply_;
};

}  // namespace

std::unique_ptr<Conversation> conversation(const Check& check, const Ip& address, L4Port port) {
  switch (check.kind) {
    case Kind::none:
    case Kind::icmp:
    case Kind::tcp:
      break;
    case Kind::http:
    case Kind::httphead:
      return std::make_unique<HttpConversation>(http_request(check, address, port));
    case Kind::smtp:
      return std::make_unique<Dialogue>(smtp_script(check.user));
    case Kind::pop3:
      return std::make_unique<Dialogue>(pop3_script(check.user, check.password));
    case Kind::imap:
      return std::make_unique<Dialogue>(imap_script(check.user, check.password));
    case Kind::nntp:
      return std::make_unique<Dialogue>(nntp_script(check.path));
  }
  return nullptr;
}

}  // namespace headgate::probe
