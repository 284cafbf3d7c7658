// SPDX-License-Identifier: Apache-2.0
#include "controlplane/daemon/deeds.h"

#include <utility>

#include <fmt/format.h>

namespace headgate::daemon {
namespace {

using telemetry::Severity;

std::string name_of(const TargetKey& key, const Watched& watched) {
  return "real service " + endpoint_text(watched.target.address, key.port);
}

}  // namespace

Deeds::Deeds(Monitor& monitor, action::Actions& actions, Ears ears)
    : monitor_(monitor), actions_(actions), ears_(std::move(ears)) {}

void Deeds::failed(const TargetKey& key, health::Part part) const {
  const Watched& watched = monitor_.targets().at(key);
  if (watched.target.check.kind != probe::Kind::app) return;
  const std::string counts =
      part < health::kComplete ? fmt::format(" in part, {} of {}", part, health::kComplete) : "";
  ears_.note(Severity::warning,
             fmt::format("slb: {} fails its check{}: {}", name_of(key, watched), counts, watched.reason), {});
}

void Deeds::begin(const TargetKey& key, health::Remedy remedy) {
  const Watched& watched = monitor_.targets().at(key);
  const health::Remedies& remedies = watched.target.remedies;
  waiting_.push_back(
      {.id = watched.id,
       .line = {name_of(key, watched), remedy},
       .act = {.what = remedy == health::Remedy::restart ? remedies.restart : remedies.failover,
               .remedy = remedy,
               .real = key.real,
               .address = watched.target.address,
               .port = key.port,
               .reason = watched.reason}});
  go_on();
}

/// What is begun is stored before: a headgated that is killed then does not do it again.
void Deeds::go_on() {
  while (!waiting_.empty() && under_way_ < kAtOnce) {
    Asked next = std::move(waiting_.front());
    waiting_.pop_front();
    if (!wanted(next)) {
      withdraw(next);
      continue;
    }
    ++under_way_;
    monitor_.deed_begins(next.id);
    ears_.when_kept([this, next = std::move(next)] { run(next); });
  }
}

void Deeds::run(const Asked& asked) {
  if (!wanted(asked)) {
    --under_way_;
    withdraw(asked);
    return go_on();
  }
  // Without what it is told: that may be a secret.
  const std::string name = asked.act.what.substr(0, asked.act.what.find_first_of(" ?"));
  const Status begun =
      actions_.begin(asked.act, [this, id = asked.id, line = asked.line, name](const action::Ended& ended) {
        end(id, line, ended.done ? ended : action::Ended{false, fmt::format("{}: {}", name, ended.words)});
      });
  if (!begun.ok()) return end(asked.id, asked.line, {false, begun.error().message});
  const bool restart = asked.line.remedy == health::Remedy::restart;
  tell(restart ? Severity::warning : Severity::alert, asked.line, "begun: " + asked.act.reason);
}

bool Deeds::wanted(const Asked& asked) const {
  return monitor_.still_wanted(asked.id, asked.line.remedy, asked.act.what);
}

void Deeds::withdraw(const Asked& asked) const {
  monitor_.deed_withdrawn(asked.id, asked.line.remedy);
  ears_.changed();
  tell(Severity::notice, asked.line, "not begun: it is not wanted any more");
}

void Deeds::end(probe::TargetId id, const Line& line, const action::Ended& ended) {
  --under_way_;
  monitor_.deed_ended(id, ended.done ? ended.words : "failed: " + ended.words);
  ears_.changed();
  tell(ended.done ? Severity::notice : Severity::error, line,
       ended.done ? ended.words : "failed: " + ended.words);
  go_on();
}

void Deeds::tell(Severity severity, const Line& line, const std::string& what) const {
  ears_.note(severity, fmt::format("slb: {}: {} {}", line.service, health::word_of(line.remedy), what),
             "remedy of " + line.service);
}

}  // namespace headgate::daemon
