// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <unordered_map>

#include "controlplane/config/compile.h"
#include "controlplane/daemon/seams.h"
#include "controlplane/health/admission.h"
#include "controlplane/probe/prober.h"

// Lets health/ decide and probe/ perform: the states of all targets, and the probes that prove them.
namespace headgate::daemon {

using config::TargetKey;

/// What is known about one target.
struct Watched {
  config::Target target;
  health::State state;
  std::uint64_t since_unix_ms = 0;       ///< of the verdict
  std::uint64_t last_check_unix_ms = 0;  ///< 0: this headgated has no result yet
  std::string reason;                    ///< of the last result
  std::chrono::milliseconds took{0};
  bool heard = false;  ///< the last probe got a sign of life
  probe::TargetId id = 0;
  TimerId timer = 0;
  std::chrono::milliseconds due{0};  ///< when `timer` should run
};

using Targets = std::map<TargetKey, Watched>;

class Monitor {
 public:
  /// `on_verdict` hears of each target whose verdict has changed, at once.
  Monitor(probe::Prober& prober, Timers& timers, const Clock& clock,
          std::function<void(const TargetKey&)> on_verdict);

  /// The targets of the running configuration. One that stays keeps its state; one that takes the place of
  /// another check of the same service keeps serving until its own verdict, if that service was up.
  void configure(const std::map<TargetKey, config::Target>& targets, bool grace);
  /// Probing begins; before that, targets wait for what the dataplane hands back.
  void begin();
  [[nodiscard]] bool begun() const { return begun_; }

  /// Takes over what an earlier headgated knew, for targets about which this one has no result yet.
  void adopt(const forwarding::States& states);
  void traffic_failed(const TargetKey& key);
  void set_operation(std::uint32_t real, forwarding::Operation operation);
  /// Forgets what an operator has set for servers that are not configured any more.
  void forget_operations_except(const std::set<std::uint32_t>& reals);
  [[nodiscard]] forwarding::Operation operation(std::uint32_t real) const;

  [[nodiscard]] const Targets& targets() const { return targets_; }
  [[nodiscard]] health::Admission admission(const Watched& watched, const TargetKey& key) const;

  /// Everything, for a dataplane that knows nothing.
  [[nodiscard]] forwarding::States whole() const;
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
  void update(const TargetKey& key, Watched& watched, const config::Target& target);
  void schedule_new();
  void feed(probe::TargetId id, const health::Event& event);
  void perform(const TargetKey& key, Watched& watched, const health::Action& action);
  void wake(probe::TargetId id, Watched& watched, std::chrono::milliseconds after);
  void on_due(probe::TargetId id);
  void on_result(probe::TargetId id, health::Attempt attempt, const probe::Result& result);
  [[nodiscard]] Watched* find(probe::TargetId id);
  void put(const TargetKey& key, const Watched& watched, forwarding::States& states) const;

  probe::Prober& prober_;
  Timers& timers_;
  const Clock& clock_;
  std::function<void(const TargetKey&)> on_verdict_;
  Targets targets_;
  std::unordered_map<probe::TargetId, TargetKey> keys_;
  std::map<std::uint32_t, forwarding::Operation> operations_;
  probe::TargetId last_id_ = 0;
  bool grace_ = false;
  bool begun_ = false;
};

}  // namespace headgate::daemon
