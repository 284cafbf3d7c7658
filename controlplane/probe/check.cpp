// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/check.h"

#include <fmt/format.h>

namespace headgate::probe {
namespace {

constexpr L4Port kHttp = 80;

std::string full_host(const std::string& hname, const std::string& dname) {
  return hname.empty() || dname.empty() ? hname + dname : hname + "." + dname;
}

/// Characters that would break the request line, blanks and controls above all, are sent percent-encoded.
std::string encoded(std::string_view path) {
  std::string out;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > ' ' && byte < 0x7f)
      out += c;
    else
      out += fmt::format("%{:02X}", byte);
  }
  return out;
}

std::string number_of(std::string_view secret) {
  std::uint32_t number = 0x811c9dc5;  // FNV-1a
  for (const char c : secret) number = (number ^ static_cast<unsigned char>(c)) * 0x01000193;
  return fmt::format("#{:08x}", number);
}

Check login_check(const Wish& wish) {
  const auto colon = wish.content.find(':');
  const std::string password = colon == std::string::npos ? "" : wish.content.substr(colon + 1);
  return {.kind = wish.health, .user = wish.content.substr(0, colon), .password = password};
}

Check http_check(const Wish& wish) {
  std::string_view content = wish.content;
  std::string host = full_host(wish.hname, wish.dname);
  if (content.starts_with("//")) {
    content.remove_prefix(2);
    const auto slash = content.find('/');
    host = encoded(content.substr(0, slash));
    content = slash == std::string_view::npos ? "/" : content.substr(slash);
  }
  const std::string path = encoded(content);
  return {.kind = wish.health, .host = host, .path = path.starts_with('/') ? path : "/" + path};
}

}  // namespace

std::string Check::word() const {
  constexpr const char* kWords[] = {"none", "icmp", "tcp",  "http", "httphead",
                                    "smtp", "pop3", "imap", "nntp"};
  return kWords[static_cast<std::size_t>(kind)];
}

std::string Check::identity() const {
  switch (kind) {
    case Kind::none:
    case Kind::icmp:
    case Kind::tcp:
      return word();
    case Kind::http:
    case Kind::httphead:
      return fmt::format("{} {}{}", word(), host, path);
    case Kind::smtp:
      return fmt::format("{} {}", word(), user);
    case Kind::pop3:
    case Kind::imap:
      return fmt::format("{} {} {}", word(), user, number_of(password));
    case Kind::nntp:
      return fmt::format("{} {}", word(), path);
  }
  return word();
}

Check resolve(const Wish& wish) {
  if (wish.health == Kind::icmp) return {.kind = Kind::icmp};
  if (wish.content.empty()) return {.kind = Kind::tcp};
  switch (wish.health) {
    case Kind::http:
    case Kind::httphead:
      return wish.vport == kHttp || wish.allow_http_anywhere ? http_check(wish) : Check{.kind = Kind::tcp};
    case Kind::smtp:
    case Kind::pop3:
    case Kind::imap:
      return login_check(wish);
    case Kind::nntp:
      return {.kind = Kind::nntp, .path = wish.content};
    default:
      return {.kind = Kind::tcp};
  }
}

std::string http_request(const Check& check, const Ip& address, L4Port port) {
  const std::string literal = address.is_v4() ? address.text() : fmt::format("[{}]", address.text());
  const std::string name = check.host.empty() ? literal : check.host;
  const std::string host = port == kHttp ? name : fmt::format("{}:{}", name, port);
  return fmt::format(
      "{} {} HTTP/1.{}\r\nHost: {}\r\nUser-Agent: headgate\r\nAccept: */*\r\nConnection: close\r\n\r\n",
      check.kind == Kind::httphead ? "HEAD" : "GET", check.path, check.host.empty() ? 0 : 1, host);
}

}  // namespace headgate::probe
