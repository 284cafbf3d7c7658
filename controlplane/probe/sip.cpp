// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/sip.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "controlplane/probe/question.h"
#include "controlplane/probe/quoted.h"
#include "controlplane/probe/words.h"

namespace headgate::probe {
namespace {

constexpr std::string_view kVersion = "SIP/2.0 ";

std::string request(const Ip& address, L4Port port, std::string_view token) {
  const std::string uri = "sip:" + endpoint_text(address, port);
  return fmt::format(
      "OPTIONS {0} SIP/2.0\r\n"
      "Via: SIP/2.0/UDP headgate.invalid;branch=z9hG4bK{1};rport\r\n"
      "Max-Forwards: 70\r\n"
      "From: <sip:headgate@headgate.invalid>;tag={1}\r\n"
      "To: <{0}>\r\n"
      "Call-ID: {1}\r\n"
      "CSeq: 1 OPTIONS\r\n"
      "Accept: application/sdp\r\n"
      "User-Agent: headgate\r\n"
      "Content-Length: 0\r\n\r\n",
      uri, token);
}

/// Takes a line from the front of `rest`, which ends by LF, or by CR and LF, or with the message.
std::string_view take_line(std::string_view& rest) {
  const auto end = std::min(rest.find('\n'), rest.size());
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t";
  const auto begin = std::min(text.find_first_not_of(kBlank), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(kBlank) + 1);
}

/// Of the header lines up to the empty one; "i" is its short name.
std::string_view call_id(std::string_view headers) {
  for (auto line = take_line(headers); !line.empty(); line = take_line(headers)) {
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view name = trimmed(line.substr(0, colon));
    if (same_word(name, "call-id") || same_word(name, "i")) return trimmed(line.substr(colon + 1));
  }
  return {};
}

/// The hundreds of a status line: 2 of "SIP/2.0 200 OK". Nothing where it is no status line.
std::optional<int> class_of(std::string_view status) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const bool three = status.size() >= 3 && std::all_of(status.begin(), status.begin() + 3, digit) &&
                     (status.size() == 3 || status[3] == ' ');
  return three ? std::optional(status[0] - '0') : std::nullopt;
}

Conversation::Turn judge(std::string_view message, std::string_view token) {
  std::string_view status = take_line(message);
  if (!status.starts_with(kVersion)) return fails("answer is not SIP");
  status.remove_prefix(kVersion.size());
  const auto hundreds = class_of(status);
  if (!hundreds) return fails("answer is not SIP");
  if (call_id(message) != token || hundreds == 1) return {};
  if (hundreds == 2) return passes();
  return fails(fmt::format("answered \"{}\", wanted 2xx", quoted(status)));
}

}  // namespace

std::unique_ptr<Conversation> sip_options(const Ip& address, L4Port port, std::uint64_t salt) {
  const std::string token = fmt::format("{:016x}", salt);
  return std::make_unique<Question>(request(address, port, token),
                                    [token](std::string_view message) { return judge(message, token); });
}

}  // namespace headgate::probe
