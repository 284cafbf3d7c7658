// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/legs.h"

#include <utility>

#include <fmt/format.h>

#include "controlplane/probe/agent.h"
#include "controlplane/probe/dialogue.h"
#include "controlplane/probe/dns.h"
#include "controlplane/probe/http_reply.h"
#include "controlplane/probe/ldap.h"
#include "controlplane/probe/ntp.h"
#include "controlplane/probe/payload.h"
#include "controlplane/probe/radius.h"
#include "controlplane/probe/rtsp.h"
#include "controlplane/probe/script.h"
#include "controlplane/probe/sip.h"
#include "controlplane/probe/snmp.h"
#include "controlplane/probe/tftp.h"
#include "controlplane/probe/tls.h"

namespace headgate::probe {
namespace {

/// A service that answers nothing has so long to refuse.
constexpr std::chrono::milliseconds kQuiet{500};
constexpr L4Port kSnmp = 161;

/// One that was refused when it was configured leaves what passes without any.
StatusSet statuses_of(const Check& check) {
  if (check.status.empty()) return {};
  auto parsed = StatusSet::parse(check.status);
  return parsed ? std::move(*parsed) : StatusSet{};
}

/// One that was refused when it was configured is a text that nobody says.
ExpectedValue expected(const Check& check) {
  auto parsed = ExpectedValue::parse(check.expect);
  return parsed ? std::move(*parsed) : ExpectedValue{.how = ExpectedValue::How::equal, .text = check.expect};
}

std::unique_ptr<Conversation> http(const Check& check, const Ip& address, L4Port port) {
  return http_exchange(http_request(check, address, port),
                       {.statuses = statuses_of(check), .contains = check.expect});
}

std::unique_ptr<Conversation> https(const Check& check, const Ip& address, L4Port port, const Means& means) {
  return over_tls(
      http(check, address, port), means.tls,
      {.name = check.host.empty() ? address.text() : check.host,
       .verify = check.verify,
       .ca = check.ca,
       .now = means.now,
       .memory = means.tls.memory_of(fmt::format("{} {}", endpoint_text(address, port), check.host))});
}

LdapAsk ldap_ask(const Check& check) {
  LdapAsk ask{.version = check.version, .user = check.user, .password = check.password};
  if (!check.path.empty() || !check.attribute.empty() || !check.measured.empty()) ask.base = check.path;
  ask.attribute = check.attribute;
  ask.value = expected(check);
  ask.measured = check.measured;
  ask.alerts = check.alerts;
  return ask;
}

std::unique_ptr<Conversation> wap(const Check& check) {
  auto exchange = read_wap(check.path);
  if (!exchange) return await_answer({});  // refused when it was configured
  return compare_answer(std::move(exchange->payload), std::move(exchange->expected));
}

/// Of checks that are only ever made over datagrams.
std::unique_ptr<Conversation> datagram_talk_of(const Check& check, const Ip& address, L4Port port,
                                               const Means& means) {
  switch (check.kind) {
    case Kind::udp:
      return check.reply ? await_answer(check.path) : await_no_refusal(check.path, kQuiet);
    case Kind::radius:
      return radius_login({check.user, check.password, check.secret}, means.salt);
    case Kind::radiusacs:
      return radius_accounting(check.user, check.secret, means.salt);
    case Kind::tftp:
      return tftp_read(check.path);
    case Kind::sipoptions:
      return sip_options(address, port, means.salt);
    case Kind::ntp:
      return ntp_request(means.salt);
    case Kind::snmp:
      return snmp_get({check.secret, check.path, expected(check), check.unlike, check.weight}, means.salt);
    case Kind::wsp:
    case Kind::wtls:
    case Kind::wtp:
      return wap(check);
    default:
      return nullptr;
  }
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
    case Kind::ftp:
      return std::make_unique<Dialogue>(ftp_script(check.path));
    case Kind::ldap:
      return ldap(ldap_ask(check));
    case Kind::rtsp:
      return rtsp({.address = address,
                   .port = port,
                   .host = check.host,
                   .path = check.path,
                   .statuses = statuses_of(check)});
    case Kind::agent:
      return agent({});
    case Kind::dns:
    case Kind::udpdns:
      return check.carrier == Carrier::stream ? dns_query_over_tcp(check.path, DnsType::a, means.salt)
                                              : dns_query(check.path, DnsType::a, means.salt);
    default:
      return datagram_talk_of(check, address, port, means);
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
  const L4Port usual = check.kind == Kind::snmp ? kSnmp : port;
  const L4Port own = check.port != 0 ? check.port : usual;
  if (check.kind == Kind::script) return script_legs(check, own);
  std::vector<Leg> legs;
  if (check.carrier != Carrier::none)
    legs.push_back({.carrier = check.carrier,
                    .port = own,
                    .talk = talk_of(check, address, own, means),
                    .any_port = check.kind == Kind::tftp});
  return legs;
}

}  // namespace headgate::probe
