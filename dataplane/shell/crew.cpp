// SPDX-License-Identifier: Apache-2.0
#include "dataplane/shell/crew.h"

#include "dataplane/core/layout.h"
#include "dataplane/core/session_table.h"
#include "dataplane/shell/clock.h"
#include "dataplane/shell/log.h"

namespace headgate::shell {

namespace {

std::size_t sessions_each(const Options& options) {
  return (options.sessions + options.workers - 1) / options.workers;
}

}  // namespace

Result<SessionFile> take_session_file(const Options& options) {
  const std::size_t sessions = sessions_each(options);
  FileLayout layout{.fingerprint = core::memory_layout(),
                    .workers = options.workers,
                    .sessions = sessions,
                    .parts = {core::Shared::kBytes}};
  layout.parts.resize(1 + options.workers,
                      core::worker_table_at() + core::SessionTable::bytes_needed(sessions));
  auto file = SessionFile::take(session_places(options.session_dir, options.run_dir, options.huge),
                                options.file_prefix + ".sessions", layout);
  if (!file) return file;
  if (!file->refused().empty()) log("the sessions of before are lost: {}", file->refused());
  log("{} sessions for each of {} worker(s), {} MiB of {} pages in {}", sessions, options.workers,
      file->size() >> 20, file->huge() ? "huge" : "normal", file->path());
  return file;
}

Result<std::unique_ptr<Crew>> Crew::start(const Options& options, const Eal& eal, const SessionFile& sessions,
                                          core::Shared& shared) {
  std::unique_ptr<Crew> crew(new Crew(options.workers));
  const Workplace workplace{.shared = shared,
                            .plans = crew->plans_,
                            .handover = crew->handover_,
                            .doorbell = crew->doorbell_,
                            .buffers = eal.buffers(),
                            .workers = options.workers,
                            .poll = options.poll};
  for (unsigned number = 0; number < options.workers; ++number) {
    const std::span<std::byte> part = sessions.part(1 + number);
    const core::Switch::Config config{.memory = part.subspan(core::worker_table_at()),
                                      .sessions = sessions_each(options),
                                      .seed = sessions.seed(),
                                      .worker = number,
                                      .workers = options.workers,
                                      .counters = part.first(core::Switch::kCounterBytes),
                                      .survived = sessions.survived(),
                                      .now = tick_now()};
    crew->workers_.push_back(std::make_unique<Worker>(number, workplace, config));
  }
  for (const auto& worker : crew->workers_) {
    crew->threads_.emplace_back([w = worker.get()] { w->run(); });
  }
  return crew;
}

Crew::~Crew() {
  stop();
}

void Crew::stop() {
  for (const auto& worker : workers_) worker->stop();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

std::vector<const core::Switch*> Crew::switches() const {
  std::vector<const core::Switch*> switches;
  for (const auto& worker : workers_) switches.push_back(&worker->packets());
  return switches;
}

std::uint64_t Crew::lost(core::PortIndex port, std::uint16_t device) const {
  std::uint64_t sum = 0;
  for (const auto& worker : workers_) sum += worker->lost(port) + worker->refused(device);
  return sum;
}

}  // namespace headgate::shell
