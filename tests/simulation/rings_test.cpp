// SPDX-License-Identifier: Apache-2.0
// A model of the hand-over between up to 64 workers: rings of the real size, one for each ordered pair and
// purpose, and workers that take their steps in any order. Shows how full the rings get with more workers
// than a machine has processors, and that the rule of who hands what to whom keeps the order of a session and
// direction; that the workers and rings themselves do is tests/threads/order_test.cpp's.
#include <algorithm>
#include <deque>
#include <map>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "dataplane/core/burst.h"
#include "dataplane/core/flow_key.h"
#include "tests/model/dice.h"
#include "tests/packet/wire.h"

namespace headgate::testing {
namespace {

constexpr std::size_t kRing = 1023;  ///< what a ring of DPDK's with 1,024 places holds

struct Passing {
  std::uint32_t session = 0;
  bool from_client = false;
  std::uint32_t number = 0;  ///< of its session and direction
  unsigned way_out = 0;      ///< the worker whose port it leaves by
};

/// Each worker has a port of its own. A session's client is behind one, its server behind another.
class Hall {
 public:
  struct Options {
    unsigned workers = 2;
    std::uint32_t sessions = 1000;
    /// Of a hundred packets, so many belong to the one busiest session.
    std::uint32_t elephant = 0;
  };
  Hall(const Options& options, std::uint64_t seed)
      : options_(options), dice_(seed), process_(options.workers * options.workers), transmit_(process_) {}

  /// So many steps of workers, each of one poll: receive a burst, take what was handed over, send.
  void run(unsigned steps) {
    // Any worker may be next, but none falls a burst behind: each has its own core.
    std::vector<unsigned> order(options_.workers);
    for (unsigned worker = 0; worker < order.size(); ++worker) order[worker] = worker;
    for (unsigned step = 0; step < steps; ++step) {
      for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[dice_.below(i)]);
      for (const unsigned worker : order) poll(worker, core::kBurst);
    }
    for (unsigned step = 0; step < 100; ++step) {
      for (unsigned worker = 0; worker < options_.workers; ++worker) poll(worker, 0);
    }
  }
  [[nodiscard]] std::size_t fullest() const { return fullest_; }
  [[nodiscard]] std::uint64_t lost() const { return lost_; }
  [[nodiscard]] std::uint64_t handed() const { return handed_; }
  [[nodiscard]] std::uint64_t sent() const { return sent_; }
  [[nodiscard]] std::uint64_t received() const { return received_; }
  [[nodiscard]] std::uint64_t out_of_order() const { return out_of_order_; }

 private:
  using Ring = std::deque<Passing>;
  Ring& ring(std::vector<Ring>& rings, unsigned from, unsigned to) {
    return rings[from * options_.workers + to];
  }

  [[nodiscard]] unsigned owner(std::uint32_t session) const {
    const std::uint64_t hash = core::stable_hash(Ipv4{0x0b000000 + session}, 40000);
    return static_cast<unsigned>((hash >> 32) * options_.workers >> 32);
  }
  [[nodiscard]] unsigned client_port(std::uint32_t session) const { return session % options_.workers; }
  [[nodiscard]] unsigned server_port(std::uint32_t session) const {
    return (session * 7 + 1) % options_.workers;
  }

  // A packet that arrives at the port of this worker.
  Passing arrival(unsigned worker) {
    Passing packet;
    const bool elephant = dice_.percent(options_.elephant);
    packet.session =
        elephant ? worker : dice_.below(options_.sessions / options_.workers) * options_.workers + worker;
    packet.from_client = dice_.percent(50);
    if (!packet.from_client) {  // the session whose server is behind this port
      while (server_port(packet.session) != worker) packet.session = dice_.below(options_.sessions);
    }
    packet.number = next_[{packet.session, packet.from_client}]++;
    packet.way_out = packet.from_client ? server_port(packet.session) : client_port(packet.session);
    return packet;
  }

  void poll(unsigned worker, std::size_t burst) {
    for (std::size_t i = 0; i < burst; ++i) {
      const Passing packet = arrival(worker);
      ++received_;
      const unsigned to = owner(packet.session);
      to == worker ? process(worker, packet) : give(process_, worker, to, packet);
    }
    for (unsigned from = 0; from < options_.workers; ++from) {
      for (const Passing& packet : take(process_, from, worker)) process(worker, packet);
      for (const Passing& packet : take(transmit_, from, worker)) send(packet);
    }
  }

  void process(unsigned worker, const Passing& packet) {
    packet.way_out == worker ? send(packet) : give(transmit_, worker, packet.way_out, packet);
  }

  void give(std::vector<Ring>& rings, unsigned from, unsigned to, const Passing& packet) {
    Ring& there = ring(rings, from, to);
    ++handed_;
    if (there.size() == kRing) {
      ++lost_;
      return;
    }
    there.push_back(packet);
    fullest_ = std::max(fullest_, there.size());
  }

  std::vector<Passing> take(std::vector<Ring>& rings, unsigned from, unsigned to) {
    Ring& there = ring(rings, from, to);
    const auto count = static_cast<std::ptrdiff_t>(std::min(there.size(), core::kBurst));
    std::vector<Passing> out(there.begin(), there.begin() + count);
    there.erase(there.begin(), there.begin() + count);
    return out;
  }

  void send(const Passing& packet) {
    ++sent_;
    std::uint32_t& latest = latest_[{packet.session, packet.from_client}];
    if (packet.number < latest) ++out_of_order_;
    latest = packet.number;
  }

  Options options_;
  Dice dice_;
  std::vector<Ring> process_, transmit_;
  std::map<std::pair<std::uint32_t, bool>, std::uint32_t> next_, latest_;
  std::size_t fullest_ = 0;
  std::uint64_t lost_ = 0, handed_ = 0, sent_ = 0, received_ = 0, out_of_order_ = 0;
};

TEST(Rings, KeepTheOrderWithinASessionAndHaveRoom) {
  for (const unsigned workers : {2u, 4u, 16u, 64u}) {
    Hall hall({.workers = workers, .sessions = 64 * 200}, workers);
    hall.run(8'000 / workers);
    EXPECT_EQ(hall.out_of_order(), 0u) << workers;
    EXPECT_EQ(hall.lost(), 0u) << workers;
    EXPECT_EQ(hall.sent(), hall.received()) << workers;
    EXPECT_LE(hall.fullest(), 4 * core::kBurst) << workers;
    fmt::print("{:2} workers: {:.2f} hand-overs a packet, fullest ring {} of {}\n", workers,
               static_cast<double>(hall.handed()) / static_cast<double>(hall.received()), hall.fullest(),
               kRing);
  }
}

// All packets of one session have one owner, however many workers there are; what it can't take in is lost in
// its rings, counted, and the order still stands.
TEST(Rings, AnElephantKeepsItsOrder) {
  Hall hall({.workers = 8, .sessions = 8 * 200, .elephant = 60}, 3);
  hall.run(1'000);
  EXPECT_EQ(hall.out_of_order(), 0u);
  EXPECT_EQ(hall.sent() + hall.lost(), hall.received());
}

}  // namespace
}  // namespace headgate::testing
