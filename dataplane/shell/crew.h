// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "dataplane/shell/eal.h"
#include "dataplane/shell/options.h"
#include "dataplane/shell/session_file.h"
#include "dataplane/shell/worker.h"

namespace headgate::shell {

/// The file that the sessions of such a crew lie in: part 0 is what they share, then one part for each
/// worker.
[[nodiscard]] Result<SessionFile> take_session_file(const Options& options);

/// The workers, their threads, and what they share.
class Crew {
 public:
  /// Starts the threads, on an empty plan, with the sessions that are in the file.
  [[nodiscard]] static Result<std::unique_ptr<Crew>> start(const Options& options, const Eal& eal,
                                                           const SessionFile& sessions, core::Shared& shared);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  /// Ends the threads; counters stay readable. Packets under way are freed.
  void stop();
  /// Returns after no worker uses the plan before.
  void publish(std::unique_ptr<const Plan> plan) { plans_.publish(std::move(plan)); }

  [[nodiscard]] Worker& worker(unsigned number) noexcept { return *workers_[number]; }
  [[nodiscard]] unsigned size() const noexcept { return static_cast<unsigned>(workers_.size()); }
  [[nodiscard]] std::vector<const core::Switch*> switches() const;
  [[nodiscard]] Doorbell& doorbell() noexcept { return doorbell_; }
  /// Packets that were to leave by a port and did not, over all workers.
  [[nodiscard]] std::uint64_t lost(core::PortIndex port, std::uint16_t device) const;

 private:
  explicit Crew(unsigned workers) : plans_(workers, std::make_unique<const Plan>()), handover_(workers) {}

  Published<Plan> plans_;
  Handover handover_;
  Doorbell doorbell_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::thread> threads_;
};

}  // namespace headgate::shell
