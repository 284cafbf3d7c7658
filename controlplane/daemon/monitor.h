// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

#include "controlplane/config/compile.h"
#include "controlplane/daemon/seams.h"
#include "controlplane/health/admission.h"
#include "controlplane/health/remedy.h"
#include "controlplane/health/share.h"
#include "controlplane/health/standby.h"
#include "controlplane/probe/prober.h"

// Lets health/ decide and probe/ perform: the states of all targets, and the probes that prove them.
namespace headgate::daemon {

using config::TargetKey;

/// One change of a target's health.
struct Change {
  std::uint64_t unix_ms = 0;
  health::Health from = health::Health::unknown;
  health::Health to = health::Health::unknown;
  std::string reason;  ///< of the result that brought it
  bool operator==(const Change&) const = default;
};

/// What was done about a target that failed.
struct Deed {
  std::uint64_t unix_ms = 0;
  health::Remedy remedy = health::Remedy::restart;
  std::string outcome;  ///< "done in 1.2 s", "under way"
  bool operator==(const Deed&) const = default;
};

/// What is known about one target.
struct Watched {
  static constexpr std::size_t kChanges = 20;
  static constexpr std::size_t kDeeds = 20;

  config::Target target;
  health::State state;
  std::uint64_t since_unix_ms = 0;                          ///< of the verdict
  std::uint64_t last_check_unix_ms = 0;                     ///< 0: this headgated has no result yet
  std::string reason;                                       ///< of the last result
  std::chrono::microseconds took{0};                        ///< by the last check
  std::deque<Change> changes;                               ///< the latest kChanges, oldest first
  health::Grade response_grade = health::Grade::available;  ///< by the bands of its policy
  health::Grades grades;                                    ///< by the bounds of what its check reads
  health::Score score_told = 0;                             ///< as the dataplane knows it
  health::Share share = 0;                                  ///< of its weight, as the server has last said
  health::Share share_told = 0;                             ///< as the dataplane knows it
  bool demands_failover = false;                            ///< the last result does
  health::RemedyState remedy;
  std::deque<Deed> deeds;              ///< the latest kDeeds, oldest first
  std::uint32_t response_us = 0;       ///< moving average of what passed checks took; 0: not known
  std::uint32_t response_told_us = 0;  ///< as the dataplane knows it
  std::optional<TargetKey> lacks;      ///< a buddy that is not up, so that it takes no new session
  bool held = false;                   ///< it was down, and yields to its backup as long as that is up
  bool heard = false;                  ///< the last probe got a sign of life
  probe::TargetId id = 0;
  TimerId timer = 0;
  std::chrono::milliseconds due{0};  ///< when `timer` should run
  bool put_off = false;              ///< by a change of its policy, and not checked since
};

using Targets = std::map<TargetKey, Watched>;

/// "real server 2 port 8080": as screens and the log name a buddy.
[[nodiscard]] std::string buddy_text(const TargetKey& buddy);
[[nodiscard]] forwarding::Verdict verdict_of(health::Health health);
[[nodiscard]] forwarding::Change to_message(const Change& change);
[[nodiscard]] forwarding::Deed to_message(const Deed& deed);

/// Who hears, beside of verdicts, of each check that fails and what it counts, and of what is to be done
/// then.
struct Notices {
  std::function<void(const TargetKey&, health::Part)> on_failure = [](const TargetKey&, health::Part) {};
  std::function<void(const TargetKey&, health::Remedy)> on_remedy = [](const TargetKey&, health::Remedy) {};
};

class Monitor {
 public:
  /// `on_verdict` hears of each target whose verdict has changed, at once.
  Monitor(probe::Prober& prober, Timers& timers, const Clock& clock,
          std::function<void(const TargetKey&)> on_verdict, Notices notices = {});

