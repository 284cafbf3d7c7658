// SPDX-License-Identifier: Apache-2.0
// What the packet path promises whatever comes: no allocation, bounded work, recovery from a full table,
// counts that agree.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <new>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/packet/bench.h"

namespace {
std::atomic<std::uint64_t> allocations{0};
}

// Out of line, or the compiler sees malloc and delete meet and warns.
[[gnu::noinline]] void* operator new(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size != 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(size != 0 ? size : 1);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace headgate::testing {
namespace {

using core::Fate;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Limits, ThePacketPathNeverAllocates) {
  Bench bench(web(3), {.sessions = 64});
  std::vector<Bytes> buffers(core::kBurst, Bytes(128));
  std::vector<Bytes> room(core::kBurst, Bytes(64));
  std::vector<core::Frame> frames(core::kBurst), spare(core::kBurst);
  std::uint64_t counted = 0;
  const auto pass = [&](std::uint8_t flags, std::uint16_t vport) {
    for (std::size_t i = 0; i < core::kBurst; ++i) {
      const auto wire = ip(kClient, kVip).tcp(static_cast<std::uint16_t>(40000 + i), vport, flags, "x").in(1);
      std::ranges::copy(wire.bytes, buffers[i].begin());
      frames[i] = {.data = buffers[i].data(),
                   .length = static_cast<std::uint16_t>(wire.bytes.size()),
                   .capacity = 128};
      spare[i] = {.data = room[i].data(), .capacity = 64};
    }
    core::Spares spares{spare};
    const std::uint64_t before = allocations.load();
    bench.worker().process(frames, spares, *bench.generation, bench.now);
    bench.worker().sweep(bench.now, 1000);
    counted += allocations.load() - before;
  };
  pass(kSyn, 80), pass(kAck, 80), pass(kSyn, 81);
  bench.admit(1, forwarding::CLOSED);
  pass(kAck, 80), pass(kSyn, 80);
  bench.admit(2, forwarding::CLOSED), bench.admit(3, forwarding::CLOSED);
  pass(kAck, 80), pass(kSyn, 80);
  bench.wait(10000);
  pass(kFin, 80);
  EXPECT_EQ(counted, 0u);
  EXPECT_GT(allocations.load(), 0u) << "the count itself works";
}

TEST(Limits, AFullTableRefusesNewSessionsLeavesOldOnesAndRecovers) {
  Bench bench(web(1), {.sessions = 100});
  std::vector<Connection> open;
  for (std::uint16_t port = 40000; port < 40100; ++port) open.push_back(Connection::open(bench, port));
  bench.fates();
  for (std::uint16_t port = 41000; port < 41050; ++port) {
    EXPECT_THAT(bench.from_client(ip(kClient, kVip).tcp(port, 80, kSyn)), IsEmpty());
  }
  EXPECT_EQ(bench.fates(), (Fates{{Fate::drop_table_full, 50}}));
  EXPECT_EQ(bench.current(1), 100u);
  for (const auto& session : open) {
    const Packet data = session.says(kAck, "x");
    EXPECT_THAT(bench.from_client(data), ElementsAre(session.at_server(data).out(kServerPort)));
  }
  bench.wait(601);
  EXPECT_EQ(bench.sweep(), 100u);
  for (std::uint16_t port = 42000; port < 42100; ++port) Connection::open(bench, port);
  EXPECT_EQ(bench.current(1), 100u);
}

// What the watch over SYN attacks goes by: handshakes begun and not settled.
TEST(Limits, HandshakesThatGoOnAndThoseThatDoNotAreCounted) {
  Bench bench(web(1).service(1, 53, 5353, {1}).udp());
  const auto counts = [&] {
    const forwarding::Stats all = bench.stats();
    return std::array{all.opened_sessions(), all.opened_tcp_sessions(), all.answered_tcp_sessions(),
                      all.half_open_sessions()};
  };
  using Counts = std::array<std::uint64_t, 4>;
  std::uint16_t port = 40000;
  for (int i = 0; i < 10; ++i) Connection::begin(bench, port++);
  EXPECT_EQ(counts(), (Counts{10, 10, 0, 10}));
  for (int i = 0; i < 10; ++i) {
    const auto answered = Connection::begin(bench, port++);
    bench.from_server(answered.server.seq(5000).ack(1001));
  }
  EXPECT_EQ(counts(), (Counts{20, 20, 0, 20}));
  for (int i = 0; i < 10; ++i) Connection::open(bench, port++);
  EXPECT_EQ(counts(), (Counts{30, 30, 10, 20}));
  for (int i = 0; i < 5; ++i) {
    const auto refused = Connection::begin(bench, port++);
    bench.from_server(refused.server.reply(0).reply(kRst | kAck).ack(1001));
  }
  EXPECT_EQ(counts(), (Counts{35, 35, 15, 20}));
  bench.from_client(ip(kClient, kVip).udp(40000, 53, "query"));
  bench.from_server(ip(kServer1, kClient).udp(5353, 40000, "answer"));
  EXPECT_EQ(counts(), (Counts{36, 35, 15, 20})) << "a datagram that is answered is no handshake";
  bench.director.clear_stats();
  bench.wait(core::Switch::kHalfOpenSeconds + 1);
  bench.sweep();
  EXPECT_EQ(counts(), (Counts{36, 35, 15, 0})) << "they grow only";
}

TEST(Limits, SynsForWhichThereIsNoRoomAreHandshakesThatDoNotGoOn) {
  Bench bench(web(1).service(1, 53, 5353, {1}).udp(), {.sessions = 10});
  for (std::uint16_t port = 40000; port < 40010; ++port) Connection::open(bench, port);
  for (std::uint16_t port = 41000; port < 41007; ++port) {
    bench.from_client(ip(kClient, kVip).tcp(port, 80, kSyn));
    bench.from_client(ip(kClient, kVip).udp(port, 53, "query"));
  }
  EXPECT_EQ(bench.fates()[Fate::drop_table_full], 14u);
  const forwarding::Stats all = bench.stats();
  EXPECT_EQ(all.opened_sessions(), 10u);
  EXPECT_EQ(all.opened_tcp_sessions(), 17u);
  EXPECT_EQ(all.answered_tcp_sessions(), 10u);
  EXPECT_EQ(all.half_open_sessions(), 0u);
}

TEST(Limits, ASweepLooksAtNoMoreThanItsBudget) {
  Bench bench(web(1));
  for (std::uint16_t port = 40000; port < 40100; ++port) Connection::open(bench, port);
  bench.wait(601);
  EXPECT_EQ(bench.worker().sweep(bench.now, 0), 0u);
  for (int turn = 0; turn < 10; ++turn) EXPECT_EQ(bench.worker().sweep(bench.now, 10), 10u);
  EXPECT_EQ(bench.worker().sweep(bench.now, 10), 0u);
}

TEST(Limits, ResetsToOtherEndsWaitForRoom) {
  Bench bench(web(1));
  const auto session = Connection::open(bench, 40000);
  bench.admit(1, forwarding::CLOSED);
  Bytes bytes = session.says(kAck, "x").in(kClientPort).bytes;
  bytes.resize(64);
  std::vector<core::Frame> frames = {{.data = bytes.data(), .length = 55, .capacity = 64}};
  core::Spares none;
  bench.worker().process(frames, none, *bench.generation, bench.now);
  EXPECT_EQ(frames[0].action, core::Action::transmit) << "the client is told";
  EXPECT_THAT(bench.from_server(session.answers(kAck, "y")),
              ElementsAre(reset(session.answers(kAck).reply(kRst).seq(1001)).out(kServerPort)));
}

// ---- Counts under anything

std::uint64_t current_of_everything(const Bench& bench) {
  const forwarding::Stats all = bench.stats();
  std::uint64_t sum = 0;
  for (const auto& row : all.real()) sum += row.counts().current();
  for (const auto& row : all.group()) sum += row.counts().current();
  for (const auto& row : all.virt()) sum += row.counts().current();
  return sum;
}

Packet anything(std::mt19937& random) {
  static constexpr std::array<std::uint8_t, 8> kFlags = {kSyn, kSyn,        kAck, kFin | kAck,
                                                         kRst, kSyn | kAck, kAck, 0};
  const auto port = static_cast<std::uint16_t>(40000 + random() % 40);
  const std::uint8_t flags = kFlags[random() % kFlags.size()];
  const Ipv4 real{0x0a0a020b + static_cast<std::uint32_t>(random() % 3)};
  const Ipv4 vip{0x0a0a0164 + static_cast<std::uint32_t>(random() % 2)};
  const Packet packet = random() % 2 == 0 ? ip(address(kClient), vip).tcp(port, 80, flags)
                                          : ip(real, address(kClient)).tcp(8080, port, flags);
  return packet.seq(1000 + random() % 3).ack(1000 + random() % 3);
}

void disturb(Bench& bench, std::mt19937& random) {
  const auto real = 1 + static_cast<std::uint32_t>(random() % 3);
  switch (random() % 8) {
    case 0:
      return bench.wait(static_cast<std::uint32_t>(random() % 40));
    case 1:
      bench.worker().sweep(bench.now, random() % 50);
      return;
    case 2:
      bench.admit(real, static_cast<forwarding::Admission>(random() % 3));
      bench.admit(real, static_cast<forwarding::Admission>(random() % 3));
      return;
    case 3:
      return bench.publish(web(3).service(2, 80, 8080, {1, 2, 3}, forwarding::LEASTCONNS));
    case 4:
      return bench.publish(web(static_cast<unsigned>(random() % 4)));
    case 5:
      return bench.director.clear_stats();
    default:
      return;
  }
}

TEST(Limits, CountsNeverGoNegativeAndEndAtZeroWithTheTable) {
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    std::mt19937 random(seed);
    Bench bench(web(3).service(2, 80, 8080, {1, 2, 3}), {.sessions = 48});
    for (int step = 0; step < 3000; ++step) {
      const Packet packet = anything(random);
      bench.pass(packet.in(packet.destination_port == 80 ? kClientPort : kServerPort));
      if (random() % 8 == 0) disturb(bench, random);
      bench.worker().sweep(bench.now, 0);
      ASSERT_LE(current_of_everything(bench), 3 * bench.sessions()) << "seed " << seed << " step " << step;
    }
    bench.wait(100000);
    bench.sweep();
    EXPECT_EQ(bench.sessions(), 0u);
    EXPECT_EQ(current_of_everything(bench), 0u) << "seed " << seed;
  }
}

TEST(Limits, TotalsNeverFallThroughStatesAndApplies) {
  Bench bench(web(2));
  std::uint64_t before = 0;
  for (std::uint16_t round = 0; round < 6; ++round) {
    Connection::open(bench, static_cast<std::uint16_t>(40000 + 10 * round));
    Connection::open(bench, static_cast<std::uint16_t>(40001 + 10 * round));
    EXPECT_GT(bench.total(1), before);
    before = bench.total(1);
    bench.admit(1, forwarding::CLOSED);
    EXPECT_EQ(bench.total(1), before);
    bench.admit(1, forwarding::OPEN);
    bench.publish(web(2).weight(1, round + 1u));
    EXPECT_EQ(bench.total(1), before);
  }
}

TEST(Limits, TrafficOfOneRealMovesNothingElse) {
  Bench bench(web(1));
  Connection::open(bench, 40000);
  Site next;
  next.service(1, 80, 8080, {5});
  bench.publish(next);
  bench.worker().sweep(bench.now, 0);
  bench.director.clear_stats();
  bench.admit(5, forwarding::OPEN);
  Connection::open(bench, 41000);
  const forwarding::Stats all = bench.stats();
  for (const auto& row : all.real()) {
    EXPECT_EQ(row.counts().packets(), row.real() == 5 ? 3u : 0u) << row.real();
    EXPECT_EQ(row.counts().total(), row.real() == 5 ? 1u : 0u) << row.real();
    EXPECT_EQ(row.counts().current(), row.real() == 5 ? 1u : 0u) << row.real();
  }
}

TEST(Limits, ClearedStatsStartAfreshAndCurrentsStay) {
  Bench bench(web(1));
  for (int round = 0; round < 100; ++round) {
    Connection::open(bench, static_cast<std::uint16_t>(40000 + round));
    bench.director.clear_stats();
    const forwarding::Stats all = bench.stats();
    ASSERT_EQ(all.real_size(), 1);
    EXPECT_EQ(all.real(0).counts().total(), 0u);
    EXPECT_EQ(all.real(0).counts().packets(), 0u);
    EXPECT_EQ(all.real(0).counts().octets(), 0u);
    EXPECT_EQ(all.real(0).counts().current(), static_cast<std::uint64_t>(round + 1));
    EXPECT_EQ(all.real(0).counts().highest(), static_cast<std::uint64_t>(round + 1));
    EXPECT_EQ(all.packets_in(), 0u);
  }
}

// ---- Counts of a session that wrap

class VolumeTest : public ::testing::TestWithParam<bool> {
 protected:
  using Counts = std::array<std::uint64_t, 4>;  ///< packets and octets, of the client and of its server

  /// Passes one frame of so many bytes `times` times, and looks at the counts and the way after each.
  void pass(std::size_t size, std::uint32_t times) {
    const std::string payload(size - kHeaders, 'x');
    Wire wire = from_client ? session.says(kAck, payload).in(kClientPort)
                            : session.answers(kAck, payload).in(kServerPort);
    const Bytes headers(wire.bytes.begin(), wire.bytes.begin() + kHeaders);
    const Mac next = mac_of_host(host(from_client ? kServer1 : kClient));
    Counts expected = counts();
    for (std::uint32_t i = 1; i <= times; ++i) {
      std::ranges::copy(headers, wire.bytes.begin());
      const core::Frame frame = process(wire);
      ASSERT_EQ(frame.action, core::Action::transmit) << i;
      ASSERT_TRUE(std::equal(next.octets.begin(), next.octets.end(), frame.data)) << i;
      expected[from_client ? 0 : 2] += 1;
      expected[from_client ? 1 : 3] += size;
      ASSERT_EQ(counts(), expected) << i << " of " << size << " bytes";
    }
  }

  void SetUp() override {
    for (const unsigned port : {kClientPort, kServerPort})
      bench.shared.set_port(static_cast<core::PortIndex>(port - 1), mac_of_port(port), 65521);
  }

  static constexpr std::size_t kHeaders = 54;
  const bool from_client = GetParam();
  const std::uint32_t handshake = from_client ? 2 : 1;  ///< packets
  Bench bench{web(1), {.sessions = 1}};
  Connection session = Connection::open(bench, 40000);

 private:
  core::Frame process(Wire& wire) {
    const auto size = static_cast<std::uint16_t>(wire.bytes.size());
    std::array<core::Frame, 1> frames{core::Frame{.data = wire.bytes.data(),
                                                  .length = size,
                                                  .capacity = size,
                                                  .port = static_cast<core::PortIndex>(wire.port - 1)}};
    core::Spares none;
    bench.worker().process(frames, none, *bench.generation, bench.now);
    return frames[0];
  }
  Counts counts() {
    std::vector<core::SessionView> views;
    std::size_t cursor = 0;
    bench.worker().dump(cursor, 1, {}, bench.now, views);
    const core::SessionView& view = views.at(0);
    return {view.packets_client, view.octets_client, view.packets_real, view.octets_real};
  }
};
INSTANTIATE_TEST_SUITE_P(Directions, VolumeTest, ::testing::Bool(),
                         [](const auto& direction) { return direction.param ? "FromClient" : "FromServer"; });

TEST_P(VolumeTest, Beyond65536PacketsAndThen4GiBIsCountedToTheOctet) {
  pass(65535, 65'540);
}

// 131,072 packets of half of 65,536 bytes are 4 GiB. A packet of the handshake is so much shorter as one of
// the longest frames is longer.
TEST_P(VolumeTest, BothAtTheSamePacketAreCountedToTheOctet) {
  pass(65535, handshake);
  pass(32768, 131'072);
}
TEST_P(VolumeTest, FourGiBOnePacketBeforeTheOtherAreCountedToTheOctet) {
  pass(65535, handshake + 1);
  pass(32768, 131'072);
}

}  // namespace
}  // namespace headgate::testing
