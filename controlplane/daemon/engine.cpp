// SPDX-License-Identifier: Apache-2.0
#include "controlplane/daemon/engine.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "controlplane/config/topology.h"
#include "controlplane/config/validate.h"
#include "model/config_text.h"

namespace headgate::daemon {
namespace {

using std::chrono::milliseconds;
using telemetry::Severity;

constexpr milliseconds kSecond{1000};
constexpr milliseconds kReconcile{5000};
constexpr milliseconds kMeasured{10'000};
/// Changes within so short a time after another are told together.
constexpr milliseconds kGathered{50};
constexpr milliseconds kBreath{1};
/// A dataplane that has not answered for so many seconds does not forward.
constexpr unsigned kSilent = 3;
/// So many targets are told of in one go.
constexpr std::size_t kTold = 256;
/// Longer than any interval: so long without a check that could not be made, they are made again.
constexpr milliseconds kRecovered{61'000};
/// How long a start waits for the dataplane to hand back before it probes on its own.
constexpr milliseconds kPatience{1000};

std::set<std::uint32_t> real_numbers(const config::Config& config) {
  std::set<std::uint32_t> numbers;
  for (const config::Real& real : config.slb().real()) numbers.insert(real.number());
  return numbers;
}

/// A threshold a second, judged over `inter` seconds, which are never 0.
telemetry::AttackWatch::Rule syn_rule(const config::Config& config) {
  const config::SynAttack& settings = config.slb().adv().synatk();
  return {std::chrono::seconds(settings.inter()), std::uint64_t{settings.thrsh()} * settings.inter()};
}

telemetry::AttackWatch::Rule session_rule(const config::Config& config) {
  const config::Advanced& settings = config.slb().adv();
  return {std::chrono::seconds(settings.intrval()), settings.allowlim()};
}

control::Attack attack_of(const telemetry::AttackWatch::Rule& rule, const telemetry::AttackWatch& watch) {
  control::Attack attack;
  attack.set_seconds(static_cast<std::uint32_t>(rule.period.count()));
  attack.set_limit(rule.limit);
  attack.set_rate(watch.last());
  attack.set_active(watch.active());
  attack.set_warnings(watch.warnings());
  return attack;
}

constexpr const char* kDataplane = "dataplane";  ///< as a subject of the log
constexpr const char* kBusy = "Try later: another apply is in progress";

}  // namespace

void Averages::sample(std::uint64_t sessions) {
  samples_.push_back(sessions);
  if (samples_.size() > kMost) samples_.pop_front();
}

std::uint64_t Averages::over(std::size_t seconds) const {
  const std::size_t count = std::min(seconds, samples_.size());
  if (count == 0) return 0;
  return std::accumulate(samples_.end() - static_cast<std::ptrdiff_t>(count), samples_.end(),
                         std::uint64_t{0}) /
         count;
}

Engine::Engine(Seams seams, const std::string& state_dir, const std::string& boot_id,
               std::function<void(const telemetry::Line&)> on_line)
    : seams_(seams),
      log_([this, on_line = std::move(on_line)](const telemetry::Line& line) {
        syslog_.send(line);
        if (on_line) on_line(line);
      }),
      store_(state_dir, boot_id),
      candidates_(state_dir + "/candidates"),
      monitor_(
          seams.prober, seams.timers, seams.clock, [this](const TargetKey& key) { on_verdict(key); },
          notices()),
      alerts_(seams.watcher, seams.timers,
              {.on_alert = [this](const TargetKey& key) { monitor_.traffic_failed(key); },
               .on_lost =
                   [this](std::string sentence) { note(Severity::warning, "slb: " + std::move(sentence)); }}),
      deeds_(monitor_, seams.actions,
             {.note = [this](Severity severity, std::string text,
                             std::string subject) { note(severity, std::move(text), std::move(subject)); },
              .changed = [this] { keeper_.changed_much(); },
              .when_kept = [this](std::function<void()> then) { keeper_.changed_much(std::move(then)); }}),
      keeper_(store_, monitor_, seams.timers) {}

Notices Engine::notices() {
  return {.on_failure = [this](const TargetKey& key, health::Part part) { deeds_.failed(key, part); },
          .on_remedy = [this](const TargetKey& key, health::Remedy remedy) { deeds_.begin(key, remedy); }};
}

void Engine::note(Severity severity, std::string text, std::string subject) {
  log_.add(seams_.clock.unix_ms(), severity, std::move(text), std::move(subject));
}

void Engine::start() {
  config::Store::Loaded loaded = store_.load();
  running_ = std::move(loaded.running);
  saved_ = std::move(loaded.saved);
  syslog_.configure(telemetry::syslog_targets(running().sys().syslog()), running().sys().name());
  for (std::string& sentence : loaded.sentences) note(Severity::error, "system: " + std::move(sentence));
  withheld_ = loaded.lost;
  if (withheld_) {
    note(Severity::alert,
         "system: no stored configuration can be read; nothing is changed until one is applied, and the "
         "dataplane goes on "
         "with what it has");
  }
  candidates_.load(running());
  compiled_ = config::compile(running());
  monitor_.configure(compiled_.targets, running().slb().adv().grace());
  alerts_.configure(compiled_.targets);
  booted_ = !loaded.states;
  if (loaded.states) monitor_.adopt(*loaded.states);
  announcer_.configure(compiled_, Announcer::News::known_already);
  reconcile_kernel();
  reconcile_state_server();
  note(Severity::notice, "system: headgated started");
  seams_.timers.after(kPatience, [this] { begin_probing(); });
  every_second();
  seams_.timers.after(kReconcile, [this] { every_five_seconds(); });
  seams_.timers.after(kMeasured, [this] { tell_measured({}); });
}

void Engine::begin_probing() {
  if (monitor_.begun()) return;
  monitor_.begin();
  alerts_.begin();
}

// ---- The dataplane

void Engine::dataplane_connected(const forwarding::HandBack& hand_back) {
  if (!met_) {
    forwarding::States known = hand_back.states();
    if (booted_) known.clear_operation();  // what an operator has set ends with a reboot (reference 4.5)
    while (announcer_.busy()) tell_some();
    look_anew(Announcer::News::known_already, [&] { monitor_.adopt(known); });
  }
  met_ = true;
  if (hand_back.generation() >= running_.generation) running_.generation = hand_back.generation() + 1;
  note(Severity::notice,
       fmt::format("system: dataplane {} connected, {} workers", hand_back.version(), hand_back.workers()),
       kDataplane);
  publish_running();
  begin_probing();
}

void Engine::dataplane_absent() {
  // There is nobody to hand anything back; a dataplane that comes later is told.
  begin_probing();
}

bool Engine::forwards() const {
  return published_ && seams_.dataplane.connected() && unanswered_ <= kSilent;
}

void Engine::dataplane_lost() {
  unanswered_ = 0;
  published_ = false;
  stats_.Clear();
  tell_links();
  announcer_.learn_sessions(stats_);
  note(Severity::error, "system: dataplane lost; the last configuration is published when it is back",
       kDataplane);
  if (announcer_.busy()) announce();
}

void Engine::dataplane_report(const forwarding::Report& report) {
  if (report.has_traffic_failure())
    monitor_.traffic_failed(config::from_message(report.traffic_failure().target()));
  if (!report.has_port_change()) return;
  const forwarding::PortChange& change = report.port_change();
  note(change.up() ? Severity::notice : Severity::alert,
       fmt::format("system: port {} {}", change.port(), change.up() ? "up" : "down"),
       fmt::format("port {}", change.port()));
  if (!change.up()) return;
  reconcile_kernel();
  seams_.kernel.announce(compiled_.kernel, device_names(), change.port());
}

/// States before the generation, so that no target of it is without one.
void Engine::publish_running() {
  if (applying_ || withheld_) return;  // the apply will publish
  send_states(monitor_.whole());
  forwarding::Order order;
  *order.mutable_publish() = compiled_.generation;
  order.mutable_publish()->set_number(running_.generation);
  seams_.dataplane.send(std::move(order), [this](const forwarding::Report& report) {
    published_ = report.error().empty();
    if (!published_ && seams_.dataplane.connected())
      note(Severity::error, "system: the dataplane refuses the running configuration: " + report.error());
  });
}

void Engine::send_states(forwarding::States states) {
  if (!seams_.dataplane.connected() ||
      (!states.whole() && states.target().empty() && states.operation().empty()))
    return;
  forwarding::Order order;
  *order.mutable_states() = std::move(states);
  seams_.dataplane.send(std::move(order), [](const forwarding::Report&) {});
}

void Engine::on_verdict(const TargetKey& key) {
  send_states(monitor_.state_of(key));
  keeper_.changed();
  announcer_.changed(key);
  announce();
}

/// After a change of what there is; nothing that is half changed is looked at.
void Engine::look_anew(Announcer::News news, const std::function<void()>& change) {
  const bool announcing = std::exchange(announcing_, true);
  change();
  announcer_.configure(compiled_, news);
  announcing_ = announcing;
}

void Engine::tell_some() {
  for (Announcement& line : announcer_.look())
    note(line.severity, std::move(line.text), std::move(line.subject));
}

/// A change is told at once, what follows closely is told together. Where much has changed, verdicts have
/// their turn in between.
void Engine::announce() {
  if (announcing_) return;
  tell_some();
  announcing_ = true;
  seams_.timers.after(announcer_.busy() ? kBreath : kGathered, [this] {
    announcing_ = false;
    if (announcer_.busy()) announce();
  });
}

kernel::DeviceNames Engine::device_names() const {
  kernel::DeviceNames names;
  for (const forwarding::PortStats& port : stats_.port())
    if (!port.kernel_interface().empty()) names[port.port()] = port.kernel_interface();
  return names;
}

void Engine::reconcile_kernel() {
  if (withheld_) return;  // what is there belongs to the configuration that was lost
  std::vector<std::string> complaints = seams_.kernel.apply(compiled_.kernel, device_names());
  for (const std::string& sentence : complaints)
    if (std::ranges::count(kernel_complaints_, sentence) == 0) note(Severity::error, "ip: " + sentence);
  kernel_complaints_ = std::move(complaints);
}

/// An address that is not there yet may come: it is tried again.
void Engine::reconcile_state_server() {
  const config::StateServer& wanted = running().sys().state();
  std::optional<Endpoint> at;
  if (wanted.enabled()) at = {config::address_of(wanted.addr()), static_cast<L4Port>(wanted.port())};
  const Status listening = seams_.state_server.listen(at);
  std::string complaint = listening.ok() ? "" : listening.error().message;
  if (!complaint.empty() && complaint != state_server_complaint_)
    note(Severity::error, "mgmt: state over HTTP: " + complaint);
  state_server_complaint_ = std::move(complaint);
}

void Engine::every_second() {
  seams_.timers.after(kSecond, [this] { every_second(); });
  keeper_.beat();
  watch_unmade();
  if (!seams_.dataplane.connected()) return averages_.sample(0);
  if (unanswered_ == kSilent)
    note(Severity::alert, fmt::format("system: dataplane has not answered for {} seconds", kSilent),
         kDataplane);
  if (unanswered_++ != 0) return;
  forwarding::Order order;
  order.mutable_stats();
  seams_.dataplane.send(std::move(order), [this](const forwarding::Report& report) {
    const bool again = std::exchange(unanswered_, 0) > kSilent;
    if (!report.has_stats()) return;
    if (again) note(Severity::notice, "system: dataplane answers again", kDataplane);
    take_stats(report.stats());
  });
}

void Engine::take_stats(const forwarding::Stats& stats) {
  const bool first = stats_.port().empty() && !stats.port().empty();
  stats_ = stats;
  averages_.sample(stats_.current_sessions());
  tell_links();
  if (first) reconcile_kernel();  // names of interfaces are known only now
  announcer_.learn_sessions(stats_);
  if (announcer_.busy()) announce();
  watch_attacks();
}

void Engine::tell_links() {
  std::map<std::uint32_t, bool> up;
  for (const forwarding::PortStats& port : stats_.port()) up[port.port()] = port.up();
  seams_.prober.learn_links(up);
}

/// A handshake that goes on is none of those that an attack leaves behind.
void Engine::watch_attacks() {
  using Change = telemetry::AttackWatch::Change;
  const milliseconds now = seams_.timers.now();
  const auto half_open = static_cast<std::int64_t>(stats_.opened_tcp_sessions()) -
                         static_cast<std::int64_t>(stats_.answered_tcp_sessions());
  const Change syn = syn_watch_.sample(syn_rule(running()), now, half_open);
  if (syn == Change::begins)
    note(Severity::alert, fmt::format("slb: SYN attack: {} new half-open sessions a second, threshold {}",
                                      syn_attack().rate(), syn_attack().limit()));
  if (syn == Change::ends) note(Severity::notice, "slb: SYN attack has ended");
  const Change session = session_watch_.sample(session_rule(running()), now,
                                               static_cast<std::int64_t>(stats_.opened_sessions()));
  if (session == Change::begins)
    note(Severity::alert,
         fmt::format("slb: session attack: {} new sessions in {} seconds, allowed {}",
                     session_attack().rate(), session_attack().seconds(), session_attack().limit()));
  if (session == Change::ends) note(Severity::notice, "slb: session attack has ended");
}

/// Verdicts stand meanwhile, and nobody else says why nothing changes.
void Engine::watch_unmade() {
  constexpr const char* kChecks = "health checks";
  const Monitor::Unmade& unmade = monitor_.unmade();
  const milliseconds now = seams_.timers.now();
  if (std::exchange(unmade_, unmade.count) != unmade.count) {
    if (!unmade_until_) note(Severity::alert, "slb: health checks can't be made: " + unmade.reason, kChecks);
    unmade_until_ = now + kRecovered;
  } else if (unmade_until_ && now >= *unmade_until_) {
    unmade_until_.reset();
    note(Severity::notice, "slb: health checks are made again", kChecks);
  }
}

control::Attack Engine::syn_attack() const {
  const telemetry::AttackWatch::Rule rule = syn_rule(running());
  const auto seconds = static_cast<std::uint64_t>(rule.period.count());
  control::Attack attack = attack_of(rule, syn_watch_);
  attack.set_limit(rule.limit / seconds);
  attack.set_rate(syn_watch_.last() / seconds);
  return attack;
}

control::Attack Engine::session_attack() const {
  return attack_of(session_rule(running()), session_watch_);
}

/// Every ten seconds, the finest that metric response is made anew: scores and response times.
void Engine::tell_measured(const TargetKey& from) {
  Monitor::Some news = monitor_.measured_news(from, kTold);
  send_states(std::move(news.states));
  seams_.timers.after(news.next ? kBreath : kMeasured,
                      [this, next = news.next.value_or(TargetKey{})] { tell_measured(next); });
}

void Engine::every_five_seconds() {
  seams_.timers.after(kReconcile, [this] { every_five_seconds(); });
  if (applying_) return;
  reconcile_kernel();
  reconcile_state_server();
  if (seams_.dataplane.connected() && !published_) publish_running();
}

// ---- The transaction: everything that can fail comes before commit()

void Engine::apply(config::Config next, bool confirmed, Done done) {
  text::normalise(next);
  if (applying_) return refuse(kBusy, done);
  Outcome outcome;
  for (const config::Problem& problem : config::validate(next)) outcome.errors.push_back(problem.line());
  if (!outcome.errors.empty()) return done(outcome);
  config::Plan plan = config::plan(running(), next);
  if (plan.diff.empty()) {
    outcome.applied.set_nothing_to_do(true);
    outcome.applied.set_generation(running_.generation);
    return done(outcome);
  }
  applying_ = true;
  if (confirmed || plan.ended.empty() || !seams_.dataplane.connected())
    return publish(std::move(next), std::move(done));
  confirm(std::move(next), std::move(plan), std::move(done));
}

/// Asks when sessions would end; goes on when none would.
void Engine::confirm(config::Config next, config::Plan plan, Done done) {
  forwarding::Order order;
  order.mutable_stats();
  seams_.dataplane.send(std::move(order), [this, next = std::move(next), plan = std::move(plan),
                                           done = std::move(done)](const forwarding::Report& report) {
    const std::uint64_t sessions = config::sessions_ended(plan, report.stats());
    if (sessions == 0) return publish(next, done);
    applying_ = false;
    Outcome outcome;
    outcome.applied.set_needs_confirmation(true);
    outcome.applied.set_sessions_ended(sessions);
    done(outcome);
  });
}

void Engine::publish(config::Config next, Done done) {
  config::Compiled compiled = config::compile(next);
  const std::uint64_t number = running_.generation + 1;
  if (Status staged = store_.stage_running({next, number}); !staged.ok()) {
    applying_ = false;
    return refuse("the configuration can't be stored: " + staged.error().message, done);
  }
  seams_.kernel.prepare(compiled.kernel, device_names());
  if (!seams_.dataplane.connected()) return commit(std::move(next), std::move(compiled), number, true, done);
  send_states(monitor_.preview(compiled.targets, next.slb().adv().grace()));
  forwarding::Order order;
  *order.mutable_publish() = compiled.generation;
  order.mutable_publish()->set_number(number);
  seams_.dataplane.send(std::move(order), [=, this, next = std::move(next),
                                           compiled = std::move(compiled)](const forwarding::Report& report) {
    if (report.error().empty() || !seams_.dataplane.connected())
      return commit(next, compiled, number, !report.error().empty(), done);
    applying_ = false;
    reconcile_kernel();  // the guard back to what runs
    refuse(fmt::format("the dataplane refuses the configuration: {}", report.error()), done);
  });
}

void Engine::refuse(const std::string& error, const Done& done) {
  done({{error}, {}});
}

void Engine::commit(config::Config next, config::Compiled compiled, std::uint64_t number,
                    bool dataplane_absent, const Done& done) {
  applying_ = false;
  withheld_ = false;
  published_ = !dataplane_absent;
  running_ = {std::move(next), number};
  compiled_ = std::move(compiled);
  if (Status kept = store_.adopt_running(); !kept.ok())
    note(Severity::error, "mgmt: " + kept.error().message);
  look_anew(Announcer::News::told,
            [this] { monitor_.configure(compiled_.targets, running().slb().adv().grace()); });
  alerts_.configure(compiled_.targets);
  monitor_.forget_operations_except(real_numbers(running()));
  send_states(monitor_.whole());
  keeper_.changed();
  reconcile_kernel();
  reconcile_state_server();
  syslog_.configure(telemetry::syslog_targets(running().sys().syslog()), running().sys().name());
  candidates_.rebase(running());
  note(Severity::info, fmt::format("mgmt: configuration applied, generation {}", number));
  announce();
  if (dataplane_absent && seams_.dataplane.connected()) publish_running();  // it came back meanwhile
  Outcome outcome;
  outcome.applied.set_generation(number);
  outcome.applied.set_dataplane_absent(dataplane_absent);
  done(outcome);
}

Status Engine::save(config::Store::Rotation rotation) {
  Status done = store_.save(running(), rotation);
  if (!done.ok()) return done;
  saved_ = running();
  note(Severity::info, "mgmt: configuration saved");
  return done;
}

Result<std::string> Engine::set_operation(std::uint32_t real, forwarding::Operation operation) {
  const config::Real* found = config::find_real(running(), real);
  if (found == nullptr) return Error{fmt::format("real server {} does not exist", real)};
  monitor_.set_operation(real, operation);
  send_states(monitor_.states_of_real(real));
  const Status kept = keeper_.keep();  // at once: no probe would find it out
  constexpr const char* kWords[] = {"enabled", "disabled, sessions drain",
                                    "disabled, persistent sessions are still admitted"};
  note(Severity::notice,
       fmt::format("slb: real server {}, IP {} operationally {}", real, found->rip(), kWords[operation]),
       fmt::format("operation of {}", real));
  announcer_.changed(real);
  announce();
  if (kept.ok()) return std::string();
  std::string warning = fmt::format(
      "the setting of real server {} holds, but can't be stored: {}; it is lost when headgated and "
      "the dataplane both stop",
      real, kept.error().message);
  note(Severity::error, "mgmt: " + warning);
  return warning;
}

}  // namespace headgate::daemon
