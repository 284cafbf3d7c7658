// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/dns.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "controlplane/probe/bytes.h"
#include "controlplane/probe/framed.h"
#include "controlplane/probe/question.h"
#include "controlplane/probe/words.h"

namespace headgate::probe {
namespace {

constexpr std::size_t kLongestLabel = 63;
constexpr std::size_t kLongestName = 255;
constexpr std::uint16_t kRecursionDesired = 0x0100;
constexpr std::uint16_t kInternet = 1;

std::string request(std::uint16_t id, std::string_view question) {
  std::string out;
  put(out, id, 2);
  put(out, kRecursionDesired, 2);
  put(out, 1, 2);  // questions
  put(out, 0, 6);  // answers, authorities, additional records
  return out.append(question);
}

std::string rcode_word(unsigned rcode) {
  constexpr const char* kWords[] = {"NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED"};
  return rcode < std::size(kWords) ? kWords[rcode] : fmt::format("RCODE {}", rcode);
}

/// Of a question: names are equal in any case (RFC 1035, 2.3.3), its other octets are below the letters.
bool same_question(std::string_view one, std::string_view other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](char a, char b) { return lower(a) == lower(b); });
}

Conversation::Turn judge(std::string_view message, std::uint16_t id, std::string_view question) {
  Reader reader(message);
  const auto answered = reader.number<std::uint16_t>();
  const auto flags = reader.number<std::uint16_t>();
  const auto questions = reader.number<std::uint16_t>();
  static_cast<void>(reader.take(6));
  if (reader.failed()) return fails("answer is not DNS");
  if (answered != id) return {};
  if ((flags & 0xf800) != 0x8000) return fails("answer is not DNS");  // a response, to a plain query
  const unsigned rcode = flags & 15u;
  // A server that could not even read the question need not repeat it.
  const bool unread = questions == 0 && rcode != 0;
  if (!unread && (questions != 1 || !same_question(reader.take(question.size()), question))) return {};
  if (rcode == 0) return passes();
  return fails(fmt::format("dns answered {}, wanted NOERROR", rcode_word(rcode)));
}

}  // namespace

std::optional<std::string> dns_name(std::string_view text) {
  if (text.empty()) return std::nullopt;
  std::string out;
  if (text.ends_with('.')) text.remove_suffix(1);
  while (!text.empty()) {
    const std::string_view label = text.substr(0, text.find('.'));
    if (label.empty() || label.size() > kLongestLabel || label.size() + 1 == text.size()) return std::nullopt;
    put(out, label.size(), 1);
    out += label;
    text.remove_prefix(std::min(label.size() + 1, text.size()));
  }
  out += '\0';
  return out.size() <= kLongestName ? std::optional(out) : std::nullopt;
}

std::unique_ptr<Conversation> dns_query(std::string_view name, DnsType type, std::uint64_t salt) {
  auto question = dns_name(name);
  if (!question) return std::make_unique<Unaskable>("no such name can be asked for");
  put(*question, static_cast<std::uint16_t>(type), 2);
  put(*question, kInternet, 2);
  const auto id = static_cast<std::uint16_t>(salt);
  return std::make_unique<Question>(
      request(id, *question),
      [id, question = *question](std::string_view message) { return judge(message, id, question); });
}

std::unique_ptr<Conversation> dns_query_over_tcp(std::string_view name, DnsType type, std::uint64_t salt) {
  return std::make_unique<Framed>(dns_query(name, type, salt));
}

}  // namespace headgate::probe
