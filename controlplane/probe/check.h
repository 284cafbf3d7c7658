// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <string>

#include "model/ip.h"

// Which check a service really gets, and what it asks for. Pure. Reference 4.2.
namespace headgate::probe {

enum class Kind : std::uint8_t { none, icmp, tcp, http, httphead, smtp, pop3, imap, nntp };

/// A check without its address. Equal checks of one real server and port are one target, whatever groups use
/// it.
struct Check {
  Kind kind = Kind::tcp;
  std::string host;      ///< http, httphead: as the Host header names it, without port; empty: none known
  std::string path;      ///< http, httphead: begins with "/"; nntp: the news group
  std::string user;      ///< smtp, pop3, imap
  std::string password;  ///< pop3, imap

  auto operator<=>(const Check&) const = default;
  /// The word of the check, as screens show it: "http", "tcp", "icmp", "none".
  [[nodiscard]] std::string word() const;
  /// What tells it from other checks: "http www.example.com/health", "tcp", "pop3 joe #5c1d03ab". Of a
  /// password only a number that is another for another password.
  [[nodiscard]] std::string identity() const;
};

/// The settings of a service that decide about its check.
struct Wish {
  Kind health = Kind::tcp;  ///< of the group
  std::string content;      ///< of the group
  std::string hname;        ///< of the service
  std::string dname;        ///< of the virtual server
  L4Port vport = 0;
  bool allow_http_anywhere = false;  ///< /cfg/slb/adv/allowhc
};

/// The check that is really done. Without content there is nothing to ask for, so that all but icmp fall back
/// to tcp; so do http and httphead on a virtual port other than http without `allowhc`. The host is
/// hname.dname (either alone when the other is empty); a content of the form //host/path overrides it. Of
/// pop3 and imap the content is user:password.
[[nodiscard]] Check resolve(const Wish& wish);

/// The bytes of a request, GET or HEAD: HTTP/1.1 with Host when a host is known, else HTTP/1.0 with the
/// address as Host; a port other than 80 is part of Host, and an address of IPv6 stands in brackets (RFC
/// 3986, 3.2.2).
[[nodiscard]] std::string http_request(const Check& check, const Ip& address, L4Port port);

}  // namespace headgate::probe
