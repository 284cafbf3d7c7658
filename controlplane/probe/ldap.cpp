// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/ldap.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "controlplane/probe/ldap_message.h"
#include "controlplane/probe/quoted.h"

namespace headgate::probe {
namespace {

/// How much a server may say to one check.
constexpr std::size_t kMostHeard = 1024 * 1024;

enum Id : std::int64_t { kNotice, kBind, kSearch, kUnbind, kAlertSearch };

/// An attribute that is to be a number; of several values the highest counts.
struct Number {
  std::string attribute;
  std::optional<health::Measure> highest = {};
  std::optional<std::string> wrong = {};  ///< a value that is none

  void note(std::string_view value);
};

void Number::note(std::string_view value) {
  health::Measure number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc{} || end != value.data() + value.size())
    wrong = quoted(value);
  else
    highest = std::max(highest.value_or(0), number);
}

/// The values of an attribute that says which alerts last.
struct Alerts {
  std::string first = {};
  std::size_t count = 0;

  void note(std::string_view type) {
    if (count++ == 0) first = quoted(type);
  }
  [[nodiscard]] std::string words() const {
    return count == 1 ? first : fmt::format("{} and {} more", first, count - 1);
  }
};

class Ldap final : public Conversation {
 public:
  explicit Ldap(LdapAsk ask) : ask_(std::move(ask)) {
    for (const std::string& attribute : ask_.measured) numbers_.push_back({attribute});
  }

  Turn begin() override { return {ldap_bind(kBind, ask_.version, ask_.user, ask_.password), {}}; }
  Turn hear(std::string_view bytes) override;
  Outcome end() override;

 private:
  [[nodiscard]] Turn take(std::string_view bytes);
  [[nodiscard]] Turn noticed(const LdapMessage& message) const;
  [[nodiscard]] Turn bound(const LdapMessage& message);
  [[nodiscard]] Turn found(const LdapMessage& message);
  [[nodiscard]] bool note_entry(std::string_view content);
  [[nodiscard]] bool note_alerts(std::string_view content);
  void note(std::string_view value);
  [[nodiscard]] Turn search();
  [[nodiscard]] Turn search_alerts();
  [[nodiscard]] Turn judge();
  [[nodiscard]] Turn judge_alerts() const;
  [[nodiscard]] std::optional<std::string> wrong_number() const;
  [[nodiscard]] Turn refused(std::string_view what, const LdapResult& result) const;
  [[nodiscard]] Turn passed() const;
  [[nodiscard]] Turn ended(Outcome outcome) const { return {ldap_unbind(kUnbind), std::move(outcome)}; }
  [[nodiscard]] Turn fail(std::string reason) const { return ended({false, std::move(reason)}); }
  [[nodiscard]] std::string entry() const { return ask_.base->empty() ? "root entry" : *ask_.base; }

