// SPDX-License-Identifier: Apache-2.0
//
// TLS under a check: the octets of a server as the fuzzer has them, cut anywhere, and a real server some of
// whose octets are changed on the way. Never more than one verdict, always with a reason; whatever is
// changed, the check passes only with the page that was sent.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "controlplane/probe/heard.h"
#include "controlplane/probe/http_reply.h"
#include "controlplane/probe/tls.h"
#include "controlplane/probe/tls_bed.h"

namespace {

using namespace headgate::probe;

constexpr Day kToday = std::chrono::year(2026) / 6 / 1;
constexpr std::string_view kPage = "HTTP/1.1 200 OK\r\n\r\nall is well";

TlsContexts& contexts() {
  static TlsContexts known;
  return known;
}

std::unique_ptr<Conversation> client(bool verify) {
  return over_tls(http_exchange("GET / HTTP/1.0\r\n\r\n", {.contains = "all is well"}), contexts(),
                  {.name = "www.example.com", .verify = verify, .now = kToday});
}

/// The server's octets as they are.
void play_raw(std::string_view server, std::size_t piece) {
  const Heard whole = hear(*client(false), server, std::max<std::size_t>(server.size(), 1));
  if (whole.outcome != hear(*client(false), server, piece).outcome) std::abort();
  if (whole.outcome.passed || whole.outcome.reason.empty()) std::abort();
}

/// One for each way to speak.
TlsServer::Context server_context(bool old, bool wants_certificate) {
  static const Identity identity = make_identity({});
  static TlsServer::Context known[2][2];
  TlsServer::Context& context = known[old][wants_certificate];
  const int version = old ? TLS1_2_VERSION : TLS1_3_VERSION;
  if (!context)
    context = TlsServer::context(
        identity, {.lowest = version, .highest = version, .wants_certificate = wants_certificate});
  return context;
}

struct Change {
  std::size_t at;
  char by;
};

/// A server that serves the page, with one octet of what it says changed.
Outcome play_changed(TlsServer& server, bool verify, Change change, std::size_t piece) {
  const auto peer = client(verify);
  server.expect("GET / HTTP/1.0\r\n\r\n", std::string(kPage));
  Conversation::Turn turn = peer->begin();
  std::size_t total = 0;
  while (!turn.outcome) {
    std::string said = server.answer(turn.say);
    if (said.empty()) return peer->end();
    if (change.at >= total && change.at < total + said.size())
      said[change.at - total] = static_cast<char>(said[change.at - total] ^ change.by);
    total += said.size();
    turn.say.clear();
    for (std::size_t at = 0; at < said.size() && !turn.outcome; at += piece) {
      auto next = peer->hear(std::string_view(said).substr(at, piece));
      turn = {turn.say + next.say, std::move(next.outcome)};
    }
  }
  return *turn.outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 5) return 0;
  const std::size_t piece = data[1] + 1u;
  if (data[0] & 1) {
    play_raw({reinterpret_cast<const char*>(data) + 2, size - 2}, piece);
    return 0;
  }
  const bool verify = (data[0] & 12) == 12;
  const bool wants_certificate = (data[0] & 48) == 48;
  TlsServer server(server_context((data[0] & 2) != 0, wants_certificate));
  const std::size_t at = static_cast<std::size_t>(data[2]) << 8 | data[3];
  const Outcome outcome = play_changed(server, verify, {at % 2048, static_cast<char>(data[4])}, piece);
  if (outcome.reason.empty()) std::abort();
  if (outcome.passed && (verify || !server.open() || outcome.reason != "status 200")) std::abort();
  if (data[4] == 0 && !verify && !wants_certificate && !outcome.passed) std::abort();
  return 0;
}