  /// The targets of the running configuration. One that stays keeps its state; one that takes the place of
  /// another check of the same service keeps serving until its own verdict, as that service did.
  void configure(const std::map<TargetKey, config::Target>& targets, bool grace);
  /// Probing begins; before that, targets wait for what the dataplane hands back.
  void begin();
  [[nodiscard]] bool begun() const { return begun_; }

  /// Takes over what an earlier headgated knew, for targets about which this one has no result yet.
  void adopt(const forwarding::States& states);
  /// The dataplane saw a connection fail, or the server has told of an alert: it is asked at once, unless it
  /// is being asked or was asked early already since the last regular probe.
  void traffic_failed(const TargetKey& key);
  /// What is to be done about a target is begun, has ended, or will not be begun any more; harmless for one
  /// that is gone.
  void deed_begins(probe::TargetId id);
  void deed_ended(probe::TargetId id, std::string outcome);
  void deed_withdrawn(probe::TargetId id, health::Remedy remedy);
  /// Whether what was to be done about a target, `what` as it was configured, still is: the target is there,
  /// offered and down, and that is still configured.
  [[nodiscard]] bool still_wanted(probe::TargetId id, health::Remedy remedy, const std::string& what) const;
  /// Enabling a server also ends its yielding to its backup. `on_verdict` hears of other servers' targets
  /// whose yielding begins or ends with that.
  void set_operation(std::uint32_t real, forwarding::Operation operation);
  /// Forgets what an operator has set for servers that are not configured any more.
  void forget_operations_except(const std::set<std::uint32_t>& reals);
  [[nodiscard]] forwarding::Operation operation(std::uint32_t real) const;
  /// Since when a server is disabled, by an operator or by configuration; 0: it is not.
  [[nodiscard]] std::uint64_t disabled_since_unix_ms(std::uint32_t real) const;

  [[nodiscard]] const Targets& targets() const { return targets_; }
  /// Probes that this machine could not make, for want of files or ports, since the start; and why the last.
  struct Unmade {
    std::uint64_t count = 0;
    std::string reason;
  };
  [[nodiscard]] const Unmade& unmade() const { return unmade_; }
  /// Unknown when there is no such target.
  [[nodiscard]] health::Health health_by(const TargetKey& key) const;
  /// Whether new sessions are taken by what a target decides about; closed when there is no such target.
  [[nodiscard]] health::Availability availability(const TargetKey& key) const;
  [[nodiscard]] health::Availability availability(const TargetKey& key, const Watched& watched) const;
  [[nodiscard]] health::Admission admission(const Watched& watched, const TargetKey& key) const;
  /// 0: it is not checked.
  [[nodiscard]] std::uint64_t next_check_unix_ms(const Watched& watched) const;
  /// Hundredths of a complete failure that count at present.
  [[nodiscard]] health::Part failed(const Watched& watched) const;

  /// Everything, for a dataplane that knows nothing.
  [[nodiscard]] forwarding::States whole() const;
  /// What operators have set.
  [[nodiscard]] forwarding::States operations() const;
  /// Targets of which many are told bit by bit: states, and with which target it goes on.
  struct Some {
    forwarding::States states;
    std::optional<TargetKey> next = {};
  };
  /// Of `count` targets, the first of them `from` or the one behind: their states with their history.
  [[nodiscard]] Some remembered(const TargetKey& from, std::size_t count) const;
  /// Of as many targets: those whose score or share has changed since it was told, or whose response time has
  /// by an eighth.
  [[nodiscard]] Some measured_news(const TargetKey& from, std::size_t count);
  /// The state of one target.
  [[nodiscard]] forwarding::States state_of(const TargetKey& key) const;
  /// All targets of a real server, with its operator setting.
  [[nodiscard]] forwarding::States states_of_real(std::uint32_t real) const;
  /// What configure() would make of targets that are new in `targets`: to be sent before the generation that
  /// uses them.
  [[nodiscard]] forwarding::States preview(const std::map<TargetKey, config::Target>& targets,
                                           bool grace) const;

