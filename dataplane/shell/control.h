// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "dataplane/core/director.h"
#include "dataplane/core/shared.h"
#include "dataplane/shell/crew.h"
#include "dataplane/shell/kernel_mirror.h"
#include "dataplane/shell/neighbourhood.h"
#include "dataplane/shell/options.h"
#include "dataplane/shell/ports.h"
#include "dataplane/shell/server.h"
#include "dataplane/shell/session_file.h"
#include "dataplane/shell/session_jobs.h"
#include "dataplane/shell/store.h"

namespace headgate::shell {

/// The control thread: the only one that touches the director, the ports, the kernel's sockets and the seam.
class Control {
 public:
  /// `sessions` must outlive it.
  Control(const Options& options, const Eal& eal, const SessionFile& sessions);
  ~Control();
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

  /// Starts the workers and goes on with the stored generation, if there is one.
  [[nodiscard]] Status start();
  /// Serves until `stop_fd` becomes readable; then everything is closed.
  [[nodiscard]] Status run(int stop_fd);

 private:
  void take_order(Server::ClientId client, const forwarding::Order& order);
  void answer(const forwarding::Order& order, forwarding::Report& report);
  [[nodiscard]] Status publish(const forwarding::Generation& generation);
  void take_states(const forwarding::States& states);
  void fill(forwarding::Stats& stats);
  void fill(forwarding::HandBack& hand_back) const;
  void clear_stats();

  void restore();
  /// Takes over what the slots of the sessions in memory stand for.
  void recall();
  void store_slots();
  void bring_ports(std::uint64_t now_ns);
  void ports_changed();
  /// Builds what workers read and swaps it in; then the steering programs follow.
  void swap_plan();
  /// Makes the steering tables anew if what they derive from has changed; states are none of it.
  void renew_steering();
  void follow_kernel();
  void follow_workers();
  void follow_links();
  void set_port_words(const OpenPort& port);
  [[nodiscard]] std::uint64_t lost(const OpenPort& port) const;
  void begin_counts(OpenPort& port);
  /// What a port has counted; kept in memory, so that nobody who was told sees it fall.
  const core::Totals::Port& count(const OpenPort& port);
  [[nodiscard]] bool is_up(const OpenPort& port) const;

  void run_timers();
  void every_second();
  void report_failures();
  /// At most a line a second, however many sessions are refused.
  void report_full_table();
  void reclaim_hops();
  void store_states();
  [[nodiscard]] int milliseconds_to_next(std::uint64_t now_ns) const;

  const Options options_;
  const Eal& eal_;
  const SessionFile& sessions_;
  core::Shared shared_;
  std::unique_ptr<core::Persistence> persistence_;
  core::Director director_;
  Store store_;
  KernelMirror mirror_;
  Ports ports_;
  Neighbourhood neighbourhood_;
  Server server_;
  std::unique_ptr<Crew> crew_;
  std::unique_ptr<SessionJobs> jobs_;

  SteeringTables tables_;
  std::shared_ptr<const Steering> steering_;
  bool steering_stale_ = true;   ///< the configuration or the kernel's addresses have changed
  bool programs_stale_ = false;  ///< the tables have, and the XDP programs not yet
  std::uint64_t next_second_ns_ = 0;
  std::uint64_t next_failures_ns_ = 0;
  std::uint64_t store_states_ns_ = 0;  ///< 0: nothing to store
  unsigned seconds_ = 0;
  std::uint64_t refused_told_ = 0;  ///< packets that report_full_table() has told of
};

}  // namespace headgate::shell
