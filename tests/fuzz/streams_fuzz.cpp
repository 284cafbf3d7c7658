// SPDX-License-Identifier: Apache-2.0
//
// Answers of servers to the checks over streams of directories, files, streaming media and agents: one
// verdict with a reason, however the stream is cut, in bounded memory, and without a password in it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "controlplane/probe/agent.h"
#include "controlplane/probe/ber.h"
#include "controlplane/probe/dialogue.h"
#include "controlplane/probe/heard.h"
#include "controlplane/probe/ldap.h"
#include "controlplane/probe/ldap_watch.h"
#include "controlplane/probe/rtsp.h"

namespace {

using namespace headgate::probe;

enum Kind : std::uint8_t { kAgent, kRtsp, kFtp, kFtpPassive, kLdap, kLdapEntry, kLdapAlerts, kWatch, kKinds };

LdapAsk entry_ask() {
  return {.user = "cn=x",
          .password = "secret",
          .base = "cn=monitor",
          .attribute = "a",
          .value = {.how = ExpectedValue::How::at_most, .number = 10},
          .measured = {"b"}};
}

LdapAsk alerts_ask() {
  return {.user = "cn=x", .password = "secret", .alerts = true};
}

std::unique_ptr<Conversation> client(std::uint8_t kind) {
  switch (kind % kKinds) {
    case kAgent:
      return agent("");
    case kRtsp:
      return rtsp({.path = "/live"});
    case kFtp:
    case kFtpPassive:
      return std::make_unique<Dialogue>(ftp_script("health"));
    case kLdapAlerts:
      return ldap(alerts_ask());
    default:
      return ldap(entry_ask());
  }
}

std::string message(std::int64_t id, std::uint8_t operation, std::string_view content) {
  return ber(kBerSequence, ber_integer(id) + ber(operation, content));
}

const std::string kLetIn = message(1, 0x61, std::string("\x0a\x01\0\x04\0\x04\0", 7));

/// The fuzzer's octets as attributes of an entry, and what is left of them.
std::string entry(std::int64_t id, std::string_view& data) {
  const auto attributes = data.substr(0, data.size() / 2);
  data.remove_prefix(attributes.size());
  return message(id, 0x64, ber(kBerOctets, "") + ber(kBerSequence, ber(kBerSequence, attributes)));
}

/// What comes before the fuzzer's octets, so that they reach what is behind a login.
std::string opening(std::uint8_t kind, std::string_view& data) {
  const std::string login = "220 ready\r\n230 in\r\n200 binary\r\n";
  switch (kind % kKinds) {
    case kFtp:
      return data.starts_with("2") ? "" : login;
    case kFtpPassive:
      return login + "500 no\r\n227 (";
    case kLdapEntry:
      return kLetIn + entry(2, data);
    case kLdapAlerts:
      return kLetIn + entry(4, data);
    case kWatch:
      return data.starts_with("0") ? "" : kLetIn;
    default:
      return "";
  }
}

/// The whole of it; a second stream brings as many octets as `second` says, or cannot be had.
Heard play(Conversation& conversation, std::string_view server, std::size_t piece, unsigned second) {
  auto turn = conversation.begin();
  Heard out;
  while (true) {
    out.said += turn.say;
    if (turn.outcome) break;
    if (turn.connect) {
      turn = conversation.connected(second == 0 ? "refused" : "");
    } else if (turn.fetch) {
      turn = conversation.fetched(second - 1);
    } else if (server.empty()) {
      break;
    } else {
      turn = conversation.hear(server.substr(0, piece));
      server.remove_prefix(std::min(piece, server.size()));
    }
  }
  out.outcome = turn.outcome ? *turn.outcome : conversation.end();
  return out;
}

/// The whole of a watch.
LdapWatch::Turn watch(std::string_view server, std::size_t piece) {
  LdapWatch client({"cn=x", "secret"});
  LdapWatch::Turn all = client.begin();
  for (; !all.over && !server.empty(); server.remove_prefix(std::min(piece, server.size()))) {
    LdapWatch::Turn turn = client.hear(server.substr(0, piece), {});
    all = {all.say + turn.say, all.alerts + turn.alerts, std::move(turn.over)};
  }
  return all;
}

void check_watch(std::string_view server, std::size_t piece) {
  const LdapWatch::Turn whole = watch(server, server.size());
  if (whole != watch(server, 1) || whole != watch(server, piece)) std::abort();
  if (!whole.over) return;
  if (whole.over->empty() || whole.over->size() > 300 || whole.over->find("secret") != std::string::npos)
    std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const std::uint8_t kind = data[0];
  const unsigned second = data[1] % 3;
  const std::size_t piece = data[1] / 3 + 1u;
  std::string_view rest(reinterpret_cast<const char*>(data) + 2, size - 2);
  std::string server = opening(kind, rest);
  server += rest;
  if (kind % kKinds == kWatch) {
    check_watch(server, piece);
    return 0;
  }
  const Heard whole = play(*client(kind), server, server.size(), second);
  if (whole != play(*client(kind), server, 1, second)) std::abort();
  if (whole != play(*client(kind), server, piece, second)) std::abort();
  const std::string& reason = whole.outcome.reason;
  if (reason.empty() || reason.size() > 300) std::abort();
  if (reason.starts_with("bind") && reason.find("secret") != std::string::npos) std::abort();
  return 0;
}
