// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "dataplane/core/director.h"
#include "dataplane/shell/crew.h"
#include "dataplane/shell/server.h"
#include "dataplane/shell/session_task.h"

namespace headgate::shell {

/// Dumps and clears of sessions under way: worker by worker, piece by piece, so that neither the packets nor
/// the control thread wait. Jobs take turns; one whose client is slow to read is passed over meanwhile. Only
/// so many may be under way: an order beyond is answered with an error.
class SessionJobs {
 public:
  SessionJobs(Crew& crew, const core::Director& director, core::Persistence& bound, Server& server)
      : crew_(crew), director_(director), bound_(bound), server_(server) {}

  void dump(Server::ClientId client, std::uint64_t order, const forwarding::SessionsRequest& request);
  void clear(Server::ClientId client, std::uint64_t order, const forwarding::DropSessions& request);
  /// Takes finished pieces over and posts next ones; call when the doorbell rang or a client has read.
  void advance();
  [[nodiscard]] bool busy() const noexcept { return !jobs_.empty(); }

 private:
  struct Job {
    Server::ClientId client = 0;
    std::uint64_t order = 0;
    std::uint32_t left = 0;  ///< sessions that may still be listed
    unsigned worker = 0;
    SessionTask task;
    core::BoundFilter bound;  ///< which clients that persistence binds are meant as well
    std::size_t bound_cleared = 0;
  };
  static constexpr std::uint32_t kDefaultLimit = 100'000;
  static constexpr std::size_t kMostJobs = 64;
  static constexpr std::size_t kPieceOfBound = 64;  ///< buckets of the table of bound clients in one message
  static constexpr std::size_t kPendingHigh = std::size_t{1} << 20;

  void add(SessionTask::Kind kind, Server::ClientId client, std::uint64_t order,
           const forwarding::SessionFilter& filter, std::uint32_t limit);
  void refuse(Server::ClientId client, std::uint64_t order, const std::string& why);
  void settle(std::unique_ptr<Job> job);
  void report_views(Job& job);
  void report_bound(Job& job);
  void clear_bound(Job& job);
  void finish(const Job& job);
  void post_next();

  Crew& crew_;
  const core::Director& director_;
  core::Persistence& bound_;
  Server& server_;
  std::deque<std::unique_ptr<Job>> jobs_;
  std::unique_ptr<Job> posted_;  ///< a worker has it
};

}  // namespace headgate::shell
