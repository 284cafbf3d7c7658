// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/resolve.h"

#include <fmt/format.h>

namespace headgate::probe {
namespace {

constexpr L4Port kHttp = 80;
constexpr L4Port kHttps = 443;

/// What a type is over, and what it can't do without.
struct Traits {
  enum class Over : std::uint8_t { any, tcp, udp };
  Over over = Over::tcp;
  bool needs_content = false;
};

Traits traits_of(Kind kind) {
  using enum Traits::Over;
  switch (kind) {
    case Kind::tcp:
    case Kind::sslh:
    case Kind::ftp:
    case Kind::ldap:
    case Kind::rtsp:
    case Kind::https:
    case Kind::app:
      return {tcp};
    case Kind::http:
    case Kind::httphead:
    case Kind::smtp:
    case Kind::pop3:
    case Kind::imap:
    case Kind::nntp:
      return {tcp, true};
    case Kind::udp:
    case Kind::ntp:
    case Kind::sipoptions:
      return {udp};
    case Kind::udpdns:
    case Kind::radius:
    case Kind::radiusacs:
    case Kind::tftp:
    case Kind::wsp:
    case Kind::wtls:
    case Kind::wtp:
      return {udp, true};
    case Kind::dns:
      return {any, true};
    case Kind::none:
    case Kind::icmp:
    case Kind::link:
    case Kind::arp:
    case Kind::snmp:
    case Kind::script:
    case Kind::logexp:
    case Kind::agent:
      return {any};
  }
  return {};
}

bool is_http(Kind kind) {
  return kind == Kind::http || kind == Kind::httphead || kind == Kind::https;
}

bool fits(const Wish& wish) {
  const Traits traits = traits_of(wish.health);
  const bool own_port = wish.settings.port != 0;
  const auto over = wish.udp ? Traits::Over::udp : Traits::Over::tcp;
  if (traits.over != Traits::Over::any && traits.over != over && !own_port) return false;
  if (is_http(wish.health)) {
    const L4Port usual = wish.health == Kind::https ? kHttps : kHttp;
    return wish.named || ((wish.vport == usual || wish.allow_http_anywhere) &&
                          (!wish.content.empty() || !traits.needs_content));
  }
  if (wish.health == Kind::app && wish.content.empty() && wish.settings.ports.empty()) return false;
  return !traits.needs_content || !wish.content.empty();
}

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

void ask_http(const Wish& wish, Check& check) {
  std::string_view content = wish.content;
  check.host = full_host(wish.hname, wish.dname);
  if (content.starts_with("//")) {
    content.remove_prefix(2);
    const auto slash = content.find('/');
    check.host = encoded(content.substr(0, slash));
    content = slash == std::string_view::npos ? "/" : content.substr(slash);
  }
  const std::string path = encoded(content);
  check.path = path.starts_with('/') ? path : "/" + path;
}

/// A path below the host; none: the server as a whole.
void ask_stream(const Wish& wish, Check& check) {
  check.host = full_host(wish.hname, wish.dname);
  const std::string path = encoded(wish.content);
  check.path = path.empty() || path.starts_with('/') ? path : "/" + path;
}

/// Several pages, between blanks.
void ask_pages(const Wish& wish, Check& check) {
  check.host = full_host(wish.hname, wish.dname);
  for (const char c : wish.content) check.path += c == ' ' ? " " : encoded({&c, 1});
}

void ask_login(const Wish& wish, Check& check) {
  const auto colon = wish.content.find(':');
  check.user = wish.content.substr(0, colon);
  check.password = colon == std::string::npos ? "" : wish.content.substr(colon + 1);
}

Carrier carrier_of(const Wish& wish) {
  switch (traits_of(wish.health).over) {
    case Traits::Over::tcp:
      return Carrier::stream;
    case Traits::Over::udp:
      return Carrier::datagrams;
    case Traits::Over::any:
      break;
  }
  if (wish.health == Kind::dns) return wish.udp ? Carrier::datagrams : Carrier::stream;
  if (wish.health == Kind::script) return wish.udp ? Carrier::datagrams : Carrier::stream;
  if (wish.health == Kind::snmp) return Carrier::datagrams;
  return wish.health == Kind::agent ? Carrier::stream : Carrier::none;
}

}  // namespace

Check resolve(const Wish& wish) {
  if (!fits(wish)) {
    Check check{.kind = Kind::tcp, .name = wish.settings.name};
    if (wish.udp) check.kind = Kind::icmp, check.carrier = Carrier::none;
    return check;
  }
  Check check = wish.settings;
  check.kind = wish.health;
  check.carrier = carrier_of(wish);
  switch (wish.health) {
    case Kind::http:
    case Kind::httphead:
    case Kind::https:
      ask_http(wish, check);
      break;
    case Kind::app:
      ask_pages(wish, check);
      break;
    case Kind::smtp:
    case Kind::pop3:
    case Kind::imap:
    case Kind::radius:
    case Kind::radiusacs:
      ask_login(wish, check);
      break;
    case Kind::sslh:
      check.host = full_host(wish.hname, wish.dname);
      break;
    case Kind::rtsp:
      ask_stream(wish, check);
      break;
    case Kind::none:
    case Kind::icmp:
    case Kind::link:
    case Kind::arp:
    case Kind::tcp:
    case Kind::ntp:
    case Kind::sipoptions:
    case Kind::agent:
      break;  // they ask for nothing
    default:
      check.path = wish.content;
  }
  return check;
}

}  // namespace headgate::probe
