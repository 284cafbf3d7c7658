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
  const Line line{name_of(key, watched), remedy};
  action::Act act{.what = remedy == health::Remedy::restart ? remedies.restart : remedies.failover,
                  .remedy = remedy,
                  .real = key.real,
                  .address = watched.target.address,
                  .port = key.port,
                  .reason = watched.reason,
                  .wanted = {}};
  act.wanted = [this, id = watched.id, remedy, what = act.what] {
    return monitor_.still_wanted(id, remedy, what);
  };
  const std::string why = watched.reason;
  const Status begun = actions_.begin(
      act, [this, id = watched.id, line](const action::Ended& ended) { end(id, line, ended); });
  if (!begun.ok()) return end(watched.id, line, {false, begun.error().message});
  ears_.changed();
  tell(remedy == health::Remedy::restart ? Severity::warning : Severity::alert, line, "begun: " + why);
}

void Deeds::end(probe::TargetId id, const Line& line, const action::Ended& ended) const {
  monitor_.deed_ended(id, ended.done ? ended.words : "failed: " + ended.words);
  ears_.changed();
  tell(ended.done ? Severity::notice : Severity::error, line,
       ended.done ? ended.words : "failed: " + ended.words);
}

void Deeds::tell(Severity severity, const Line& line, const std::string& what) const {
  ears_.note(severity, fmt::format("slb: {}: {} {}", line.service, health::word_of(line.remedy), what),
             "remedy of " + line.service);
}

}  // namespace headgate::daemon
