// SPDX-License-Identifier: Apache-2.0
// Two real workers on two ports of rings: packets of one session and direction leave in the order in which
// they came, over the rings between the workers, and past packets that wait for a neighbour.
#include <sched.h>

#include <array>
#include <cstdlib>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/bench/ring_bed.h"
#include "tests/model/dice.h"
#include "tests/packet/bench.h"
#include "tests/packet/wire.h"

namespace headgate::testing {
namespace {

constexpr unsigned kWorkers = 2;
constexpr std::uint32_t kSessions = 64;
constexpr core::PortIndex kClients = 0, kServers = 1;
constexpr Ipv4 kServer{bench::kServers.value + 1};
constexpr Mac kServerMac{{2, 0, 0, 0, 1, 1}};
constexpr std::size_t kFrame = bench::kFrame;

/// DPDK starts but once in a process.
const shell::Eal& eal() {
  static const Result<shell::Eal> started =
      shell::Eal::start({.file_prefix = "headgate-order", .huge = false});
  if (!started) std::abort();
  return *started;
}

/// A port for each of two workers: clients behind the first one's, a server behind the other's. Each packet
/// has a number of its session and direction, in the identification of its IP header.
class Bed {
 public:
  Bed() {
    for (unsigned number = 0; number < kWorkers; ++number) {
      memories_.push_back(std::make_unique<TableMemory>(kSessions));
      workers_.push_back(
          std::make_unique<shell::Worker>(number,
                                          shell::Workplace{.shared = shared_,
                                                           .plans = plans_,
                                                           .handover = handover_,
                                                           .doorbell = doorbell_,
                                                           .buffers = eal_.buffers(),
                                                           .workers = kWorkers,
                                                           .poll = true},
                                          core::Switch::Config{.memory = memories_.back()->bytes(),
                                                               .sessions = kSessions,
                                                               .seed = 5,
                                                               .worker = number,
                                                               .workers = kWorkers}));
    }
    director_.set_workers({&workers_[0]->packets(), &workers_[1]->packets()});
    bench::bring_up(director_, shared_, bench::site(forwarding::ROUNDROBIN, 1));
    auto plan = std::make_unique<shell::Plan>();
    plan->generation = director_.build();
    for (core::PortIndex index = 0; index < ports_.size(); ++index) {
      plan->position[index] = static_cast<std::uint8_t>(index + 1);
      plan->ports.push_back({.index = index, .device = ports_[index].device(), .worker = index % kWorkers});
    }
    plans_.publish(std::move(plan));
    for (unsigned number = 0; number < kWorkers; ++number) plans_.join(number);
    establish();
  }
  ~Bed() {
    shared_.hops.resolve(kServers, kServer, kServerMac);
    for (unsigned number = 0; number < kWorkers; ++number) plans_.join(number);
    drain();
    for (unsigned number = 0; number < kWorkers; ++number) plans_.leave(number);
  }

  /// The next packet of a session from its client or its server.
  void arrive(core::PortIndex port, std::uint32_t session) {
    Flow& flow = flows_[port][session];
    ports_[port].arrive(flow.packet.id(++flow.arrived).padded(kFrame).in(port + 1u).bytes.data());
    ++arrived_;
  }
  void round(unsigned worker) { handled_ += workers_[worker]->round(); }
  /// The server's Ethernet address is known, or not.
  void know(bool server) {
    server ? shared_.hops.resolve(kServers, kServer, kServerMac) : shared_.hops.forget(kServers, kServer);
  }
  /// Takes what was sent off the wires, and looks at its order.
  void look() {
    ports_[kServers].take_sent([&](const std::uint8_t* frame) { look(flows_[kClients], frame, 34); });
    ports_[kClients].take_sent([&](const std::uint8_t* frame) { look(flows_[kServers], frame, 36); });
  }
  /// Rounds of both until nothing is under way.
  void drain() {
    do {
      handled_ = 0;
      for (unsigned turn = 0; turn < 2 * kWorkers; ++turn) round(turn % kWorkers);
      look();
    } while (handled_ > 0);
  }

  /// Both workers on threads of their own, until `drive` returns.
  template <class Drive>
  void run(Drive drive) {
    for (unsigned number = 0; number < kWorkers; ++number) plans_.leave(number);
    std::vector<std::thread> threads;
    for (const auto& worker : workers_) threads.emplace_back([&worker] { worker->run(); });
    drive();
    for (const auto& worker : workers_) worker->stop();
    for (std::thread& thread : threads) thread.join();
    for (unsigned number = 0; number < kWorkers; ++number) plans_.join(number);
    drain();
  }
  /// Waits until the workers have seen all packets but so many.
  void await_all_but(std::uint64_t packets) {
    for (look(); seen() + packets < arrived_; look()) sched_yield();
  }

  /// Waits until all packets have left, or were lost.
  void await_all_out() {
    for (look(); sent_ + lost() < arrived_; look()) sched_yield();
  }

  [[nodiscard]] std::uint64_t packets_of(unsigned worker) const {
    return workers_[worker]->packets().packets_in();
  }
  [[nodiscard]] std::uint64_t arrived() const { return arrived_; }
  [[nodiscard]] std::uint64_t sent() const { return sent_; }
  [[nodiscard]] std::uint64_t lost() const {
    return workers_[0]->lost(kServers) + workers_[1]->lost(kServers) + workers_[0]->lost(kClients) +
           workers_[1]->lost(kClients);
  }
  [[nodiscard]] std::uint64_t disordered() const { return disordered_; }