 private:
  [[nodiscard]] Watched fresh(const TargetKey& key, const config::Target& target,
                              const std::map<TargetKey, config::Target>& next) const;
  void forget(Watched& watched);
  void settle_holds();
  void settle_buddies(const TargetKey& key, Watched& watched);
  void settle_buddies();
  void settle_buddies_of(const TargetKey& buddy);
  [[nodiscard]] std::optional<TargetKey> lacked_buddy(const Watched& watched) const;
  [[nodiscard]] health::Health health_with_buddies(const Watched& watched) const;
  [[nodiscard]] bool any_available(const std::set<TargetKey>& targets) const;
  [[nodiscard]] bool update(const TargetKey& key, Watched& watched, const config::Target& target);
  void beat();
  [[nodiscard]] bool spans_a_stall(std::chrono::microseconds took) const;
  void schedule_new();
  void schedule(const std::vector<Watched*>& targets);
  void note_disabled();
  void feed(probe::TargetId id, const health::Event& event);
  void advance(const TargetKey& key, Watched& watched, const health::Event& event);
  void treat(const TargetKey& key, Watched& watched, const health::State& before);
  struct Parted;
  /// What is done about a target: its history and what counts.
  struct Treatment {
    std::deque<Deed>& deeds;
    health::RemedyState& remedy;
  };
  [[nodiscard]] std::optional<Treatment> treatment_of(probe::TargetId id);
  static void inherit_deeds(const Parted& old, Watched& heir);
  void adopt_deeds(const forwarding::TargetState& known, Watched& watched) const;
  void perform(const TargetKey& key, Watched& watched, const health::Action& action);
  void wake(probe::TargetId id, Watched& watched, std::chrono::milliseconds after);
  void on_due(probe::TargetId id);
  void on_result(probe::TargetId id, health::Attempt attempt, const probe::Result& result);
  [[nodiscard]] health::Event event_of(Watched& watched, health::Attempt attempt,
                                       const probe::Result& result) const;
  [[nodiscard]] Watched* find(probe::TargetId id);
  void adopt(const forwarding::RealOperation& known);
  void adopt(const forwarding::TargetState& known);
  void put_operation(std::uint32_t real, forwarding::States& states) const;
  void put(const TargetKey& key, const Watched& watched, forwarding::States& states) const;

  /// The last word about a service that served when its last service or group went away, so that it does not
  /// refuse clients when that comes back (`/cfg/slb/off`, then `on`).
  struct Dormant {
    std::string check;
    Ip address;
    health::Health health;
  };
  /// What was done about a service that went away, for when it comes back: nothing is done twice then.
  struct Parted {
    probe::TargetId id = 0;
    std::deque<Deed> deeds;
    health::RemedyState remedy;
  };
  struct Setting {
    forwarding::Operation operation = forwarding::ENABLED;
    std::uint64_t since_unix_ms = 0;
  };

  probe::Prober& prober_;
  Timers& timers_;
  const Clock& clock_;
  std::function<void(const TargetKey&)> on_verdict_;
  Notices notices_;
  Targets targets_;
  std::unordered_map<probe::TargetId, Targets::iterator> by_id_;
  std::vector<TargetKey> yielding_;                        ///< those with a target to yield to
  std::map<TargetKey, std::vector<TargetKey>> depending_;  ///< by buddy: those whose buddy it is
  std::map<std::uint32_t, Setting> operations_;
  std::map<std::uint32_t, std::uint64_t> disabled_;  ///< servers by configuration: since when
  std::map<std::tuple<std::uint32_t, L4Port, Protocol>, Dormant> dormant_;
  std::map<std::tuple<std::uint32_t, Ip, L4Port, Protocol>, Parted> parted_;
  probe::TargetId last_id_ = 0;
  Unmade unmade_;
  std::chrono::milliseconds alive_{0};                ///< when this process was last seen to run
  std::optional<std::chrono::milliseconds> stalled_;  ///< until when it last stood still
  bool grace_ = false;
  bool begun_ = false;
};

}  // namespace headgate::daemon
