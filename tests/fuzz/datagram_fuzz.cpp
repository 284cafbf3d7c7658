// SPDX-License-Identifier: Apache-2.0
// Answers of servers to the checks that speak binary protocols, and the texts these checks are made of: one
// verdict, in printable words that tell no secret.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "controlplane/probe/ber.h"
#include "controlplane/probe/bytes.h"
#include "controlplane/probe/dns.h"
#include "controlplane/probe/md5.h"
#include "controlplane/probe/ntp.h"
#include "controlplane/probe/payload.h"
#include "controlplane/probe/radius.h"
#include "controlplane/probe/sip.h"
#include "controlplane/probe/snmp.h"
#include "controlplane/probe/tftp.h"

namespace {

using namespace headgate;
using namespace headgate::probe;

constexpr std::uint64_t kSalt = 0x1122334455667788;
constexpr std::string_view kSecret = "Z!kq";
constexpr unsigned kLogin = 5;
constexpr unsigned kAccounting = 6;
constexpr unsigned kStream = 9;

void require(bool holds) {
  if (!holds) std::abort();
}

std::unique_ptr<Conversation> conversation(unsigned choice) {
  switch (choice) {
    case 0:
      return dns_query("www.lab.test", DnsType::a, kSalt);
    case 1:
      return snmp_get({.community = std::string(kSecret),
                       .oid = "1.3.6.1.2.1.1.7.0",
                       .wanted = {.how = ExpectedValue::How::equal, .text = "72"}},
                      kSalt);
    case 2:
      return snmp_get({.community = std::string(kSecret), .oid = "1.3.6.1", .weight = true}, kSalt);
    case 3:
      return tftp_read("boot/kernel");
    case 4:
      return ntp_request(kSalt);
    case kLogin:
      return radius_login({"joe", std::string(kSecret), std::string(kSecret)}, kSalt);
    case kAccounting:
      return radius_accounting("joe", std::string(kSecret), kSalt);
    case 7:
      return sip_options(Ipv4{0x7f000001}, 5060, kSalt);
    case 8:
      return compare_answer("ping", {"pong", 3});
    default:
      return dns_query_over_tcp("www.lab.test", DnsType::a, kSalt);
  }
}

void check(const Outcome& outcome) {
  const auto printable = [](char c) { return c >= ' ' && c <= '~'; };
  const std::string& reason = outcome.reason;
  require(!reason.empty() && reason.size() < 200 && std::ranges::all_of(reason, printable));
  require(outcome.passed || !outcome.bears);
}

Conversation::Turn tell(unsigned choice, std::string_view message) {
  const auto asked = conversation(choice);
  require(!asked->begin().say.empty());
  return asked->hear(message);
}

void hear_datagram(unsigned choice, std::string_view message) {
  const auto turn = tell(choice, message);
  require(turn == tell(choice, message));
  require(turn.outcome || turn.say.empty());
  if (!turn.outcome) return;
  check(*turn.outcome);
  const bool quotes = choice != kLogin && choice != kAccounting;  // a server's words may be anything
  require(quotes || turn.outcome->reason.find(kSecret) == std::string::npos);
}

/// What a stranger can't: the answer is signed, so that what it holds is looked at.
void hear_signed(std::string_view message) {
  if (message.size() < 20) return;
  const std::string request = conversation(kLogin)->begin().say;
  std::string answer(message);
  answer.replace(1, 1, request, 1, 1);
  answer.replace(2, 2, {static_cast<char>(message.size() >> 8), static_cast<char>(message.size())});
  answer.replace(4, 16, request, 4, 16);
  const auto signature = md5(answer + std::string(kSecret));
  require(signature.has_value());
  hear_datagram(kLogin, answer.replace(4, 16, *signature));
}

Outcome hear_stream(std::string_view bytes, std::size_t piece) {
  const auto asked = conversation(kStream);
  static_cast<void>(asked->begin());
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size())))
    if (const auto turn = asked->hear(bytes.substr(0, piece)); turn.outcome) return *turn.outcome;
  return asked->end();
}

void hear_streams(std::string_view bytes, std::size_t piece) {
  const Outcome whole = hear_stream(bytes, std::max<std::size_t>(bytes.size(), 1));
  check(whole);
  require(whole == hear_stream(bytes, 1) && whole == hear_stream(bytes, piece));
}

void read_text(std::string_view text) {
  if (const auto name = dns_name(text))
    require(!name->empty() && name->size() <= 255 && name->back() == '\0');
  if (const auto oid = ber_oid(text)) require(!oid->empty() && (oid->back() & 0x80) == 0);
  if (const auto bytes = from_hex(text)) require(bytes->size() * 2 == text.size());
}

void read_ber(std::string_view bytes) {
  std::string_view rest = bytes;
  const auto element = take_ber(rest);
  if (!element) return;
  require(element->value.size() + rest.size() + 2 <= bytes.size());
  std::string written = ber(element->tag, element->value);
  std::string_view again = written;
  require(take_ber(again)->value == element->value && again.empty());
  if (const auto number = ber_integer(element->value))
    require(ber_integer(std::string_view(ber_integer(*number)).substr(2)) == number);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 2, size - 2);
  switch (const unsigned choice = data[0] % 13) {
    case kStream:
      hear_streams(rest, data[1] % 64 + 1u);
      break;
    case 10:
      hear_signed(rest);
      break;
    case 11:
      read_text(rest);
      break;
    case 12:
      read_ber(rest);
      break;
    default:
      hear_datagram(choice, rest);
  }
  return 0;
}
