// SPDX-License-Identifier: Apache-2.0
#include "controlplane/daemon/monitor.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "controlplane/health/preemption.h"
#include "controlplane/health/response.h"

namespace headgate::daemon {
namespace {

using std::chrono::milliseconds;

/// This late, we were not running (stopped, or a machine without time for us). The server may have answered
/// meanwhile without being read, so the silence is ours: the probe gets the time it has missed. Reports 5.
constexpr milliseconds kStalled{500};

/// Which bound its time to answer has crossed, or not yet crossed back: ", slower than 1000 ms".
std::string time_words(const health::Bands& bands, health::Grade grade, health::Measure took) {
  if (grade == health::Grade::available) return {};
  const bool fails = grade == health::Grade::unavailable;
  const auto& outer = fails ? bands.fail_above : bands.degrade_above;
  const auto& inner = fails ? bands.recover_below : bands.restore_below;
  constexpr double kPerMs = 1000;
  const auto ms = [](health::Measure us) { return static_cast<double>(us) / kPerMs; };
  if (took > *outer) return fmt::format(", slower than {:g} ms", ms(*outer));
  return fmt::format(", not yet faster than {:g} ms", ms(inner.value_or(*outer)));
}

std::tuple<std::uint32_t, L4Port, Protocol> service_of(const TargetKey& key) {
  return {key.real, key.port, key.protocol};
}

std::tuple<std::uint32_t, Ip, L4Port, Protocol> service_at(const TargetKey& key,
                                                           const config::Target& target) {
  return {key.real, target.address, key.port, key.protocol};
}

/// When a probe ends by itself. Usually it has failed when the next one is due (ADR 10); a check that silence
/// may pass, or tell what it means, must say so before.
std::optional<milliseconds> timeout_of(const config::Target& target) {
  constexpr milliseconds kBefore{100};
  const milliseconds inter = target.policy.inter;
  if (target.policy.timeout.count() != 0 && target.policy.timeout < inter) return target.policy.timeout;
  const bool judges_silence = target.check.invert || target.check.kind == probe::Kind::logexp ||
                              target.check.kind == probe::Kind::app;
  return judges_silence ? std::optional(inter - kBefore) : std::nullopt;
}

bool same_service(const TargetKey& left, const TargetKey& right) {
  return service_of(left) == service_of(right);
}

}  // namespace

Monitor::Monitor(probe::Prober& prober, Timers& timers, const Clock& clock,
                 std::function<void(const TargetKey&)> on_verdict, Notices notices)
    : prober_(prober),
      timers_(timers),
      clock_(clock),
      on_verdict_(std::move(on_verdict)),
      notices_(std::move(notices)) {}

Watched Monitor::fresh(const TargetKey& key, const config::Target& target,
                       const std::map<TargetKey, config::Target>& next) const {
  Watched watched{.target = target, .since_unix_ms = clock_.unix_ms(), .reason = "not checked yet"};
  for (auto old = targets_.lower_bound({key.real, key.port, key.protocol, ""});
       old != targets_.end() && same_service(old->first, key); ++old) {
    if (next.contains(old->first) || old->second.target.address != target.address) continue;
    if (health::serves(old->second.state.health)) watched.state.health = old->second.state.health;
    inherit_deeds({.id = old->second.id, .deeds = old->second.deeds, .remedy = old->second.remedy}, watched);
    if (watched.changes.empty()) watched.changes = old->second.changes;
  }
  if (const auto parted = parted_.find(service_at(key, target));
      parted != parted_.end() && watched.deeds.empty())
    inherit_deeds(parted->second, watched);
  if (const auto dormant = dormant_.find(service_of(key)); dormant != dormant_.end() &&
                                                           dormant->second.check == key.check &&
                                                           dormant->second.address == target.address) {
    // That was a while ago: one failure takes it down.
    watched.state = {.health = dormant->second.health,
                     .failures = target.policy.retry - 1,
                     .failed = (target.policy.retry - 1) * health::kComplete};
    watched.reason = "up when it was last checked";
  }
  if (target.policy.inter.count() == 0) watched.state.health = health::Health::up;
  return watched;
}

void Monitor::configure(const std::map<TargetKey, config::Target>& targets, bool grace) {
  grace_ = grace;
  Targets next;
  std::set<probe::TargetId> inherited;
  for (const auto& [key, target] : targets) {
    const auto old = targets_.find(key);
    const bool stays = old != targets_.end() && old->second.target.address == target.address;
    next[key] = stays ? old->second : fresh(key, target, targets);
    if (stays || (next[key].id != 0 && inherited.insert(next[key].id).second)) continue;
    next[key].id = ++last_id_;
    if (std::exchange(next[key].remedy.under_way, false)) next[key].deeds.pop_back();  // it has one heir
  }
  for (auto& [key, old] : targets_)
    if (const auto found = next.find(key); found == next.end() || found->second.id != old.id) {
      if (health::serves(old.state.health))
        dormant_[service_of(key)] = {key.check, old.target.address, old.state.health};
      else
        dormant_.erase(service_of(key));
      if (!old.deeds.empty())
        parted_[service_at(key, old.target)] = {old.id, std::move(old.deeds), std::move(old.remedy)};
      forget(old);
    }
  targets_ = std::move(next);
  by_id_.clear();
  yielding_.clear();
  depending_.clear();
  for (auto entry = targets_.begin(); entry != targets_.end(); ++entry) by_id_[entry->second.id] = entry;
  std::vector<Watched*> changed;
  for (auto& [key, watched] : targets_) {
    dormant_.erase(service_of(key));
    parted_.erase(service_at(key, targets.at(key)));
    if (update(key, watched, targets.at(key))) changed.push_back(&watched);
    if (watched.target.yields_to.empty())
      watched.held = false;
    else
      yielding_.push_back(key);
  }
  note_disabled();
  settle_buddies();
  settle_holds();
  if (!begun_) return;
  schedule(changed);
  schedule_new();
}

void Monitor::note_disabled() {
  std::set<std::uint32_t> disabled;
  for (const auto& [key, watched] : targets_)
    if (!watched.target.enabled) disabled.insert(key.real);
  std::erase_if(disabled_, [&](const auto& entry) { return !disabled.contains(entry.first); });
  for (const std::uint32_t real : disabled) disabled_.try_emplace(real, clock_.unix_ms());
}

/// Whether it is to be checked by another policy from its next check on.
bool Monitor::update(const TargetKey& key, Watched& watched, const config::Target& target) {
  const bool policy_changed = watched.target.policy != target.policy;
  watched.target = target;
  if (!policy_changed || !begun_ || watched.timer == 0) return false;
  if (target.policy.inter.count() != 0) return true;
  advance(key, watched, health::PolicyChanged{});
  return false;
}

void Monitor::forget(Watched& watched) {
  timers_.cancel(watched.timer);
  prober_.cancel(watched.id);
}

void Monitor::begin() {
  if (begun_) return;
  begun_ = true;
  alive_ = timers_.now();
  beat();
  schedule_new();
}

/// Notes when this process stood still: what a probe took that spans such a time says nothing of its server.
void Monitor::beat() {
  constexpr milliseconds kBeat{250};
  const milliseconds now = timers_.now();
  if (now - alive_ > kStalled) stalled_ = now;
  alive_ = now;
  timers_.after(kBeat, [this] { beat(); });
}

bool Monitor::spans_a_stall(std::chrono::microseconds took) const {
  const milliseconds now = timers_.now();
  const milliseconds begun = now - std::chrono::ceil<milliseconds>(took);
  return now - alive_ > kStalled || (stalled_ && begun <= *stalled_);
}

/// Targets without a timer get their first probe.
void Monitor::schedule_new() {
  std::vector<Watched*> fresh;
  for (auto& [key, watched] : targets_)
    if (watched.timer == 0) fresh.push_back(&watched);
  schedule(fresh);
}

/// The first probe by its policy, of each target at its own place within the interval; many changes of the
/// policy put it off once.
void Monitor::schedule(const std::vector<Watched*>& targets) {
  std::size_t ordinal = 0;
  for (Watched* watched : targets) {
    auto offset = probe::start_offset(ordinal++, targets.size(), watched->target.policy.inter);
    if (std::exchange(watched->put_off, true))
      offset = std::clamp(watched->due - timers_.now(), milliseconds(0), offset);
    timers_.cancel(watched->timer);
    watched->due = timers_.now() + offset;
    watched->timer = timers_.after(offset, [this, id = watched->id] { feed(id, health::PolicyChanged{}); });
  }
}

/// Whether any of these takes over sessions. What yields itself counts: it would serve if it were asked. What
/// lacks a buddy does not.
bool Monitor::any_available(const std::set<TargetKey>& targets) const {
  return std::ranges::any_of(targets, [&](const TargetKey& key) {
    const auto found = targets_.find(key);
    return found != targets_.end() && found->second.target.enabled && !found->second.lacks &&
           health::serves(found->second.state.health) && operation(key.real) == forwarding::ENABLED;
  });
}

void Monitor::settle_holds() {
  for (const TargetKey& key : yielding_) {
    Watched& watched = targets_.at(key);
    const health::Health health = health_with_buddies(watched);
    const bool held = health::held_back(watched.held && health != health::Health::unknown, health,
                                        any_available(watched.target.yields_to));
    if (std::exchange(watched.held, held) != held && begun_) on_verdict_(key);
  }
}

void Monitor::traffic_failed(const TargetKey& key) {
  const auto found = targets_.find(key);
  if (begun_ && found != targets_.end() && found->second.last_check_unix_ms != 0)
    feed(found->second.id, health::TrafficFailed{});
}

void Monitor::set_operation(std::uint32_t real, forwarding::Operation operation) {
  Setting& setting = operations_[real];
  if (setting.operation != operation) setting = {operation, clock_.unix_ms()};
  for (auto& [key, watched] : targets_)
    if (key.real == real && operation == forwarding::ENABLED) watched.held = false;
  settle_holds();
}

void Monitor::forget_operations_except(const std::set<std::uint32_t>& reals) {
  std::erase_if(operations_, [&](const auto& entry) { return !reals.contains(entry.first); });
  const auto gone = [&](const auto& entry) { return !reals.contains(std::get<0>(entry.first)); };
  std::erase_if(dormant_, gone);
  std::erase_if(parted_, gone);
}

forwarding::Operation Monitor::operation(std::uint32_t real) const {
  const auto found = operations_.find(real);
  return found == operations_.end() ? forwarding::ENABLED : found->second.operation;
}

std::uint64_t Monitor::disabled_since_unix_ms(std::uint32_t real) const {
  const auto configured = disabled_.find(real);
  const std::uint64_t since = configured == disabled_.end() ? 0 : configured->second;
  if (operation(real) == forwarding::ENABLED) return since;
  const std::uint64_t operated = operations_.at(real).since_unix_ms;
  return since == 0 ? operated : std::min(since, operated);
}

std::uint64_t Monitor::next_check_unix_ms(const Watched& watched) const {
  if (watched.timer == 0 || watched.target.policy.inter.count() == 0) return 0;
  const milliseconds left = std::max(watched.due - timers_.now(), milliseconds(0));
  return clock_.unix_ms() + static_cast<std::uint64_t>(left.count());
}

Watched* Monitor::find(probe::TargetId id) {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &found->second->second;
}

void Monitor::feed(probe::TargetId id, const health::Event& event) {
  const auto found = by_id_.find(id);
  if (found != by_id_.end()) advance(found->second->first, found->second->second, event);
}

void Monitor::advance(const TargetKey& key, Watched& watched, const health::Event& event) {
  const health::State before = watched.state;
  const health::Step step = health::step(watched.target.policy, before, event);
  watched.state = step.state;
  if (step.state.failed > before.failed) notices_.on_failure(key, step.state.failed - before.failed);
  for (const health::Action& action : step.actions) {
    if (std::holds_alternative<health::Rest>(action)) watched.reason = "not checked";
    if (const auto* report = std::get_if<health::Report>(&action)) {
      watched.changes.push_back({clock_.unix_ms(), before.health, report->health, watched.reason});
      if (watched.changes.size() > Watched::kChanges) watched.changes.pop_front();
    }
    perform(key, watched, action);
  }
  treat(key, watched, before);
}

void Monitor::perform(const TargetKey& key, Watched& watched, const health::Action& action) {
  const probe::TargetId id = watched.id;
  if (const auto* send = std::get_if<health::Send>(&action)) {
    watched.put_off = false;
    prober_.start(
        id, {watched.target.check, watched.target.address, key.port, timeout_of(watched.target)},
        [this, id, attempt = send->attempt](const probe::Result& result) { on_result(id, attempt, result); });
  } else if (const auto* wake = std::get_if<health::Wake>(&action)) {
    this->wake(id, watched, wake->after);
  } else if (std::holds_alternative<health::Rest>(action)) {
    timers_.cancel(watched.timer);
    prober_.cancel(id);
  } else {
    watched.since_unix_ms = clock_.unix_ms();
    on_verdict_(key);
    settle_buddies_of(key);
    settle_holds();
  }
}

/// A target that comes late keeps its place in the interval, lest all that were late together stay together;
/// it makes up for it in small steps, each of which takes little from the time that its probe has to answer.
void Monitor::wake(probe::TargetId id, Watched& watched, std::chrono::milliseconds after) {
  constexpr int kSteps = 16;
  timers_.cancel(watched.timer);
  const milliseconds late = std::clamp(timers_.now() - watched.due, milliseconds(0), after / kSteps);
  watched.due = timers_.now() + after - late;
  watched.timer = timers_.after(after - late, [this, id] { on_due(id); });
}

void Monitor::on_due(probe::TargetId id) {
  Watched* watched = find(id);
  if (watched == nullptr) return;
  const milliseconds late = timers_.now() - watched->due;
  if (watched->state.awaiting && late > kStalled)
    return wake(id, *watched, std::min<milliseconds>(late, watched->target.policy.inter));
  if (watched->state.awaiting) {
    watched->reason = probe::no_answer_in(watched->target.policy.inter);
    watched->heard = false;
    watched->demands_failover = false;
    watched->took = watched->target.policy.inter;
    watched->last_check_unix_ms = clock_.unix_ms();
  }
  feed(id, health::Due{});
}

void Monitor::on_result(probe::TargetId id, health::Attempt attempt, const probe::Result& result) {
  Watched* watched = find(id);
  if (watched == nullptr || !watched->state.awaiting || watched->state.attempt != attempt) return;
  watched->reason = result.reason;
  watched->heard = result.heard;
  watched->demands_failover = result.failover;
  watched->took = result.took;
  watched->last_check_unix_ms = clock_.unix_ms();
  if (result.unasked) unmade_ = {unmade_.count + 1, result.reason};
  if (result.passed) watched->response_us = health::averaged_response(watched->response_us, result.took);
  if (result.bears) watched->share = health::share_of(*result.bears, watched->target.weight);
  feed(id, event_of(*watched, attempt, result));
}

/// A probe that passed is graded by its own reading, by its time and by what it has read, whichever is worst.
health::Event Monitor::event_of(Watched& watched, health::Attempt attempt,
                                const probe::Result& result) const {
  if (result.unasked) return health::Unasked{attempt};
  if (!result.passed) return health::Failed{attempt, result.failure, timers_.now()};
  const health::Bands& bands = watched.target.policy.response;
  const auto took = static_cast<health::Measure>(std::max<std::int64_t>(result.took.count(), 0));
  const bool late_by_us = bands.any() && spans_a_stall(result.took);  // its time says nothing: as before
  const health::Reading by_time = late_by_us ? health::Reading{watched.response_grade, health::kBestScore}
                                             : health::read(bands, watched.response_grade, took);
  watched.response_grade = by_time.grade;
  const health::Judgement measured =
      health::judge(watched.target.policy.measures, result.measured, watched.grades);
  watched.reason += measured.words;
  if (!late_by_us) watched.reason += time_words(bands, by_time.grade, took);
  return health::Passed{attempt, health::worse(health::worse(by_time, measured.reading), result.reading)};
}

health::Availability Monitor::availability(const TargetKey& key) const {
  const auto found = targets_.find(key);
  return found == targets_.end() ? health::Availability::closed : availability(key, found->second);
}

health::Availability Monitor::availability(const TargetKey& key, const Watched& watched) const {
  const health::Admission admitted = admission(watched, key);
  if (admitted == health::Admission::open) return health::Availability::open;
  if (admitted == health::Admission::last) return health::Availability::last;
  const bool may =
      watched.target.enabled && !watched.held && !watched.lacks && operation(key.real) == forwarding::ENABLED;
  const bool unproven = may && watched.state.health == health::Health::unknown;
  return unproven ? health::Availability::unknown : health::Availability::closed;
}

health::Admission Monitor::admission(const Watched& watched, const TargetKey& key) const {
  return health::admission(
      {.health = watched.state.health,
       .configured = watched.target.enabled,
       .operating = !watched.held && !watched.lacks && operation(key.real) == forwarding::ENABLED,
       .grace = grace_});
}

}  // namespace headgate::daemon
