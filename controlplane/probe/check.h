// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/ip.h"

// What a health check is: its type, and what it asks for. Pure. Reference 4.2.
namespace headgate::probe {

enum class Kind : std::uint8_t {
  none,
  icmp,
  tcp,
  http,
  httphead,
  smtp,
  pop3,
  imap,
  nntp,
  https,
  sslh,
  udp,
  dns,
  udpdns,
  ftp,
  ldap,
  radius,
  radiusacs,
  tftp,
  rtsp,
  sipoptions,
  ntp,
  wsp,
  wtls,
  wtp,
  snmp,
  script,
  logexp,
  agent,
  link,
  arp,
  app,
};

/// "http", "tcp", "none": as it is configured and as screens show it.
[[nodiscard]] std::string_view word_of(Kind kind);
/// The type of a word; nothing for a word that is none.
[[nodiscard]] std::optional<Kind> kind_named(std::string_view word);

/// What carries the check to the server.
enum class Carrier : std::uint8_t { none, stream, datagrams };

/// One statement of a health script. Reference 4.3.
struct Statement {
  enum class Verb : std::uint8_t {
    open,
    send,
    expect,
    bsend,
    nsend,
    bexpect,
    nexpect,
    offset,
    depth,
    wait,
    close
  };
  Verb verb = Verb::open;
  std::string text;  ///< as it is configured

  auto operator<=>(const Statement&) const = default;
};

/// A check without its address. Equal checks of one real server and port are one target, whatever groups use
/// it.
struct Check {
  Kind kind = Kind::tcp;
  std::string name;  ///< of a check with settings of its own: what it is judged by is its own, too
  Carrier carrier = Carrier::stream;  ///< of dns and script; of other types it follows from the type
  L4Port port = 0;                    ///< 0: that of the service, of snmp its own
  std::string host;  ///< http, httphead, https, rtsp, sslh: as the Host header names it, without port; empty:
                     ///< none known
  std::string path;  ///< http, httphead, https: begins with "/"; else what is asked for: news group, domain,
                     ///< file, pages
  std::string user;  ///< smtp, pop3, imap, radius, ldap
  std::string password;               ///< pop3, imap, radius, ldap
  std::string secret;                 ///< shared with RADIUS servers; of snmp the community
  std::string ports;                  ///< app: what is connected to, as it is configured
  std::string failnow;                ///< app: HTTP statuses that demand failover at once
  std::string status;                 ///< HTTP statuses that pass; empty: 200
  std::string attribute;              ///< ldap: that the entry must have
  std::vector<std::string> measured;  ///< ldap: attributes that the entry must have, each a number
  bool alerts = false;                ///< ldap: the server's own alerts count
  std::string expect;                 ///< what the answer must hold; empty: anything
  std::string ca;        ///< file of the certificates that are trusted; empty: those of the system
  unsigned version = 3;  ///< of LDAP
  bool verify = false;   ///< https: the server's certificate
  bool reply = true;     ///< udp: an answer must come
  bool unlike = false;   ///< snmp: every value but the expected one passes
  bool weight = false;   ///< snmp: the value is the server's weight
  bool invert = false;   ///< what fails passes
  std::vector<Statement> script;
  std::vector<Check> parts;  ///< of logexp, by the names in its expression

  bool operator==(const Check&) const = default;
  /// The word of the type, as screens show it: "http", "tcp", "icmp", "none".
  [[nodiscard]] std::string word() const { return std::string(word_of(kind)); }
  /// What tells it from other checks: "http www.example.com/health", "tcp", "pop3 joe #5c1d03ab". Of a
  /// password only a number that is another for another password.
  [[nodiscard]] std::string identity() const;
};

/// The bytes of a request, GET or HEAD: HTTP/1.1 with Host when a host is known, else HTTP/1.0 with the
/// address as Host; a port other than that of the scheme is part of Host, and an address of IPv6 stands in
/// brackets (RFC 3986, 3.2.2).
[[nodiscard]] std::string http_request(const Check& check, const Ip& address, L4Port port);

}  // namespace headgate::probe
