// SPDX-License-Identifier: Apache-2.0
// The whole core pipeline on one core: what a packet of an established session costs, how many sessions can
// be opened, and what a bare look-up with rewrite would cost.
//
// Frames are prebuilt, 64 bytes with FCS. A rewrite changes 32 bytes of a frame, so that each has to be
// restored before it can be sent again: the loop copies headers from a pool into the 32 frames of a burst,
// outside of the measured time, which is taken by hand around process() alone.
#include <sys/mman.h>

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
#include "tests/packet/wire.h"

namespace headgate::core {
namespace {

using testing::kAck;
using testing::kSyn;

constexpr std::size_t kFrame = 60;
constexpr std::size_t kHeaders = 54;
constexpr Ipv4 kVip{0x0a640001};
constexpr Ipv4 kServers{0x0a020000};
constexpr std::uint32_t kClients = 0x0b000000;
constexpr std::uint32_t kPortsEach = 32768;

/// Zeroed memory on huge pages: explicit ones when there are, transparent ones else.
class HugeMemory {
 public:
  explicit HugeMemory(std::size_t bytes) : size_((bytes + kHuge - 1) / kHuge * kHuge) {
    constexpr int kProtection = PROT_READ | PROT_WRITE, kFlags = MAP_PRIVATE | MAP_ANONYMOUS;
    at_ = mmap(nullptr, size_, kProtection, kFlags | MAP_HUGETLB | MAP_POPULATE, -1, 0);
    if (at_ != MAP_FAILED) return;
    at_ = mmap(nullptr, size_, kProtection, kFlags, -1, 0);
    if (at_ == MAP_FAILED) std::abort();
    madvise(at_, size_, MADV_HUGEPAGE);
    std::memset(at_, 0, size_);
  }
  ~HugeMemory() { munmap(at_, size_); }
  HugeMemory(const HugeMemory&) = delete;
  HugeMemory& operator=(const HugeMemory&) = delete;
  [[nodiscard]] std::span<std::byte> bytes() const { return {static_cast<std::byte*>(at_), size_}; }

 private:
  static constexpr std::size_t kHuge = std::size_t{2} << 20;
  std::size_t size_;
  void* at_;
};

forwarding::Generation site(forwarding::Metric metric, unsigned servers) {
  forwarding::Generation out;
  auto& service = *out.add_service();
  service.set_virt(1), service.set_vip(kVip.value), service.set_vport(80), service.set_protocol(6);
  service.set_group(1), service.set_metric(metric);
  for (unsigned real = 1; real <= servers; ++real) {
    auto& member = *service.add_member();
    member.set_real(real), member.set_rip(kServers.value + real), member.set_rport(8080);
    member.set_weight(1), member.set_idle_seconds(600);
    member.mutable_target()->set_real(real);
  }
  for (const unsigned number : {1u, 2u}) {
    auto& port = *out.add_port();
    port.set_number(number), port.set_client(true), port.set_server(true);
  }
  return out;
}

/// A switch with one service, and the frames of one burst.
struct Bed {
  Shared shared;
  Director director{shared};
  HugeMemory memory;
  Switch worker;
  std::unique_ptr<const Generation> generation;
  std::vector<std::uint8_t> buffers = std::vector<std::uint8_t>(kBurst * 128);
  std::vector<std::uint8_t> spare_buffers = std::vector<std::uint8_t>(kBurst * 64);
  std::array<Frame, kBurst> frames;
  std::array<Frame, kBurst> spare_frames;
  Tick now{1};

