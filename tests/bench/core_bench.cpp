// SPDX-License-Identifier: Apache-2.0
// The whole core pipeline on one core: what a packet of an established session costs, how many sessions can
// be opened, and what a bare look-up with rewrite would cost.
//
// Frames are prebuilt, 64 bytes with FCS. A rewrite changes 32 bytes of a frame, so that each has to be
// restored before it can be sent again: the loop copies headers from a pool into the 32 frames of a burst,
// outside of the measured time, which is taken by hand around process() alone.
#include <chrono>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "dataplane/core/director.h"
#include "dataplane/core/packet.h"
#include "dataplane/core/switch.h"
#include "dataplane/shell/sweep_pace.h"
#include "tests/bench/huge_memory.h"
#include "tests/bench/site.h"
#include "tests/packet/wire.h"

namespace headgate::core {
namespace {

using testing::kAck;
using testing::kSyn;

using bench::client_frame;
using bench::client_frame6;
using bench::HugeMemory;
using bench::kClients;
using bench::kFrame;
using bench::kFrame6;
using bench::kHeaders;
using bench::kPortsEach;
using bench::kServers;
using bench::kVip;
using bench::Pool;

/// Bursts between two looks at the clock, which takes 20-30 ns by itself.
constexpr std::size_t kBursts = 4;
constexpr std::size_t kFrames = kBursts * kBurst;

/// A switch with one service, and the frames of some bursts.
struct Bed {
  Shared shared;
  Director director{shared};
  HugeMemory memory;
  Switch worker;
  std::unique_ptr<const Generation> generation;
  std::vector<std::uint8_t> buffers = std::vector<std::uint8_t>(kFrames * 128);
  std::vector<std::uint8_t> spare_buffers = std::vector<std::uint8_t>(kBurst * 128);
  std::array<Frame, kFrames> frames;
  std::array<Frame, kBurst> spare_frames;
  Tick now{1};

  bool v6;
  std::size_t frame_bytes = v6 ? kFrame6 : kFrame;
  std::size_t headers = v6 ? kFrame6 : kHeaders;

  Bed(forwarding::Metric metric, unsigned servers, std::size_t sessions, bool of_v6 = false)
      : memory(SessionTable::bytes_needed(sessions)),
        worker({.memory = memory.bytes(), .sessions = sessions, .seed = 0x5eed}, shared),
        v6(of_v6) {
    director.set_workers({&worker});
    bench::bring_up(director, shared, bench::site(metric, servers, 1, v6));
    generation = director.build();
    for (std::size_t i = 0; i < kFrames; ++i) frames[i].data = &buffers[i * 128], frames[i].capacity = 128;
    for (std::size_t i = 0; i < kBurst; ++i)
      spare_frames[i].data = &spare_buffers[i * 128], spare_frames[i].capacity = 128;
  }

