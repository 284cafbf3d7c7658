// SPDX-License-Identifier: Apache-2.0
// Workers that switch packets while the director publishes configurations, changes states and routes, and
// reads every counter: what they share under ThreadSanitizer, and the counts at the end.
#include <array>
#include <atomic>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "dataplane/core/director.h"
#include "dataplane/core/owner.h"
#include "dataplane/core/persistence.h"
#include "dataplane/core/switch.h"
#include "dataplane/shell/published.h"
#include "tests/model/random_site.h"
#include "tests/packet/bench.h"
#include "tests/threads/burst.h"

namespace headgate::testing {
namespace {

constexpr unsigned kWorkers = 3;
constexpr std::size_t kSessions = 512;

/// What workers read between two swaps.
struct Plan {
  std::unique_ptr<const core::Generation> generation;
};

class Crew {
 public:
  Crew() : dice_(4), site_(dice_, RandomSite::Limits::some) {
    shared_.persistence = &persistence_;
    std::vector<const core::Switch*> readers;
    for (unsigned index = 0; index < kWorkers; ++index) {
      memories_.emplace_back(kSessions);
      workers_.push_back(
          std::make_unique<core::Switch>(core::Switch::Config{.memory = memories_.back().bytes(),
                                                              .sessions = kSessions,
                                                              .seed = index,
                                                              .worker = index,
                                                              .workers = kWorkers},
                                         shared_));
      readers.push_back(workers_.back().get());
    }
    director_.set_workers(readers);
    director_.set_ports({PortNumber{1}, PortNumber{2}, PortNumber{3}});
    director_.set_routes(site_.routes(dice_));
    EXPECT_TRUE(director_.publish(site_.generation()).ok());
    plans_ = std::make_unique<shell::Published<Plan>>(kWorkers, plan());
  }

  /// Packets and changes at once, then the end of all sessions.
  void run(unsigned changes) {
    std::vector<std::thread> threads;
    for (unsigned worker = 0; worker < kWorkers; ++worker)
      threads.emplace_back([this, worker] { work(worker); });
    for (unsigned change = 0; change < changes; ++change) direct(change);
    stop_ = true;
    for (std::thread& thread : threads) thread.join();
    let_all_end();
  }
  [[nodiscard]] std::uint64_t packets() const { return director_packets_; }

 private:
  static Wire random_frame(Dice& dice) {
    static constexpr std::array<std::uint8_t, 6> kFlags = {kSyn, kAck, kAck, kSyn | kAck, kFin | kAck, kRst};
    static constexpr std::array<std::uint16_t, 4> kServices = {80, 443, 53, 81};
    const std::uint32_t virt = dice.between(1, RandomSite::kVirts);
    const bool ipv6 = RandomSite::is_ipv6(virt);
    const Ip client = RandomSite::address(1, 10 + dice.below(4), ipv6);
    const auto port = static_cast<std::uint16_t>(40000 + dice.below(64));
    const std::uint32_t real = dice.between(1, RandomSite::kReals);
    const Ip rip = RandomSite::address(RandomSite::port_of(real), 10 + real, ipv6);
    const std::uint16_t vport = dice.one_of(kServices);
    const std::uint16_t rport = vport == 53 ? 53 : 8080;
    const bool asks = dice.percent(60);
    const Packet flow = asks ? ip(client, RandomSite::vip(virt)) : ip(rip, client);
    const std::uint16_t from = asks ? port : rport, to = asks ? vport : port;
    const Packet packet =
        vport == 53 ? flow.udp(from, to, "x") : flow.tcp(from, to, dice.one_of(kFlags)).seq(dice.below(4));
    return packet.in(asks ? 1 : RandomSite::port_of(real));
  }

  void work(unsigned index) {
    Dice dice(index);
    Burst burst;
    core::Switch& worker = *workers_[index];
    plans_->join(index);
    for (std::uint32_t round = 0; !stop_.load(std::memory_order_relaxed) || round < 500; ++round) {
      const core::Generation& generation = *plans_->enter(index).generation;
      const Tick now{1000 + round / 4};
      burst.start();
      while (burst.used < 16) {
        burst.add(random_frame(dice));
        if (core::owner(burst.frames[burst.used - 1], generation, kWorkers) != index) --burst.used;
      }
      core::Spares spares{burst.spare};
      worker.process({burst.frames.data(), burst.used}, spares, generation, now);
      burst.start();
      core::Spares more{burst.spare};
      worker.sweep(now, 32, more, generation);
      if (round % 64 == 0) look(worker, now);
    }
    plans_->leave(index);
  }