  Bed(forwarding::Metric metric, unsigned servers, std::size_t sessions)
      : memory(SessionTable::bytes_needed(sessions)),
        worker({.memory = memory.bytes(), .sessions = sessions, .seed = 0x5eed}, shared) {
    director.set_workers({&worker});
    director.set_ports({PortNumber{1}, PortNumber{2}});
    director.set_routes({{.prefix = {0x0a000000}, .length = 8, .port = 1, .gateway = {}},
                         {.prefix = {}, .length = 0, .port = 0, .gateway = {0x0a010001}}});
    if (!director.publish(site(metric, servers))) std::abort();
    forwarding::States states;
    for (unsigned real = 1; real <= servers; ++real) {
      states.add_target()->mutable_target()->set_real(real);
      states.mutable_target(static_cast<int>(real) - 1)->set_admission(forwarding::OPEN);
      shared.hops.resolve(1, {kServers.value + real}, {{2, 0, 0, 0, 1, static_cast<std::uint8_t>(real)}});
    }
    director.set_states(states);
    shared.hops.resolve(0, {0x0a010001}, {{2, 0, 0, 0, 0, 9}});
    shared.set_port(0, {{2, 0, 0, 0, 0, 1}}, 1500);
    shared.set_port(1, {{2, 0, 0, 0, 0, 2}}, 1500);
    generation = director.build();
    for (std::size_t i = 0; i < kBurst; ++i) {
      frames[i].data = &buffers[i * 128], frames[i].capacity = 128;
      spare_frames[i].data = &spare_buffers[i * 64], spare_frames[i].capacity = 64;
    }
  }

  void load(std::size_t i, const std::uint8_t* headers, PortIndex port) {
    std::memcpy(frames[i].data, headers, kHeaders);
    frames[i].length = kFrame;
    frames[i].port = port;
  }
  /// Seconds that the burst took.
  double process() {
    Spares spares{spare_frames};
    const auto begin = std::chrono::steady_clock::now();
    worker.process(frames, spares, *generation, now);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
};

std::vector<std::uint8_t> headers(std::uint32_t session, std::uint8_t flags) {
  const auto packet = testing::ip(Ipv4{kClients + session / kPortsEach}, kVip)
                          .tcp(static_cast<std::uint16_t>(1024 + session % kPortsEach), 80, flags)
                          .padded(kFrame);
  return packet.in(1).bytes;
}

/// Prebuilt headers of packets of both directions, in random order of sessions.
struct Pool {
  std::vector<std::uint8_t> bytes;
  std::vector<PortIndex> ports;

