// SPDX-License-Identifier: Apache-2.0
// The dataplane's worker on DPDK ports: what a packet costs with receive and transmit, and what an apply of a
// configuration does to a burst.
//
// Ports are net_ring: the benchmark puts frames into the ring a port receives from, as many as a NIC's
// receive ring holds, and empties the one it sends to. Both are outside of the measured time.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>

#include "tests/bench/ring_bed.h"

namespace headgate::bench {
namespace {

using Clock = std::chrono::steady_clock;

const shell::Eal* eal = nullptr;  // once for the process: DPDK starts but once

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Random packets of a pool, over and over.
class Load {
 public:
  explicit Load(const Pool& pool) : pool_(pool), order_(shuffled(pool.size())) {}
  void arrive(RingBed& bed, std::size_t packets) {
    for (std::size_t i = 0; i < packets; ++i) {
      bed.arrive(pool_, order_[next_]);
      next_ = next_ + 1 == order_.size() ? 0 : next_ + 1;
    }
  }

 private:
  const Pool& pool_;
  std::vector<std::uint32_t> order_;
  std::size_t next_ = 0;
};

void through_the_shell(benchmark::State& state, std::uint32_t sessions, unsigned workers) {
  RingBed bed(*eal, site(forwarding::ROUNDROBIN, 16), sessions, workers);
  const Pool pool = bed.establish(sessions, 1, 1U << 18);
  Load load(pool);
  const std::uint64_t before = bed.forwarded();
  std::size_t sent = 0;
  double seconds = 0;
  for (auto _ : state) {
    load.arrive(bed, RingBed::kDepth);
    const auto begin = Clock::now();
    bed.drain();
    seconds += seconds_since(begin);
    sent += bed.take_sent();
  }
  const auto packets = state.iterations() * RingBed::kDepth;
  if (sent != packets || bed.forwarded() - before != packets)
    state.SkipWithError("not every packet was forwarded");
  state.counters["packets_per_second"] = static_cast<double>(packets) / seconds;
  state.counters["ns_per_packet"] = seconds * 1e9 / static_cast<double>(packets);
  state.SetLabel(bed.pages());
}

/// Two configurations in turn: each apply moves a weight in every service, and ends no session.
std::array<forwarding::Generation, 2> versions(unsigned services) {
  std::array<forwarding::Generation, 2> out{site(forwarding::LEASTCONNS, 16, services),
                                            site(forwarding::LEASTCONNS, 16, services)};
  for (auto& service : *out[1].mutable_service()) service.mutable_member(0)->set_weight(2);
  return out;
}

/// Times of `bursts` bursts, in seconds.
std::vector<double> times(RingBed& bed, Load& load, std::size_t bursts) {
  std::vector<double> out;
  out.reserve(bursts);
  while (out.size() < bursts) {
    load.arrive(bed, core::kBurst);
    const auto begin = Clock::now();
    bed.round();
    out.push_back(seconds_since(begin));
    bed.drain();
    bed.take_sent();
  }
  return out;
}

double p999_us(std::vector<double> seconds) {
  const auto at = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() * 999 / 1000);
  std::nth_element(seconds.begin(), at, seconds.end());
  return *at * 1e6;
}

/// The p99.9 of a burst's time while configurations are applied without pause, and of the same run without.
void applying(benchmark::State& state, unsigned services) {
  constexpr std::uint32_t kSessions = 1U << 16;
  constexpr std::size_t kBursts = 400'000;
  const auto configurations = versions(services);
  RingBed bed(*eal, configurations[0], kSessions);
  const Pool pool = bed.establish(kSessions, services, 2 * kSessions);
  Load load(pool);
  const std::uint64_t before = bed.forwarded();
  double quiet = 0, busy = 0;
  std::size_t applies = 0;
  for (auto _ : state) {
    quiet = p999_us(times(bed, load, kBursts));
    std::atomic<bool> stop{false}, stopped{false};
    std::thread control([&] {
      for (; !stop; ++applies) bed.apply(configurations[(applies + 1) % 2]);
      stopped = true;
    });
    busy = p999_us(times(bed, load, kBursts));
    stop = true;
    while (!stopped) bed.round();  // the last apply waits for the worker
    control.join();
  }
  const auto packets = state.iterations() * 2 * kBursts * core::kBurst;
  if (bed.forwarded() - before != packets) state.SkipWithError("not every packet was forwarded");
  if (applies < 10) state.SkipWithError("too few applies to tell anything");
  state.counters["worst_burst_us"] = busy;
  state.counters["quiet_burst_us"] = quiet;
  state.counters["applies"] = static_cast<double>(applies);
  state.SetLabel(bed.pages());
}

void register_all() {
  benchmark::RegisterBenchmark("Shell/nat4/1048576", [](benchmark::State& s) {
    through_the_shell(s, 1048576, 1);
  })->Iterations(4096);
  // Half of the packets belong to the other worker; on one thread, so that what it costs is the sum of both.
  benchmark::RegisterBenchmark("Handover/nat4/1048576", [](benchmark::State& s) {
    through_the_shell(s, 1048576, 2);
  })->Iterations(4096);
  benchmark::RegisterBenchmark("Apply/1024", [](benchmark::State& s) { applying(s, 1024); })->Iterations(1);
}

}  // namespace
}  // namespace headgate::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  auto started = headgate::shell::Eal::start({.file_prefix = "headgate-bench"});
  if (!started) return 1;
  headgate::bench::eal = &*started;
  headgate::bench::register_all();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
