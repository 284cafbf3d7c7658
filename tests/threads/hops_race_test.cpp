// SPDX-License-Identifier: Apache-2.0
// Neighbours under threads: workers claim and use them while the control thread resolves, forgets and frees.
#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "dataplane/core/hops.h"
#include "dataplane/shell/published.h"
#include "tests/model/dice.h"
#include "tests/packet/wire.h"

namespace headgate::testing {
namespace {

using core::HopIndex;
using core::Hops;

constexpr unsigned kWorkers = 3;
constexpr std::uint32_t kAddresses = 400;

/// What a worker holds an index for: until this changes.
struct Version {
  std::uint32_t number = 0;
};

Ip address_of(std::uint32_t n) {
  return n % 2 == 0 ? Ip(Ipv4{0x0a000001 + n}) : host("2001:db8::" + std::to_string(n));
}

struct Scene {
  Hops hops;
  shell::Published<Version> versions{kWorkers, std::make_unique<const Version>()};
  std::atomic<std::uint32_t> clock{1000};
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> wrong{0}, refused{0}, used{0};
};

// Finds neighbours, and sends to them as long as the version stands, like a session does with its hops.
void work(Scene& scene, unsigned worker) {
  Dice dice(worker);
  scene.versions.join(worker);
  std::vector<std::pair<std::uint32_t, HopIndex>> held;
  std::uint32_t version = 0;
  while (!scene.stop.load(std::memory_order_relaxed)) {
    const std::uint32_t present = scene.versions.enter(worker).number;
    if (present != version || held.size() > 64) held.clear();
    version = present;
    const Tick now{scene.clock.load(std::memory_order_relaxed)};
    // Some addresses at a time, so that the others go out of use; now and then one of those, which may be
    // freed at that very moment.
    const bool any = dice.below(500) == 0;
    const std::uint32_t n = (any ? dice.below(kAddresses) : version * 10 + dice.below(50)) % kAddresses;
    const HopIndex index = scene.hops.find_or_claim(0, address_of(n), now);
    if (index == core::kNoHop) {
      ++scene.refused;
      continue;
    }
    held.emplace_back(n, index);
    for (const auto& [who, at] : held) {
      const Hops::Hop hop = scene.hops.use(at, now);
      const bool right = !hop.resolved || hop.mac == core::MacWord(mac_of_host(address_of(who)));
      const auto stands = scene.hops.neighbour(at);
      if (!right || hop.port != 0 || !stands || stands->address != address_of(who)) ++scene.wrong;
      ++scene.used;
    }
  }
  scene.versions.leave(worker);
}

// As the shell does: first the version, so that nobody holds an index, then the slots that are out of use.
// For longer, that is, than any worker's clock is behind: it takes a step of up to 3 at each version.
std::size_t reclaim(Scene& scene, std::uint32_t version) {
  scene.versions.publish(std::make_unique<const Version>(Version{version}));
  return scene.hops.reclaim({scene.clock.load(std::memory_order_relaxed) - 8});
}

TEST(HopsRace, AFoundNeighbourStandsWhileOthersAreFreed) {
  Scene scene;
  std::vector<std::thread> threads;
  for (unsigned worker = 0; worker < kWorkers; ++worker)
    threads.emplace_back([&scene, worker] { work(scene, worker); });
  Dice dice(99);
  std::size_t freed = 0;
  for (std::uint32_t round = 1; round <= 200; ++round) {
    for (int i = 0; i < 20; ++i) {
      const Ip who = address_of(dice.below(kAddresses));
      if (dice.percent(40)) scene.hops.resolve(0, who, mac_of_host(who));
      if (dice.percent(60)) scene.hops.forget(0, who);
    }
    scene.clock.fetch_add(1 + round % 3);
    freed += reclaim(scene, round);
  }
  scene.stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(scene.wrong, 0u) << "of " << scene.used << " packets went to another neighbour";
  EXPECT_GT(freed, 0u);
  EXPECT_GT(scene.used, 1000u);
  // Out of all use, everything but what is resolved can be freed, and claimed again.
  for (std::uint32_t n = 0; n < kAddresses; ++n) scene.hops.forget(0, address_of(n));
  for (int round = 0; round < 400; ++round) static_cast<void>(scene.hops.reclaim({1u << 30}));
  std::size_t left = 0;
  for (std::size_t slot = 0; slot < Hops::kSlots; ++slot)
    left += scene.hops.neighbour(static_cast<HopIndex>(slot)).has_value() ? 1 : 0;
  EXPECT_EQ(left, 0u);
}

}  // namespace
}  // namespace headgate::testing