  void add(const std::uint8_t* frame, PortIndex port) {
    bytes.insert(bytes.end(), frame, frame + kHeaders);
    ports.push_back(port);
  }
  [[nodiscard]] const std::uint8_t* at(std::size_t i) const { return &bytes[i * kHeaders]; }
};

/// Opens every session; of a sample of them, the packets that follow go into the pool.
Pool establish(Bed& bed, std::uint32_t sessions) {
  constexpr std::uint32_t kPool = 1u << 18;
  const std::uint32_t every = std::max(sessions / (kPool / 2), 1u);
  Pool pool;
  for (std::uint32_t base = 0; base < sessions; base += kBurst) {
    const auto pass = [&](std::uint8_t flags) {
      for (std::uint32_t i = 0; i < kBurst; ++i) bed.load(i, headers(base + i, flags).data(), 0);
      bed.process();
    };
    pass(kSyn);
    for (std::uint32_t i = 0; i < kBurst; ++i) {
      const auto at_server = testing::decode({bed.frames[i].data, bed.frames[i].data + kFrame});
      if (!at_server || bed.frames[i].fate != Fate::to_real) std::abort();
      bed.load(i, at_server->reply(kSyn | kAck).padded(kFrame).in(2).bytes.data(), 1);
      if ((base + i) % every != 0) continue;
      pool.add(headers(base + i, kAck).data(), 0);
      pool.add(at_server->reply(kAck).padded(kFrame).in(2).bytes.data(), 1);
    }
    bed.process();
    pass(kAck);
  }
  return pool;
}

void shuffle(std::vector<std::uint32_t>& order, std::size_t size) {
  order.resize(size);
  for (std::uint32_t i = 0; i < size; ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), std::mt19937(7));
}

void established(benchmark::State& state, std::uint32_t sessions) {
  Bed bed(forwarding::ROUNDROBIN, 16, sessions);
  const Pool pool = establish(bed, sessions);
  std::vector<std::uint32_t> order;
  shuffle(order, pool.ports.size());
  std::size_t next = 0;
  double seconds = 0;
  for (auto _ : state) {
    for (std::size_t i = 0; i < kBurst; ++i, next = next + 1 == order.size() ? 0 : next + 1) {
      bed.load(i, pool.at(order[next]), pool.ports[order[next]]);
    }
    const double took = bed.process();
    seconds += took;
  }
  const auto packets = static_cast<double>(state.iterations() * kBurst);
  if (bed.worker.fate(Fate::to_real) + bed.worker.fate(Fate::to_client) != bed.worker.packets_in()) {
    state.SkipWithError("not every packet was forwarded");
  }
  state.counters["ns_per_packet"] = seconds * 1e9 / packets;
  state.counters["bytes_per_session"] =
      static_cast<double>(SessionTable::bytes_needed(sessions)) / static_cast<double>(sessions);
}

/// New sessions into a table that is half full on average; the clear between rounds is not measured.
void opening(benchmark::State& state, forwarding::Metric metric, unsigned servers) {
  constexpr std::uint32_t kSessions = 1u << 18;
  Bed bed(metric, servers, 2 * kSessions);
  std::vector<std::uint8_t> pool;
  for (std::uint32_t session = 0; session < kSessions; ++session) {
    const auto frame = headers(session * 7919 % kSessions, kSyn);
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
    for (std::size_t i = 0; i < kBurst; ++i, ++next) bed.load(i, &pool[next * kHeaders], 0);
    const double took = bed.process();
    seconds += took;
  }
  const auto opened = static_cast<double>(state.iterations() * kBurst);
  if (bed.worker.fate(Fate::to_real) != bed.worker.packets_in()) state.SkipWithError("not every SYN opened");
  state.counters["new_per_second"] = opened / seconds;
  state.counters["ns_per_packet"] = seconds * 1e9 / opened;
}

/// The floor: one look-up in the same table and the stores of a rewrite, nothing else.
void bare_probe(benchmark::State& state, std::uint32_t sessions) {
  HugeMemory memory(SessionTable::bytes_needed(sessions));
  SessionTable table(memory.bytes(), sessions, 0x5eed);
  std::vector<FlowKey> keys;
  for (std::uint32_t n = 0; n < sessions; ++n) {
    const auto port = static_cast<L4Port>(1024 + n % kPortsEach);
    const FlowKey key{{kClients + n / kPortsEach}, kVip, port, 80};
    const FlowKey back{{kServers.value + 1 + n % 16}, key.source, 8080, port};
    if (table.insert(key, back, Protocol::tcp) == nullptr) std::abort();
    if (keys.size() < (1u << 18) && n % std::max(sessions >> 17, 1u) == 0)
      keys.push_back(key), keys.push_back(back);
  }
  std::shuffle(keys.begin(), keys.end(), std::mt19937(7));
  std::vector<std::uint8_t> frames(kBurst * 128, 0);
  std::size_t next = 0;
  double seconds = 0;
  for (auto _ : state) {
    if (next + kBurst > keys.size()) next = 0;
    const FlowKey* burst = &keys[next];
    next += kBurst;
    const auto begin = std::chrono::steady_clock::now();
    std::array<std::uint64_t, kBurst> hashes;
    for (std::size_t i = 0; i < kBurst; ++i)
      table.prefetch_bucket(hashes[i] = table.hash(burst[i], Protocol::tcp));
    for (const std::uint64_t hash : hashes) table.prefetch_session(hash);
    for (std::size_t i = 0; i < kBurst; ++i) {
      const Session* session = table.find(burst[i], Protocol::tcp, hashes[i]);
      std::uint8_t* frame = &frames[i * 128];
      store32(frame + 30, session->from_real.source.value);
      store16(frame + 36, session->from_real.source_port);
      store_raw16(frame + 50, static_cast<std::uint16_t>(load_raw16(frame + 50) + session->l4_delta));
    }
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    benchmark::DoNotOptimize(frames.data());
    seconds += took;
  }
  state.counters["ns_per_packet"] = seconds * 1e9 / static_cast<double>(state.iterations() * kBurst);
}

void register_all() {
  for (const std::uint32_t sessions : {16384u, 1048576u, 10485760u}) {
    const std::string size = std::to_string(sessions);
    const auto run = [&](const std::string& name, auto body) {
      benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) { body(state, sessions); });
    };
    run("Established/nat4/" + size, established);
    run("BareProbe/" + size, bare_probe);
  }
  for (const auto& [name, metric] : {std::pair{"leastconns", forwarding::LEASTCONNS},
                                     {"roundrobin", forwarding::ROUNDROBIN},
                                     {"hash", forwarding::HASH}}) {
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
