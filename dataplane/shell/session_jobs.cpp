// SPDX-License-Identifier: Apache-2.0
#include "dataplane/shell/session_jobs.h"

#include <algorithm>

#include "dataplane/shell/clock.h"

namespace headgate::shell {

void SessionJobs::dump(Server::ClientId client, std::uint64_t order,
                       const forwarding::SessionsRequest& request) {
  const std::uint32_t limit = request.limit() == 0 ? kDefaultLimit : request.limit();
  add(SessionTask::Kind::dump, client, order, request.filter(), limit);
}

void SessionJobs::clear(Server::ClientId client, std::uint64_t order,
                        const forwarding::DropSessions& request) {
  add(SessionTask::Kind::clear, client, order, request.filter(), 0);
}

void SessionJobs::add(SessionTask::Kind kind, Server::ClientId client, std::uint64_t order,
                      const forwarding::SessionFilter& filter, std::uint32_t limit) {
  if (auto checked = core::Director::check(filter); !checked) {
    refuse(client, order, checked.error().message);
    return;
  }
  if (jobs_.size() >= kMostJobs) {
    refuse(client, order, "too many lists of sessions are asked for at once");
    return;
  }
  auto job = std::make_unique<Job>();
  job->client = client;
  job->order = order;
  job->left = limit;
  job->task.kind = kind;
  job->task.filter = director_.filter(filter);
  job->bound = director_.bound_filter(filter);
  job->task.views.reserve(SessionTask::kPiece);
  jobs_.push_back(std::move(job));
  advance();
}

void SessionJobs::refuse(Server::ClientId client, std::uint64_t order, const std::string& why) {
  forwarding::Report report;
  report.set_id(order);
  report.set_error(why);
  server_.send(client, report);
}

void SessionJobs::advance() {
  if (posted_) {
    if (!crew_.worker(posted_->worker).finished()) return;
    settle(std::move(posted_));
  }
  post_next();
}

void SessionJobs::post_next() {
  std::erase_if(jobs_, [&](const auto& job) { return !server_.connected(job->client); });
  const auto ready = std::find_if(jobs_.begin(), jobs_.end(), [&](const auto& job) {
    return server_.pending(job->client) < kPendingHigh;
  });
  if (ready == jobs_.end()) return;
  posted_ = std::move(*ready);
  jobs_.erase(ready);
  crew_.worker(posted_->worker).post(posted_->task);
}

void SessionJobs::settle(std::unique_ptr<Job> job) {
  report_views(*job);
  if (!job->task.more) {
    ++job->worker;
    job->task.cursor = 0;
    job->task.more = true;
  }
  const bool enough = job->task.kind == SessionTask::Kind::dump && job->left == 0;
  if (enough || job->worker == crew_.size()) {
    if (job->task.kind == SessionTask::Kind::clear) clear_bound(*job);
    if (job->left > 0) report_bound(*job);
    finish(*job);
  } else {
    jobs_.push_back(std::move(job));
  }
}

void SessionJobs::report_views(Job& job) {
  if (job.task.views.empty()) return;
  forwarding::Report report;
  report.set_id(job.order);
  report.mutable_sessions()->set_more(true);
  for (const core::SessionView& view : job.task.views) {
    if (job.left == 0) break;
    --job.left;
    *report.mutable_sessions()->add_session() = director_.describe(view, job.worker);
  }
  job.task.views.clear();
  server_.send(job.client, report);
}

// Clients that persistence binds follow the sessions. Their table is shared, and a look at all of it takes a
// few milliseconds of this thread, not of the packets'.
void SessionJobs::report_bound(Job& job) {
  forwarding::Report report;
  report.set_id(job.order);
  report.mutable_sessions()->set_more(true);
  std::size_t cursor = 0;
  for (bool more = true; more && job.left > 0;) {
    more = bound_.dump(cursor, kPieceOfBound, tick_now(), [&](const core::Persistence::View& view) {
      if (job.left == 0 || !job.bound(view)) return;
      --job.left;
      *report.mutable_sessions()->add_session() = director_.describe(view);
    });
    if (report.sessions().session_size() == 0) continue;
    server_.send(job.client, report);
    report.mutable_sessions()->clear_session();
  }
}

void SessionJobs::clear_bound(Job& job) {
  std::size_t cursor = 0;
  while (bound_.clear(cursor, kPieceOfBound, tick_now(), job.bound_cleared, job.bound)) {
  }
}

void SessionJobs::finish(const Job& job) {
  forwarding::Report report;
  report.set_id(job.order);
  if (job.task.kind == SessionTask::Kind::dump) {
    report.mutable_sessions()->set_more(false);
  } else {
    report.mutable_cleared()->set_sessions(job.task.cleared);
    report.mutable_cleared()->set_bound_clients(job.bound_cleared);
  }
  server_.send(job.client, report);
}

}  // namespace headgate::shell