  void load(std::size_t i, const std::uint8_t* bytes, PortIndex port) {
    std::memcpy(frames[i].data, bytes, headers);
    frames[i].length = static_cast<std::uint16_t>(frame_bytes);
    frames[i].port = port;
  }
  /// Seconds that the bursts took.
  double process() {
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t first = 0; first < kFrames; first += kBurst) {
      Spares spares{spare_frames};
      worker.process(std::span(frames).subspan(first, kBurst), spares, *generation, now);
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
};

/// Opens every session; of a sample of them, the packets that follow go into the pool.
Pool establish(Bed& bed, std::uint32_t sessions) {
  constexpr std::uint32_t kPool = 1u << 18;
  const std::uint32_t every = std::max(sessions / (kPool / 2), 1u);
  Pool pool{.headers = bed.headers};
  const auto client = [&](std::uint32_t session, std::uint8_t flags) {
    return bed.v6 ? client_frame6(session, flags) : client_frame(session, flags);
  };
  for (std::uint32_t base = 0; base < sessions; base += kFrames) {
    const auto pass = [&](std::uint8_t flags) {
      for (std::uint32_t i = 0; i < kFrames; ++i) bed.load(i, client(base + i, flags).data(), 0);
      bed.process();
    };
    pass(kSyn);
    for (std::uint32_t i = 0; i < kFrames; ++i) {
      const auto at_server = testing::decode({bed.frames[i].data, bed.frames[i].data + bed.frame_bytes});
      if (!at_server || bed.frames[i].fate != Fate::to_real) std::abort();
      bed.load(i, at_server->reply(kSyn | kAck).padded(bed.frame_bytes).in(2).bytes.data(), 1);
      if ((base + i) % every != 0) continue;
      pool.add(client(base + i, kAck).data(), 0);
      pool.add(at_server->reply(kAck).padded(bed.frame_bytes).in(2).bytes.data(), 1);
    }
    bed.process();
    pass(kAck);
  }
  return pool;
}

/// A table full of open sessions.
struct Full {
  std::uint32_t sessions;
  bool v6;
  Bed bed{forwarding::ROUNDROBIN, 16, sessions, v6};
  Pool pool = establish(bed, sessions);
};
std::unique_ptr<Full> kept;  ///< the latest: filling takes long, so that repetitions share it

Full& full_table(std::uint32_t sessions, bool v6) {
  if (kept && kept->sessions == sessions && kept->v6 == v6) return *kept;
  kept.reset();  // two large ones at a time would take the huge pages from each other
  kept = std::unique_ptr<Full>(new Full{.sessions = sessions, .v6 = v6});
  return *kept;
}

void established(benchmark::State& state, std::uint32_t sessions, bool v6) {
  auto& [count, family, bed, pool] = full_table(sessions, v6);
  const std::vector<std::uint32_t> order = bench::shuffled(pool.size());
  std::size_t next = 0;
  double seconds = 0;
  for (auto _ : state) {
    for (std::size_t i = 0; i < kFrames; ++i, next = next + 1 == order.size() ? 0 : next + 1) {
      bed.load(i, pool.at(order[next]), pool.ports[order[next]]);
    }
    const double took = bed.process();
    seconds += took;
  }
  const auto packets = static_cast<double>(state.iterations() * kFrames);
  if (bed.worker.fate(Fate::to_real) + bed.worker.fate(Fate::to_client) != bed.worker.packets_in()) {
    state.SkipWithError("not every packet was forwarded");
  }
  state.counters["ns_per_packet"] = seconds * 1e9 / packets;
  state.counters["bytes_per_session"] =
      static_cast<double>(SessionTable::bytes_needed(sessions)) / static_cast<double>(sessions);
  state.SetLabel(bed.memory.pages());
}

/// New sessions into a table that is half full on average; the clear between rounds is not measured.
void opening(benchmark::State& state, forwarding::Metric metric, unsigned servers) {
  constexpr std::uint32_t kSessions = 1u << 18;
  Bed bed(metric, servers, 2 * kSessions);
  std::vector<std::uint8_t> pool;
  for (std::uint32_t session = 0; session < kSessions; ++session) {
    const auto frame = client_frame(session * 7919 % kSessions, kSyn);
    pool.insert(pool.end(), frame.begin(), frame.begin() + kHeaders);
  }
  std::size_t next = 0;
  double seconds = 0;
  for (auto _ : state) {
    if (next == kSessions) {
      std::size_t cursor = 0, cleared = 0;
      while (bed.worker.clear(cursor, kSessions, {}, cleared)) {
      }
      next = 0;
    }
    for (std::size_t i = 0; i < kFrames; ++i, ++next) bed.load(i, &pool[next * kHeaders], 0);
    const double took = bed.process();
    seconds += took;
  }
  const auto opened = static_cast<double>(state.iterations() * kFrames);
  if (bed.worker.fate(Fate::to_real) != bed.worker.packets_in()) state.SkipWithError("not every SYN opened");
  state.counters["new_per_second"] = opened / seconds;
  state.counters["ns_per_packet"] = seconds * 1e9 / opened;
  state.SetLabel(bed.memory.pages());
}

/// The floor: one look-up in the same table and the stores of a rewrite, nothing else.
void bare_probe(benchmark::State& state, std::uint32_t sessions) {
  kept.reset();
  HugeMemory memory(SessionTable::bytes_needed(sessions));
  std::vector<Shared::Binding> bindings(16);
  for (std::uint32_t server = 0; server < 16; ++server)
    bindings[server].assign(kVip, 80, Ipv4{kServers.value + 1 + server}, 8080);
  SessionTable table(memory.bytes(), sessions, 0x5eed, bindings);
  std::vector<FlowKey> keys;
  for (std::uint32_t n = 0; n < sessions; ++n) {
    const auto port = static_cast<L4Port>(1024 + n % kPortsEach);
    const Ipv4 client{kClients + n / kPortsEach};
    const Session* session = table.insert(client, port, static_cast<BindingSlot>(n % 16), Protocol::tcp);
    if (session == nullptr) std::abort();
    const SessionKeys both = table.keys(*session);
    if (keys.size() >= (1u << 18) || n % std::max(sessions >> 17, 1u) != 0) continue;
    keys.push_back(both.from_client), keys.push_back(both.from_real);
  }
  std::shuffle(keys.begin(), keys.end(), std::mt19937(7));
  constexpr Transport kTcp4(Protocol::tcp, false);
  std::vector<std::uint8_t> buffers(kFrames * 128, 0);
  const auto probe = [&](const FlowKey* burst, std::uint8_t* frames) {
    std::array<std::uint64_t, kBurst> hashes;
    std::array<const SessionTable::Bucket*, kBurst> buckets;
    std::array<SessionTable::Place, kBurst> likely;
    for (std::size_t i = 0; i < kBurst; ++i)
      buckets[i] = table.prefetch_bucket(hashes[i] = table.hash(burst[i], kTcp4));
    for (std::size_t i = 0; i < kBurst; ++i) likely[i] = table.prefetch_session(buckets[i], hashes[i]);
    for (std::size_t i = 0; i < kBurst; ++i) {
      Side from = SessionTable::side(likely[i]);
      const Session* session = &table.entry(likely[i]);
      if (!table.matches(*session, from, burst[i], kTcp4))
        session = table.find(burst[i], kTcp4, hashes[i], from);
      const Shared::Binding& binding = bindings[session->binding];
      std::uint8_t* frame = frames + i * 128;
      std::memcpy(frame + 30, binding.end[other(from)].address.octets.data() + 12, 4);
      store16(frame + 36, binding.end[other(from)].port);
      store_raw16(frame + 50,
                  static_cast<std::uint16_t>(load_raw16(frame + 50) + binding.end[from].l4_delta));
    }
  };
  std::size_t next = 0;
  double seconds = 0;
  for (auto _ : state) {
    if (next + kFrames > keys.size()) next = 0;
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t first = 0; first < kFrames; first += kBurst)
      probe(&keys[next + first], &buffers[first * 128]);
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    benchmark::DoNotOptimize(buffers.data());
    seconds += took;
    next += kFrames;
  }
  state.counters["ns_per_packet"] = seconds * 1e9 / static_cast<double>(state.iterations() * kFrames);
  state.SetLabel(memory.pages());
}

/// What it costs a worker to look at all of a full table once in each round of the sweep, a piece between two
/// bursts.
void ageing(benchmark::State& state, std::uint32_t sessions) {
  Bed& bed = full_table(sessions, false).bed;
  constexpr std::size_t kBudget = shell::SweepPace::kLeast;
  std::size_t forgotten = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (auto _ : state) forgotten += bed.worker.sweep(bed.now, kBudget);
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  if (forgotten != 0 || bed.worker.sessions() != sessions) state.SkipWithError("not every session stayed");
  const double each = took.count() / static_cast<double>(state.iterations() * kBudget);
  state.counters["core_share"] = each * sessions / static_cast<double>(shell::SweepPace::kRoundNs);
  state.SetLabel(bed.memory.pages());
}

void register_all() {
  for (const std::uint32_t sessions : {16384u, 1048576u, 10485760u}) {
    const std::string size = std::to_string(sessions);
    const auto run = [&](const std::string& name, auto body) {
      benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) { body(state, sessions); });
    };
    run("Established/nat4/" + size, [](auto& state, auto count) { established(state, count, false); });
    run("Established/nat6/" + size, [](auto& state, auto count) { established(state, count, true); });
    run("BareProbe/" + size, bare_probe);
  }
  benchmark::RegisterBenchmark("Ageing/10485760", [](benchmark::State& state) {
    ageing(state, 10485760);
  })->Iterations(10485760 / shell::SweepPace::kLeast);  // each entry once
  for (const auto& [name, metric] : {std::pair{"leastconns", forwarding::LEASTCONNS},
                                     {"roundrobin", forwarding::ROUNDROBIN},
                                     {"hash", forwarding::HASH},
                                     {"minmisses", forwarding::MINMISSES},
                                     {"phash", forwarding::PHASH},
                                     {"response", forwarding::RESPONSE},
                                     {"bandwidth", forwarding::BANDWIDTH},
                                     {"svcleast", forwarding::SVCLEAST}}) {
    for (const unsigned servers : {16u, 1024u}) {
      benchmark::RegisterBenchmark(
          (std::string("New/") + name + "/" + std::to_string(servers)).c_str(),
          [metric = metric, servers](benchmark::State& state) { opening(state, metric, servers); });
    }
  }
}

}  // namespace
}  // namespace headgate::core

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  headgate::core::register_all();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
