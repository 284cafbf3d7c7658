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
#include "controlplane/probe/rtsp.h"

namespace {

using namespace headgate::probe;

enum Kind : std::uint8_t { kAgent, kRtsp, kFtp, kFtpPassive, kLdap, kLdapEntry, kKinds };

const LdapAsk kAsk{.user = "cn=x",
                   .password = "secret",
                   .base = "cn=monitor",
                   .attribute = "a",
                   .value = {.how = ExpectedValue::How::at_most, .number = 10}};

std::unique_ptr<Conversation> client(std::uint8_t kind) {
  switch (kind % kKinds) {
    case kAgent:
      return agent("");
    case kRtsp:
      return rtsp({.path = "/live"});
    case kFtp:
    case kFtpPassive:
      return std::make_unique<Dialogue>(ftp_script("health"));
    default:
      return ldap(kAsk);
  }
}

std::string message(std::int64_t id, std::uint8_t operation, std::string_view content) {
  return ber(kBerSequence, ber_integer(id) + ber(operation, content));
}

/// What comes before the fuzzer's octets, so that they reach what is behind a login.
std::string opening(std::uint8_t kind, std::string_view& data) {
  const std::string login = "220 ready\r\n230 in\r\n200 binary\r\n";
  switch (kind % kKinds) {
    case kFtp:
      return data.starts_with("2") ? "" : login;
    case kFtpPassive:
      return login + "500 no\r\n227 (";
    case kLdapEntry: {
      const auto entry = data.substr(0, data.size() / 2);
      data.remove_prefix(entry.size());
      return message(1, 0x61, std::string("\x0a\x01\0\x04\0\x04\0", 7)) +
             message(2, 0x64, ber(kBerOctets, "") + ber(kBerSequence, ber(kBerSequence, entry)));
    }
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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const std::uint8_t kind = data[0];
  const unsigned second = data[1] % 3;
  const std::size_t piece = data[1] / 3 + 1u;
  std::string_view rest(reinterpret_cast<const char*>(data) + 2, size - 2);
  std::string server = opening(kind, rest);
  server += rest;
  const Heard whole = play(*client(kind), server, server.size(), second);
  if (whole != play(*client(kind), server, 1, second)) std::abort();
  if (whole != play(*client(kind), server, piece, second)) std::abort();
  const std::string& reason = whole.outcome.reason;
  if (reason.empty() || reason.size() > 300) std::abort();
  if (reason.starts_with("bind") && reason.find("secret") != std::string::npos) std::abort();
  return 0;
}