  LdapAsk ask_;
  Id awaited_ = kBind;
  LdapStream stream_;
  std::size_t heard_ = 0;  ///< octets
  bool there_ = false;     ///< the entry
  bool monitor_ = false;   ///< that of the alerts
  bool passes_ = false;    ///< one of its values
  std::optional<std::string> value_;
  std::vector<Number> numbers_;
  Alerts unavailable_;
  Alerts degraded_;
};

Conversation::Turn Ldap::hear(std::string_view bytes) {
  using Piece = LdapStream::Piece;
  std::string_view rest = bytes.substr(0, kMostHeard - heard_);
  const bool flood = rest.size() < bytes.size();
  heard_ += rest.size();
  Turn turn;
  while (!turn.outcome) {
    const Piece piece = stream_.take(rest);
    if (piece == Piece::missing) break;
    Turn next = piece == Piece::whole ? take(stream_.message()) : fail("answer is not LDAP");
    turn = {turn.say + next.say, std::move(next.outcome)};
  }
  if (!flood || turn.outcome) return turn;
  return fail("server says more than 1 MiB");
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
  if (ask_.base) return search();
  return ask_.alerts ? search_alerts() : passed();
}

Conversation::Turn Ldap::search() {
  awaited_ = kSearch;
  std::vector<std::string> attributes = ask_.measured;
  if (!ask_.attribute.empty()) attributes.push_back(ask_.attribute);
  return {ldap_search(kSearch, *ask_.base, attributes), {}};
}

Conversation::Turn Ldap::search_alerts() {
  awaited_ = kAlertSearch;
  return {ldap_search(kAlertSearch, kMonitorEntry, {kUnavailableAlert, kDegradedAlert}), {}};
}

Conversation::Turn Ldap::found(const LdapMessage& message) {
  const bool alerts = awaited_ == kAlertSearch;
  if (message.operation == kLdapReference) return {};
  if (message.operation == kLdapEntry) {
    const bool read = alerts ? note_alerts(message.content) : note_entry(message.content);
    return read ? Turn{} : fail("answer is not LDAP");
  }
  const auto result = message.operation == kLdapDone ? ldap_result(message.content) : std::nullopt;
  if (!result) return fail("answer is not LDAP");
  if (result->code != 0) return refused(alerts ? kMonitorEntry : entry(), *result);
  return alerts ? judge_alerts() : judge();
}

bool Ldap::note_entry(std::string_view content) {
  const auto values = ldap_values(content, ask_.attribute);
  if (!values) return false;
  there_ = true;
  for (const auto value : *values) note(value);
  for (Number& number : numbers_)
    for (const auto value : ldap_values(content, number.attribute).value_or(std::vector<std::string_view>{}))
      number.note(value);
  return true;
}

bool Ldap::note_alerts(std::string_view content) {
  const auto unavailable = ldap_values(content, kUnavailableAlert);
  const auto degraded = ldap_values(content, kDegradedAlert);
  if (!unavailable || !degraded) return false;
  monitor_ = true;
  for (const auto type : *unavailable) unavailable_.note(type);
  for (const auto type : *degraded) degraded_.note(type);
  return true;
}

void Ldap::note(std::string_view value) {
  constexpr std::size_t kLongestValue = 1024;
  const bool passes = !passes_ && ask_.value.passes(value);
  if (passes || !value_) value_ = value.substr(0, kLongestValue);
  passes_ = passes_ || passes;
}

Conversation::Turn Ldap::judge() {
  if (!there_) return fail(fmt::format("{}: no entry", entry()));
  if (!ask_.attribute.empty() && !value_) return fail(fmt::format("{}: no {}", entry(), ask_.attribute));
  if (!ask_.attribute.empty() && !passes_)
    return ended({.reason = fmt::format("{}: {} is \"{}\", wanted {}", entry(), ask_.attribute,
                                        quoted(*value_), ask_.value.words()),
                  .value = *value_});
  if (const auto wrong = wrong_number()) return fail(fmt::format("{}: {}", entry(), *wrong));
  return ask_.alerts ? search_alerts() : passed();
}

std::optional<std::string> Ldap::wrong_number() const {
  for (const Number& number : numbers_) {
    if (number.wrong) return fmt::format("{} is \"{}\", no number", number.attribute, *number.wrong);
    if (!number.highest) return fmt::format("no {}", number.attribute);
  }
  return std::nullopt;
}

Conversation::Turn Ldap::judge_alerts() const {
  if (!monitor_) return fail(fmt::format("{}: no entry", kMonitorEntry));
  if (unavailable_.count == 0) return passed();
  return fail(fmt::format("{}: {} {}", kMonitorEntry, kUnavailableAlert, unavailable_.words()));
}

Conversation::Turn Ldap::passed() const {
  Outcome outcome{.passed = true, .reason = "answered", .value = value_.value_or("")};
  for (const Number& number : numbers_) outcome.measured.push_back({number.attribute, *number.highest});
  if (degraded_.count != 0) {
    outcome.reading.grade = health::Grade::degraded;
    outcome.note = fmt::format(", {} {}", kDegradedAlert, degraded_.words());
  }
  return ended(std::move(outcome));
}

Conversation::Turn Ldap::refused(std::string_view what, const LdapResult& result) const {
  const bool secret =
      !ask_.password.empty() && result.diagnosis.find(ask_.password) != std::string_view::npos;
  const std::string code = ldap_code(result.code);
  if (result.diagnosis.empty() || secret) return fail(fmt::format("{}: {}", what, code));
  return fail(fmt::format("{}: {} \"{}\"", what, code, quoted(result.diagnosis)));
}

Outcome Ldap::end() {
  return {false, heard_ != 0 ? "answer is cut short" : "closed without an answer"};
}

}  // namespace

std::unique_ptr<Conversation> ldap(LdapAsk ask) {
  return std::make_unique<Ldap>(std::move(ask));
}

}  // namespace headgate::probe
