// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "controlplane/probe/ldap_message.h"

// Watches the alerts of a directory through a persistent search (draft-ietf-ldapext-psearch-03). Pure.
namespace headgate::probe {

/// Where a directory has an entry for each alert.
constexpr const char* kAlertsEntry = "cn=alerts";

struct WatchAsk {
  std::string user = {};  ///< distinguished name to log in with; empty: anonymous
  std::string password = {};
};

/// One watch over one stream, from its beginning to its end. Bounded in memory and in what it reads, whatever
/// the server says. Which pieces the stream comes in makes no difference.
class LdapWatch {
 public:
  using Clock = std::chrono::steady_clock;
  /// How much a server may say within a second: alerts are few.
  static constexpr std::size_t kMostOctets = 1024 * 1024;
  static constexpr std::size_t kMostMessages = 1000;

  /// What to do now.
  struct Turn {
    std::string say;                  ///< to the server; with an end, the farewell
    std::size_t alerts = 0;           ///< that have come
    std::optional<std::string> over;  ///< why the watch is over; nothing is heard after it
    bool operator==(const Turn&) const = default;
  };

  explicit LdapWatch(WatchAsk ask) : ask_(std::move(ask)) {}

  /// The connection stands.
  [[nodiscard]] Turn begin() const;
  /// The server has said more. Not called after the end.
  [[nodiscard]] Turn hear(std::string_view bytes, Clock::time_point now);
  /// The server has let us in, and the search was asked for: from now on its silence is good news.
  [[nodiscard]] bool stands() const { return stands_; }

 private:
  /// What came in the second that begins then.
  struct Second {
    Clock::time_point begun;
    std::size_t octets = 0;
    std::size_t messages = 0;
  };

  [[nodiscard]] Turn take(std::string_view bytes);
  [[nodiscard]] Turn bound(const LdapMessage& message);
  [[nodiscard]] Turn changed(const LdapMessage& message) const;
  [[nodiscard]] Turn refused(std::string_view what, const LdapMessage& message, std::uint8_t operation) const;

  WatchAsk ask_;
  LdapStream stream_;
  Second second_;
  bool stands_ = false;
};

/// What is said to a server whose watch is given up.
[[nodiscard]] std::string watch_farewell();

}  // namespace headgate::probe
