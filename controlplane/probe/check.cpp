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
  return {Kind::http, host, path.starts_with('/') ? path : "/" + path};
}

}  // namespace

std::string Check::word() const {
  constexpr const char* kWords[] = {"none", "icmp", "tcp", "http"};
  return kWords[static_cast<std::size_t>(kind)];
}

std::string Check::identity() const {
  return kind == Kind::http ? fmt::format("http {}{}", host, path) : word();
}

Check resolve(const Wish& wish) {
  if (wish.health == Kind::icmp) return {Kind::icmp, {}, {}};
  const bool http =
      wish.health == Kind::http && !wish.content.empty() && (wish.vport == kHttp || wish.allow_http_anywhere);
  return http ? http_check(wish) : Check{Kind::tcp, {}, {}};
}

std::string http_request(const Check& check, const Ip& address, L4Port port) {
  const std::string literal = address.is_v4() ? address.text() : fmt::format("[{}]", address.text());
  const std::string name = check.host.empty() ? literal : check.host;
  const std::string host = port == kHttp ? name : fmt::format("{}:{}", name, port);
  return fmt::format(
      "GET {} HTTP/1.{}\r\nHost: {}\r\nUser-Agent: headgate\r\nAccept: */*\r\nConnection: close\r\n\r\n",
      check.path, check.host.empty() ? 0 : 1, host);
}

}  // namespace headgate::probe