 private:
  struct Flow {
    Packet packet;
    std::uint32_t arrived = 0;
    std::uint32_t sent = 0;
  };
  using Flows = std::array<Flow, kSessions>;
  static std::uint16_t port_of(std::uint32_t session) { return static_cast<std::uint16_t>(1024 + session); }

  void establish() {
    for (std::uint32_t session = 0; session < kSessions; ++session) {
      const Packet client = ip(Ipv4{bench::kClients}, bench::kVip).tcp(port_of(session), 80, kAck);
      flows_[kClients][session].packet = client.seq(1).ack(1);
      flows_[kServers][session].packet =
          ip(kServer, client.source).tcp(8080, port_of(session), kAck).seq(1).ack(1);
      pass(kClients, ip(client.source, bench::kVip).tcp(port_of(session), 80, kSyn));
      pass(kServers, ip(kServer, client.source).tcp(8080, port_of(session), kSyn | kAck).ack(1));
      pass(kClients, client.seq(1).ack(1));
    }
    arrived_ = sent_ = 0;
    opening_ = packets_of(0) + packets_of(1);
  }
  void pass(core::PortIndex port, const Packet& packet) {
    ports_[port].arrive(packet.padded(kFrame).in(port + 1u).bytes.data());
    drain();
    for (Flows& flows : flows_)
      for (Flow& flow : flows) flow.sent = 0;
  }
  [[nodiscard]] std::uint64_t seen() const { return packets_of(0) + packets_of(1) - opening_; }

  void look(Flows& flows, const std::uint8_t* frame, std::size_t client_port_at) {
    const auto at = [&](std::size_t offset) {
      return static_cast<std::uint32_t>(frame[offset] << 8 | frame[offset + 1]);
    };
    Flow& flow = flows.at(at(client_port_at) - port_of(0));
    const std::uint32_t number = at(18);
    ++sent_;
    if (number <= flow.sent && number != 0) ++disordered_;
    flow.sent = number;
  }

  const shell::Eal& eal_ = eal();
  core::Shared shared_;
  core::Director director_{shared_};
  shell::Published<shell::Plan> plans_{kWorkers, std::make_unique<const shell::Plan>()};
  shell::Handover handover_{kWorkers};
  shell::Doorbell doorbell_;
  std::array<bench::RingPort, 2> ports_{bench::RingPort("order0", eal_.buffers()),
                                        bench::RingPort("order1", eal_.buffers())};
  std::vector<std::unique_ptr<TableMemory>> memories_;
  std::vector<std::unique_ptr<shell::Worker>> workers_;
  std::array<Flows, 2> flows_;
  std::uint64_t arrived_ = 0, sent_ = 0, disordered_ = 0, opening_ = 0;
  unsigned handled_ = 0;
};

/// Packets in random order of sessions, now and then a neighbour that goes or comes.
void play(Bed& bed, Dice& dice) {
  if (dice.percent(5)) bed.know(dice.percent(50));
  bed.arrive(dice.percent(50) ? kClients : kServers, dice.below(kSessions));
}

TEST(Order, APacketDoesNotOvertakeThoseThatWaitForItsNeighbour) {
  Bed bed;
  bed.know(false);
  for (std::uint32_t session = 0; session < 2; ++session) bed.arrive(kClients, session);
  bed.drain();
  EXPECT_EQ(bed.sent(), 0u);
  for (std::uint32_t session = 0; session < 2; ++session) bed.arrive(kClients, session);
  bed.know(true);
  bed.drain();
  EXPECT_EQ(bed.sent(), 4u);
  EXPECT_EQ(bed.disordered(), 0u);
}

TEST(Order, StandsForAnyTurnsOfTheWorkers) {
  Bed bed;
  Dice dice(7);
  for (unsigned step = 0; step < 100'000; ++step) {
    play(bed, dice);
    if (dice.percent(20)) bed.round(dice.below(kWorkers));
    if (step % 512 == 0) bed.drain();
  }
  bed.know(true);
  bed.drain();
  EXPECT_EQ(bed.disordered(), 0u);
  EXPECT_EQ(bed.sent() + bed.lost(), bed.arrived());
  EXPECT_GT(bed.sent(), bed.arrived() / 2);
  for (unsigned worker = 0; worker < kWorkers; ++worker)
    EXPECT_GT(bed.packets_of(worker), bed.arrived() / 4) << "both own sessions";
}

TEST(Order, StandsWhileNeighboursComeAndGoUnderTheWorkersHands) {
  Bed bed;
  Dice dice(8);
  bed.run([&] {
    for (unsigned step = 0; step < 60'000; ++step) {
      play(bed, dice);
      if (step % 16 == 0) bed.await_all_but(256);
    }
    bed.know(true);
    bed.await_all_out();
  });
  EXPECT_EQ(bed.disordered(), 0u);
  EXPECT_EQ(bed.sent() + bed.lost(), bed.arrived());
  EXPECT_GT(bed.sent(), bed.arrived() / 2);
}

}  // namespace
}  // namespace headgate::testing
