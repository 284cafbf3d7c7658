// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>

#include "controlplane/action/actions.h"
#include "controlplane/config/candidate.h"
#include "controlplane/config/plan.h"
#include "controlplane/config/store.h"
#include "controlplane/daemon/alert_watches.h"
#include "controlplane/daemon/announcer.h"
#include "controlplane/daemon/deeds.h"
#include "controlplane/daemon/monitor.h"
#include "controlplane/daemon/states_keeper.h"
#include "controlplane/dataplane_link/dataplane.h"
#include "controlplane/kernel/kernel.h"
#include "controlplane/telemetry/attack_watch.h"
#include "controlplane/telemetry/syslog.h"
#include "model/control.pb.h"

// Owns all state of headgated. One thread calls it; it never blocks, and what it waits for comes back as a
// call.
namespace headgate::daemon {

struct Seams {
  kernel::Kernel& kernel;
  link::Dataplane& dataplane;
  probe::Prober& prober;
  Timers& timers;
  const Clock& clock;
  StateServer& state_server;
  probe::Watcher& watcher;
  action::Actions& actions;
};

/// Averages of the number of sessions, from one sample a second; over what there is until there are enough.
class Averages {
 public:
  void sample(std::uint64_t sessions);
  [[nodiscard]] std::uint64_t over(std::size_t seconds) const;

 private:
  static constexpr std::size_t kMost = 64;
  std::deque<std::uint64_t> samples_;
};

class Engine {
 public:
  Engine(Seams seams, const std::string& state_dir, const std::string& boot_id,
         std::function<void(const telemetry::Line&)> on_line);

  /// Loads what is stored, brings the kernel to it, and begins.
  void start();

  // ---- What the dataplane's connection tells
  void dataplane_connected(const forwarding::HandBack& hand_back);
  void dataplane_absent();
  void dataplane_lost();
  void dataplane_report(const forwarding::Report& report);

  // ---- What administrators do

  struct Outcome {
    std::vector<std::string> errors;  ///< empty: done
    control::Applied applied;
  };
  using Done = std::function<void(const Outcome&)>;
  /// Makes `next` the running configuration, whole or not at all.
  void apply(config::Config next, bool confirmed, Done done);
  [[nodiscard]] Status save(config::Store::Rotation rotation);
  /// An error: nothing has changed. Else a sentence when the setting holds but could not be stored, so that
  /// it is lost when both programs stop; empty when all is well.
  [[nodiscard]] Result<std::string> set_operation(std::uint32_t real, forwarding::Operation operation);

  [[nodiscard]] const config::Config& running() const { return running_.config; }
  [[nodiscard]] const config::Config& saved() const { return saved_; }
  [[nodiscard]] std::uint64_t generation() const { return running_.generation; }
  [[nodiscard]] config::CandidateBook& candidates() { return candidates_; }
  [[nodiscard]] const Monitor& monitor() const { return monitor_; }
  [[nodiscard]] const telemetry::EventLog& log() const { return log_; }
  [[nodiscard]] const Averages& averages() const { return averages_; }
  [[nodiscard]] const Announcer& announcer() const { return announcer_; }
  /// The dataplane forwards by the running configuration.
  [[nodiscard]] bool forwards() const;
  /// What the watches for attacks see, with the rules of the running configuration.
  [[nodiscard]] control::Attack syn_attack() const;
  [[nodiscard]] control::Attack session_attack() const;
  [[nodiscard]] const forwarding::Stats& last_stats() const { return stats_; }
  [[nodiscard]] link::Dataplane& dataplane() { return seams_.dataplane; }
  [[nodiscard]] kernel::Kernel& kernel() { return seams_.kernel; }
  [[nodiscard]] std::uint64_t unix_ms() const { return seams_.clock.unix_ms(); }
  [[nodiscard]] kernel::DeviceNames device_names() const;

 private:
  /// With a subject, the text tells what that is now.
  void note(telemetry::Severity severity, std::string text, std::string subject = {});
  void confirm(config::Config next, config::Plan plan, Done done);
  void publish(config::Config next, Done done);
  void commit(config::Config next, config::Compiled compiled, std::uint64_t number, bool dataplane_absent,
              const Done& done);
  void refuse(const std::string& error, const Done& done);
  void publish_running();
  void send_states(forwarding::States states);
  void on_verdict(const TargetKey& key);
  [[nodiscard]] Notices notices();
  void announce();
  void tell_some();
  void look_anew(Announcer::News news, const std::function<void()>& change);
  void reconcile_kernel();
  void reconcile_state_server();
  void every_second();
  void every_five_seconds();
  void begin_probing();
  void tell_links();
  void take_stats(const forwarding::Stats& stats);
  void tell_measured(const TargetKey& from);
  void watch_attacks();
  void watch_unmade();

  Seams seams_;
  telemetry::EventLog log_;
  telemetry::SyslogSender syslog_;
  config::Store store_;
  config::CandidateBook candidates_;
  Monitor monitor_;
  AlertWatches alerts_;
  Deeds deeds_;
  config::Running running_;
  config::Config saved_;
  config::Compiled compiled_;
  Announcer announcer_{monitor_};
  StatesKeeper keeper_;
  Averages averages_;
  forwarding::Stats stats_;
  telemetry::AttackWatch syn_watch_;
  telemetry::AttackWatch session_watch_;
  std::vector<std::string> kernel_complaints_;
  std::string state_server_complaint_;                     ///< why it does not listen
  std::uint64_t unmade_ = 0;                               ///< probes that could not be made, a second ago
  std::optional<std::chrono::milliseconds> unmade_until_;  ///< then they are made again, if all goes well
  unsigned unanswered_ = 0;                                ///< seconds that the dataplane has not answered
  bool announcing_ = false;                                ///< what is to be told waits for its turn
  bool booted_ = false;                                    ///< this is the first start since the machine's
  bool withheld_ =
      false;  ///< the configuration was lost: neither dataplane nor kernel is touched before an apply
  bool applying_ = false;
  bool published_ = false;  ///< the dataplane has the running generation
  bool met_ = false;        ///< a dataplane has handed back since the start
};

}  // namespace headgate::daemon
