// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/legs.h"

#include <utility>

#include "controlplane/probe/dialogue.h"
#include "controlplane/probe/http_reply.h"
#include "controlplane/probe/script.h"
#include "controlplane/probe/tls.h"

namespace headgate::probe {
namespace {

/// One that was refused when it was configured passes nothing here.
StatusSet statuses_of(const Check& check) {
  if (check.status.empty()) return {};
  auto parsed = StatusSet::parse(check.status);
  return parsed ? std::move(*parsed) : StatusSet{};
}

std::unique_ptr<Conversation> http(const Check& check, const Ip& address, L4Port port) {
  return http_exchange(http_request(check, address, port),
                       {.statuses = statuses_of(check), .contains = check.expect});
}

std::unique_ptr<Conversation> https(const Check& check, const Ip& address, L4Port port, const Means& means) {
  return over_tls(http(check, address, port), means.tls,
                  {.name = check.host, .verify = check.verify, .ca = check.ca, .now = means.now});
}

/// The conversation of a check that has one.
std::unique_ptr<Conversation> talk_of(const Check& check, const Ip& address, L4Port port,
                                      const Means& means) {
  switch (check.kind) {
    case Kind::http:
    case Kind::httphead:
      return http(check, address, port);
    case Kind::https:
      return https(check, address, port, means);
    case Kind::sslh:
      return tls_hello(means.tls, check.host);
    case Kind::smtp:
      return std::make_unique<Dialogue>(smtp_script(check.user));
    case Kind::pop3:
      return std::make_unique<Dialogue>(pop3_script(check.user, check.password));
    case Kind::imap:
      return std::make_unique<Dialogue>(imap_script(check.user, check.password));
    case Kind::nntp:
      return std::make_unique<Dialogue>(nntp_script(check.path));
    default:
      return nullptr;
  }
}

std::vector<Leg> script_legs(const Check& check, L4Port port) {
  std::vector<Leg> legs;
  auto read = read_script(check.script);
  if (!read) return legs;
  for (ScriptLeg& leg : *read) {
    const Carrier carrier = leg.carrier.value_or(check.carrier);
    const L4Port own = leg.port != 0 ? leg.port : port;
    legs.push_back({carrier, own, script_conversation(std::move(leg), carrier)});
  }
  return legs;
}

}  // namespace

std::vector<Leg> legs_of(const Check& check, const Ip& address, L4Port port, const Means& means) {
  const L4Port own = check.port != 0 ? check.port : port;
  if (check.kind == Kind::script) return script_legs(check, own);
  std::vector<Leg> legs;
  if (check.carrier != Carrier::none)
    legs.push_back({check.carrier, own, talk_of(check, address, own, means)});
  return legs;
}

}  // namespace headgate::probe
