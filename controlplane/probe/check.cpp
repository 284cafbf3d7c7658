// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/check.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace headgate::probe {
namespace {

constexpr std::array<std::string_view, 32> kWords{
    "none", "icmp", "tcp",    "http", "httphead", "smtp",   "pop3",      "imap", "nntp", "https",      "sslh",
    "udp",  "dns",  "udpdns", "ftp",  "ldap",     "radius", "radiusacs", "tftp", "rtsp", "sipoptions", "ntp",
    "wsp",  "wtls", "wtp",    "snmp", "script",   "logexp", "agent",     "link", "arp",  "app"};
static_assert(kWords.size() == static_cast<std::size_t>(Kind::app) + 1);

constexpr std::array<std::string_view, 11> kVerbs{"open",    "send",   "expect", "bsend", "nsend", "bexpect",
                                                  "nexpect", "offset", "depth",  "wait",  "close"};

constexpr L4Port kHttp = 80;
constexpr L4Port kHttps = 443;

/// FNV-1a: tells texts apart without telling them.
std::string number_of(std::string_view secret) {
  std::uint32_t number = 0x811c9dc5;
  for (const char c : secret) number = (number ^ static_cast<unsigned char>(c)) * 0x01000193;
  return fmt::format("#{:08x}", number);
}

std::string script_text(const std::vector<Statement>& script) {
  std::string text;
  for (const Statement& statement : script)
    text += fmt::format("{} {};", kVerbs[static_cast<std::size_t>(statement.verb)], statement.text);
  return text;
}

}  // namespace

std::string_view word_of(Kind kind) {
  return kWords[static_cast<std::size_t>(kind)];
}

std::optional<Kind> kind_named(std::string_view word) {
  const auto found = std::ranges::find(kWords, word);
  if (found == kWords.end()) return std::nullopt;
  return static_cast<Kind>(found - kWords.begin());
}

std::string Check::identity() const {
  std::string text = word();
  const auto add = [&](std::string_view what, const std::string& value) {
    if (!value.empty()) text += fmt::format(" {}{}", what, value);
  };
  add("named ", name);
  add("", host + path);
  add("", user);
  if (!password.empty() || kind == Kind::pop3 || kind == Kind::imap) add("", number_of(password));
  if (!secret.empty()) add("secret ", number_of(secret));
  if (kind == Kind::dns && carrier == Carrier::datagrams) add("", "over udp");
  if (port != 0) add("port ", std::to_string(port));
  add("ports ", ports);
  add("failnow ", failnow);
  add("status ", status);
  add("attribute ", attribute);
  add(unlike ? "not " : "expect ", expect);
  for (const std::string& name : measured) add("bounds of ", name);
  if (alerts) add("", "with alerts");
  if (version != 3) add("version ", std::to_string(version));
  if (verify) add("verified by ", ca.empty() ? "the system" : ca);
  if (!reply) add("", "without reply");
  if (weight) add("", "as weight");
  if (!script.empty()) add("", number_of(script_text(script)));
  for (const Check& part : parts) add("of ", part.identity());
  if (invert) add("", "inverted");
  return text;
}

std::string http_request(const Check& check, const Ip& address, L4Port port) {
  const std::string literal = address.is_v4() ? address.text() : fmt::format("[{}]", address.text());
  const std::string name = check.host.empty() ? literal : check.host;
  const L4Port usual = check.kind == Kind::https ? kHttps : kHttp;
  const std::string host = port == usual ? name : fmt::format("{}:{}", name, port);
  return fmt::format(
      "{} {} HTTP/1.{}\r\nHost: {}\r\nUser-Agent: headgate\r\nAccept: */*\r\nConnection: close\r\n\r\n",
      check.kind == Kind::httphead ? "HEAD" : "GET", check.path, check.host.empty() ? 0 : 1, host);
}

}  // namespace headgate::probe