  // On its own thread, as the control thread asks a worker for a dump.
  static void look(core::Switch& worker, Tick now) {
    std::vector<core::SessionView> views;
    std::size_t cursor = 0;
    while (worker.dump(cursor, 64, {}, now, views)) {
    }
    EXPECT_LE(views.size(), kSessions);
  }

  void direct(unsigned change) {
    const Tick now{1000 + change};
    switch (dice_.below(8)) {
      case 0:
        site_.change(dice_);
        EXPECT_TRUE(director_.publish(site_.generation()).ok());
        break;
      case 1:
        director_.set_routes(site_.routes(dice_));
        break;
      case 2:
        shared_.set_port(static_cast<core::PortIndex>(dice_.below(3)), mac_of_port(1), 1500);
        return change_neighbours(change);
      case 3:
        return read_all(change);
      case 4:
        return look_at_clients(now);
      case 5:
        if (!director_.tick(now)) return;
        break;
      default:
        director_.set_states(site_.states(dice_));
    }
    plans_->publish(plan());
  }

  void change_neighbours(unsigned change) {
    for (std::uint32_t octet = 10; octet < 30; ++octet) {
      const unsigned port = dice_.between(1, 3);
      const Ip who = RandomSite::address(port, octet, dice_.percent(30));
      const auto index = static_cast<core::PortIndex>(port - 1);
      dice_.percent(70) ? shared_.hops.resolve(index, who, mac_of_host(who))
                        : shared_.hops.forget(index, who);
    }
    if (change % 4 != 0) return;
    director_.renew_hops();
    plans_->publish(plan());
    static_cast<void>(shared_.hops.reclaim({1000}));
  }

  void look_at_clients(Tick now) {
    std::size_t cursor = 0, cleared = 0;
    persistence_.dump(cursor, persistence_.buckets(), now,
                      [](const auto& view) { EXPECT_LE(view.users, kWorkers * kSessions); });
    cursor = 0;
    persistence_.clear(cursor, persistence_.buckets(), now, cleared,
                       [](const auto& view) { return view.real == 1; });
    persistence_.expire(now, persistence_.buckets());
  }

  void read_all(unsigned change) {
    const forwarding::Stats stats = director_.stats();
    for (const auto& row : stats.real()) EXPECT_LE(row.counts().current(), kWorkers * kSessions);
    static_cast<void>(director_.traffic_failures(Tick{change}));
    static_cast<void>(director_.states());
    if (change % 16 == 0) director_.clear_stats();
  }

  void let_all_end() {
    core::Spares none;
    const Tick end{1000 + (1u << 29)};
    for (const auto& worker : workers_) {
      worker->sweep(end, std::numeric_limits<std::size_t>::max(), none, *plans_->latest().generation);
      EXPECT_EQ(worker->sessions(), 0u);
      EXPECT_EQ(worker->half_open(), 0u);
      std::uint64_t fates = 0;
      for (std::size_t fate = 0; fate < core::kFates; ++fate)
        fates += worker->fate(static_cast<core::Fate>(fate));
      EXPECT_EQ(fates, worker->packets_in());
      director_packets_ += worker->packets_in();
      for (std::size_t slot = 0; slot < core::kMaxBindings; ++slot)
        ASSERT_EQ(worker->held(static_cast<core::BindingSlot>(slot)), 0u) << slot;
    }
    for (const core::Tally& tally : shared_.tallies) ASSERT_EQ(tally.current.load(), 0u);
    persistence_.expire(end, persistence_.buckets());
    EXPECT_EQ(persistence_.size(), 0u);
  }

  [[nodiscard]] std::unique_ptr<const Plan> plan() const {
    return std::make_unique<const Plan>(Plan{director_.build()});
  }

  Dice dice_;
  RandomSite site_;
  core::Shared shared_;
  core::Persistence persistence_{64, 5};
  core::Director director_{shared_};
  std::vector<TableMemory> memories_;
  std::vector<std::unique_ptr<core::Switch>> workers_;
  std::unique_ptr<shell::Published<Plan>> plans_;
  std::atomic<bool> stop_{false};
  std::uint64_t director_packets_ = 0;
};

TEST(CrewRace, CountsAreRightAtTheEndOfAnyChange) {
  Crew crew;
  crew.run(400);
  EXPECT_GT(crew.packets(), 10'000u);
}

}  // namespace
}  // namespace headgate::testing
