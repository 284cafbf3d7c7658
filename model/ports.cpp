// SPDX-License-Identifier: Apache-2.0
#include "model/ports.h"

#include <algorithm>
#include <array>

namespace headgate {
namespace {

struct WellKnown {
  std::string_view name;
  std::uint16_t port;
};

// The first name of a port is the one that is printed.
constexpr std::array kWellKnown = {
    WellKnown{"ftp-data", 20}, WellKnown{"ftp", 21},           WellKnown{"ssh", 22},
    WellKnown{"telnet", 23},   WellKnown{"smtp", 25},          WellKnown{"time", 37},
    WellKnown{"name", 42},     WellKnown{"whois", 43},         WellKnown{"dns", 53},
    WellKnown{"domain", 53},   WellKnown{"tftp", 69},          WellKnown{"gopher", 70},
    WellKnown{"finger", 79},   WellKnown{"http", 80},          WellKnown{"pop2", 109},
    WellKnown{"pop3", 110},    WellKnown{"sunrpc", 111},       WellKnown{"nntp", 119},
    WellKnown{"ntp", 123},     WellKnown{"imap", 143},         WellKnown{"news", 144},
    WellKnown{"snmp", 161},    WellKnown{"snmptrap", 162},     WellKnown{"bgp", 179},
    WellKnown{"irc", 194},     WellKnown{"imap3", 220},        WellKnown{"ldap", 389},
    WellKnown{"https", 443},   WellKnown{"rip", 520},          WellKnown{"rtsp", 554},
    WellKnown{"radius", 1812}, WellKnown{"radius-acct", 1813}, WellKnown{"hsrp", 1985},
    WellKnown{"sip", 5060},
};

}  // namespace

std::optional<std::string_view> port_name(std::uint16_t port) {
  const auto* found = std::ranges::find(kWellKnown, port, &WellKnown::port);
  return found == kWellKnown.end() ? std::nullopt : std::optional(found->name);
}

std::optional<std::uint16_t> port_of(std::string_view name) {
  const auto* found = std::ranges::find(kWellKnown, name, &WellKnown::name);
  return found == kWellKnown.end() ? std::nullopt : std::optional(found->port);
}

bool is_udp_port(std::uint16_t port) {
  constexpr std::array<std::uint16_t, 8> kUdp = {53, 69, 123, 161, 162, 1645, 1812, 1813};
  return std::ranges::count(kUdp, port) != 0;
}

std::string port_text(std::uint16_t port) {
  const auto name = port_name(port);
  return name ? std::string(*name) : std::to_string(port);
}

}  // namespace headgate
