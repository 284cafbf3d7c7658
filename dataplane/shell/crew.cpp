// SPDX-License-Identifier: Apache-2.0
#include "dataplane/shell/crew.h"

#include <sys/random.h>

#include <fmt/format.h>

#include "dataplane/core/session_table.h"
#include "dataplane/shell/log.h"

namespace headgate::shell {

Result<std::unique_ptr<Crew>> Crew::start(const Options& options, const Eal& eal, core::Shared& shared) {
  std::unique_ptr<Crew> crew(new Crew(options.workers));
  const Workplace workplace{.shared = shared,
                            .plans = crew->plans_,
                            .handover = crew->handover_,
                            .doorbell = crew->doorbell_,
                            .buffers = eal.buffers(),
                            .workers = options.workers,
                            .poll = options.poll};
  core::Switch::Config config{.memory = {},
                              .sessions = (options.sessions + options.workers - 1) / options.workers,
                              .seed = 0,
                              .worker = 0,
                              .workers = options.workers};
  if (config.sessions > core::SessionTable::kMostSessions) {
    return Error{fmt::format("at most {} sessions for each worker", core::SessionTable::kMostSessions)};
  }
  if (getrandom(&config.seed, sizeof config.seed, 0) != sizeof config.seed) return Error{"no random numbers"};
  for (unsigned number = 0; number < options.workers; ++number) {
    auto memory = SessionMemory::take(core::SessionTable::bytes_needed(config.sessions), options.huge);
    if (!memory) return memory.error();
    log("worker {}: {} sessions in {} MiB of {} pages", number, config.sessions, memory->bytes().size() >> 20,
        memory->huge() ? "huge" : "normal");
    config.memory = memory->bytes();
    config.worker = number;
    crew->workers_.push_back(std::make_unique<Worker>(number, workplace, std::move(memory.value()), config));
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
