// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/ldap_watch.h"

#include <utility>

#include <fmt/format.h>

#include "controlplane/probe/quoted.h"

namespace headgate::probe {
namespace {

enum Id : std::int64_t { kNotice, kBind, kSearch, kUnbind };
constexpr unsigned kVersion = 3;  // the only one that has such searches

LdapWatch::Turn over(std::string why) {
  return {watch_farewell(), 0, std::move(why)};
}

}  // namespace

std::string watch_farewell() {
  return ldap_unbind(kUnbind);
}

LdapWatch::Turn LdapWatch::begin() const {
  return {ldap_bind(kBind, kVersion, ask_.user, ask_.password), 0, {}};
}

LdapWatch::Turn LdapWatch::hear(std::string_view bytes, Clock::time_point now) {
  using Piece = LdapStream::Piece;
  if (now - second_.begun >= std::chrono::seconds(1)) second_ = {now};
  std::string_view rest = bytes.substr(0, kMostOctets - second_.octets);
  const bool flood = rest.size() < bytes.size();
  second_.octets += rest.size();
  Turn turn;
  const auto add = [&turn](Turn next) {
    turn = {turn.say + next.say, turn.alerts + next.alerts, std::move(next.over)};
  };
  while (!turn.over) {
    const Piece piece = stream_.take(rest);
    if (piece == Piece::missing) break;
    add(piece == Piece::whole ? take(stream_.message()) : over("answer is not LDAP"));
  }
  if (flood && !turn.over) add(over("server says more than 1 MiB in a second"));
  return turn;
}

LdapWatch::Turn LdapWatch::take(std::string_view bytes) {
  if (++second_.messages > kMostMessages) return over("server says more than 1000 messages in a second");
  const auto message = ldap_message(bytes);
  if (!message) return over("answer is not LDAP");
  if (message->id == kNotice) return refused("server ends", *message, kLdapExtendedResponse);
  if (message->id != (stands_ ? kSearch : kBind)) return over("answer is to another request");
  return stands_ ? changed(*message) : bound(*message);
}

LdapWatch::Turn LdapWatch::bound(const LdapMessage& message) {
  const auto result = message.operation == kLdapBindResponse ? ldap_result(message.content) : std::nullopt;
  if (!result || result->code != 0) return refused("bind", message, kLdapBindResponse);
  stands_ = true;
  return {ldap_persistent_search(kSearch, kAlertsEntry), 0, {}};
}

LdapWatch::Turn LdapWatch::changed(const LdapMessage& message) const {
  if (message.operation == kLdapEntry) return {{}, 1, {}};
  if (message.operation == kLdapReference) return {};
  return refused(kAlertsEntry, message, kLdapDone);
}

/// In the server's words, unless they repeat the password.
LdapWatch::Turn LdapWatch::refused(std::string_view what, const LdapMessage& message,
                                   std::uint8_t operation) const {
  const auto result = message.operation == operation ? ldap_result(message.content) : std::nullopt;
  if (!result) return over("answer is not LDAP");
  const bool secret =
      !ask_.password.empty() && result->diagnosis.find(ask_.password) != std::string_view::npos;
  const std::string code = ldap_code(result->code);
  if (result->diagnosis.empty() || secret) return over(fmt::format("{}: {}", what, code));
  return over(fmt::format("{}: {} \"{}\"", what, code, quoted(result->diagnosis)));
}

}  // namespace headgate::probe
