// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/ldap.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "controlplane/probe/ldap_message.h"
#include "controlplane/probe/quoted.h"

namespace headgate::probe {
namespace {

enum Id : std::int64_t { kNotice, kBind, kSearch, kUnbind };

class Ldap final : public Conversation {
 public:
  explicit Ldap(LdapAsk ask) : ask_(std::move(ask)) {}

  Turn begin() override { return {ldap_bind(kBind, ask_.version, ask_.user, ask_.password), {}}; }
  Turn hear(std::string_view bytes) override;
  Outcome end() override;

 private:
  [[nodiscard]] Turn read();
  [[nodiscard]] Turn take(std::string_view bytes);
  [[nodiscard]] Turn noticed(const LdapMessage& message) const;
  [[nodiscard]] Turn bound(const LdapMessage& message);
  [[nodiscard]] Turn found(const LdapMessage& message);
  void note(std::string_view value);
  [[nodiscard]] Turn judge() const;
  [[nodiscard]] Turn refused(std::string_view what, const LdapResult& result) const;
  [[nodiscard]] Turn ended(Outcome outcome) const { return {ldap_unbind(kUnbind), std::move(outcome)}; }
  [[nodiscard]] Turn fail(std::string reason) const { return ended({false, std::move(reason)}); }
  [[nodiscard]] std::string entry() const { return ask_.base->empty() ? "root entry" : *ask_.base; }

  LdapAsk ask_;
  Id awaited_ = kBind;
  std::string message_;  ///< what has come of the next one
  bool heard_ = false;   ///< anything at all
  bool there_ = false;   ///< the entry
  bool passes_ = false;  ///< one of its values
  std::optional<std::string> value_;
};

Conversation::Turn Ldap::hear(std::string_view bytes) {
  Turn turn;
  while (!bytes.empty() && !turn.outcome) {
    const std::size_t taken = std::min(ldap_size(message_).missing, bytes.size());
    message_ += bytes.substr(0, taken);
    bytes.remove_prefix(taken);
    heard_ = true;
    Turn next = read();
    turn = {turn.say + next.say, std::move(next.outcome)};
  }
  return turn;
}

/// Looks at what has come of the next message.
Conversation::Turn Ldap::read() {
  const LdapSize size = ldap_size(message_);
  if (!size.ldap) return fail("answer is not LDAP");
  return size.missing > 0 ? Turn{} : take(std::exchange(message_, {}));
}

Conversation::Turn Ldap::take(std::string_view bytes) {
  const auto message = ldap_message(bytes);
  if (!message) return fail("answer is not LDAP");
  if (message->id == kNotice) return noticed(*message);
  if (message->id != awaited_) return fail("answer is to another request");
  return awaited_ == kBind ? bound(*message) : found(*message);
}

/// The one notice there is says that the server ends the connection (RFC 4511, 4.4.1).
Conversation::Turn Ldap::noticed(const LdapMessage& message) const {
  const auto result = ldap_result(message.content);
  return result ? refused("server ends", *result) : fail("answer is not LDAP");
}

Conversation::Turn Ldap::bound(const LdapMessage& message) {
  const auto result = message.operation == kLdapBindResponse ? ldap_result(message.content) : std::nullopt;
  if (!result) return fail("answer is not LDAP");
  if (result->code != 0) return refused("bind", *result);
  if (!ask_.base) return ended({true, "answered"});
  awaited_ = kSearch;
  return {ldap_search(kSearch, *ask_.base, ask_.attribute), {}};
}

Conversation::Turn Ldap::found(const LdapMessage& message) {
  if (message.operation == kLdapReference) return {};
  if (message.operation == kLdapEntry) {
    const auto values = ldap_values(message.content, ask_.attribute);
    if (!values) return fail("answer is not LDAP");
    there_ = true;
    for (const auto value : *values) note(value);
    return {};
  }
  const auto result = message.operation == kLdapDone ? ldap_result(message.content) : std::nullopt;
  if (!result) return fail("answer is not LDAP");
  return result->code == 0 ? judge() : refused(entry(), *result);
}

void Ldap::note(std::string_view value) {
  constexpr std::size_t kLongestValue = 1024;
  const bool passes = !passes_ && ask_.value.passes(value);
  if (passes || !value_) value_ = value.substr(0, kLongestValue);
  passes_ = passes_ || passes;
}

Conversation::Turn Ldap::judge() const {
  if (!there_) return fail(fmt::format("{}: no entry", entry()));
  if (ask_.attribute.empty()) return ended({true, "answered"});
  if (!value_) return fail(fmt::format("{}: no {}", entry(), ask_.attribute));
  if (passes_) return ended({.passed = true, .reason = "answered", .value = *value_});
  return ended({.reason = fmt::format("{}: {} is \"{}\", wanted {}", entry(), ask_.attribute, quoted(*value_),
                                      ask_.value.words()),
                .value = *value_});
}

Conversation::Turn Ldap::refused(std::string_view what, const LdapResult& result) const {
  const bool secret =
      !ask_.password.empty() && result.diagnosis.find(ask_.password) != std::string_view::npos;
  const std::string code = ldap_code(result.code);
  if (result.diagnosis.empty() || secret) return fail(fmt::format("{}: {}", what, code));
  return fail(fmt::format("{}: {} \"{}\"", what, code, quoted(result.diagnosis)));
}

Outcome Ldap::end() {
  return {false, heard_ ? "answer is cut short" : "closed without an answer"};
}

}  // namespace

std::unique_ptr<Conversation> ldap(LdapAsk ask) {
  return std::make_unique<Ldap>(std::move(ask));
}

}  // namespace headgate::probe
