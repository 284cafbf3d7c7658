// SPDX-License-Identifier: Apache-2.0
//
// What probing costs: Probes/TYPE/TARGETS is the share of a core that probing each target once a second
// takes. How fast its verdicts are known: Verdict/TARGETS.
#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstdio>

#include <benchmark/benchmark.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "controlplane/daemon/asio_timers.h"
#include "controlplane/daemon/monitor.h"
#include "controlplane/probe/asio_prober.h"
#include "tests/bench/bare_prober.h"
#include "tests/bench/probe_servers.h"
#include "tests/bench/verdict_bench.h"

namespace headgate::bench {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using std::chrono::seconds;

constexpr seconds kWarm{2}, kMeasured{6};
/// Over TLS each target is probed so seldom, and the shares stand for all of the rate: with the servers on
/// the same two cores, OpenSSL 3.0 does less than 2,000 handshakes a second.
constexpr unsigned kTlsInterval = 4;

class SystemClock final : public daemon::Clock {
 public:
  [[nodiscard]] std::uint64_t unix_ms() const override {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
  }
};

/// Notes when probes begin, and how many passed.
class Noting final : public probe::Prober {
 public:
  explicit Noting(asio::io_context& context) : inner_(probe::make_prober(context)) {
    starts.reserve(200'000);
  }

  void start(probe::TargetId target, const probe::Probe& probe, OnResult on_result) override {
    starts.push_back(Clock::now());
    inner_->start(target, probe, [this, on_result = std::move(on_result)](const probe::Result& result) {
      passed += result.passed;
      if (!result.passed) failure = result.reason;
      on_result(result);
    });
  }
  void cancel(probe::TargetId target) override { inner_->cancel(target); }

  std::vector<Clock::time_point> starts;
  std::uint64_t passed = 0;
  std::string failure;  ///< the last one's reason

 private:
  std::unique_ptr<probe::Prober> inner_;
};

std::map<config::TargetKey, config::Target> targets(unsigned count, const probe::Check& check,
                                                    std::uint16_t port, seconds inter) {
  std::map<config::TargetKey, config::Target> made;
  for (unsigned i = 1; i <= count; ++i)
    made[{i, port, Protocol::tcp, check.identity()}] = {.address = Ipv4{0x7f010000 + i},
                                                        .check = check,
                                                        .policy = {.inter = inter, .retry = 4, .restr = 8},
                                                        .enabled = true};
  return made;
}

/// The largest part of an interval's probes that begin within the same 10 ms.
double worst_slot(std::vector<Clock::time_point> starts, Clock::time_point from, unsigned targets) {
  constexpr std::chrono::milliseconds kSlot{10};
  std::map<std::int64_t, unsigned> slots;
  for (const auto start : starts)
    if (start >= from) ++slots[(start - from) / kSlot];
  unsigned worst = 0;
  for (const auto& [slot, count] : slots) worst = std::max(worst, count);
  return static_cast<double>(worst) / targets;
}

void probes(benchmark::State& state, probe::Check check, ProbeServer::Speaks speaks, unsigned count) {
  const ProbeServer server(speaks);
  const bool tls = speaks == ProbeServer::Speaks::https;
  const unsigned every = tls ? kTlsInterval : 1, rate = count / every;
  for (auto unused : state) {
    const BareShare before = bare_probes(server.port(), rate, tls, kMeasured / 2);
    asio::io_context context{1};
    daemon::AsioTimers timers(context);
    const SystemClock clock;
    Noting prober(context);
    daemon::Monitor monitor(prober, timers, clock, [](const config::TargetKey&) {});
    monitor.configure(targets(count, check, server.port(), seconds(every)), false);
    monitor.begin();
    context.run_for(every * kWarm);
    const auto cpu = thread_time();
    const auto begun = Clock::now();
    prober.passed = 0;
    context.run_for(kMeasured);
    const std::chrono::duration<double> spent = thread_time() - cpu, wall = Clock::now() - begun;
    const BareShare after = bare_probes(server.port(), rate, tls, kMeasured / 2);
    state.counters["core_share"] = every * (spent / wall);
    state.counters["bare_core_share"] = every * (before.core + after.core) / 2;
    state.counters["worst_slot_share"] = worst_slot(prober.starts, begun, count);
    state.counters["probes_per_second"] = static_cast<double>(prober.passed) / wall.count();
    if (static_cast<double>(prober.passed) < 0.95 * rate * wall.count())
      state.SkipWithError(fmt::format("only {} of {} probes passed; the last failure: {}", prober.passed,
                                      rate * kMeasured.count(), prober.failure)
                              .c_str());
    if (static_cast<double>(before.done + after.done) < 0.95 * rate * kMeasured.count())
      state.SkipWithError("bare probes have failed");
  }
}

/// Sockets that wait for their end, of both sides and of both ways to probe.
void raise_limits() {
  rlimit files{65536, 65536};
  if (setrlimit(RLIMIT_NOFILE, &files) != 0) std::perror("too few open files are allowed");
}

void register_all() {
  const auto once = [](benchmark::internal::Benchmark* made) {
    made->Iterations(1)->Unit(benchmark::kSecond);
  };
  once(benchmark::RegisterBenchmark("Probes/tcp/10000", [](benchmark::State& state) {
    probes(state, {.kind = probe::Kind::tcp}, ProbeServer::Speaks::nothing, 10'000);
  }));
  once(benchmark::RegisterBenchmark("Probes/https/2000", [](benchmark::State& state) {
    probes(state, {.kind = probe::Kind::https, .path = "/"}, ProbeServer::Speaks::https, 2'000);
  }));
  once(benchmark::RegisterBenchmark("Verdict/10000",
                                    [](benchmark::State& state) { verdicts(state, 10'000); }));
}

}  // namespace
}  // namespace headgate::bench

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  headgate::bench::raise_limits();
  headgate::bench::register_all();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
