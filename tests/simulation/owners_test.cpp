// SPDX-License-Identifier: Apache-2.0
// How evenly owner() spreads clients over up to 64 workers.
#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "dataplane/core/owner.h"
#include "tests/model/dice.h"
#include "tests/packet/bench.h"

namespace headgate::testing {
namespace {

constexpr std::array<unsigned, 5> kWorkers = {2, 3, 8, 16, 64};
constexpr std::uint32_t kClients = 65'536;

/// The n-th client of a population, and its port.
struct Client {
  Ip address;
  std::uint16_t port = 0;
};
struct Population {
  std::string name;
  std::function<Client(std::uint32_t, Dice&)> client;
};

Ip ipv6(std::uint64_t low) {
  Ip out = host("2001:db8:1::");
  for (unsigned octet = 0; octet < 8; ++octet)
    out.octets[15 - octet] = static_cast<std::uint8_t>(low >> 8 * octet);
  return out;
}

std::vector<Population> populations() {
  const auto any_port = [](Dice& dice) { return static_cast<std::uint16_t>(dice.between(1024, 65535)); };
  return {
      {"random addresses",
       [=](std::uint32_t, Dice& dice) {
         return Client{Ipv4{0x0b000000 + dice.below(1u << 24)}, any_port(dice)};
       }},
      {"addresses in sequence, one port",
       [](std::uint32_t n, Dice&) {
         return Client{Ipv4{0x0b000000 + n}, 40000};
       }},
      {"addresses 256 apart, one port",
       [](std::uint32_t n, Dice&) {
         return Client{Ipv4{0x0b000001 + 256 * n}, 40000};
       }},
      {"one address, all ports",
       [](std::uint32_t n, Dice&) {
         return Client{Ipv4{0x0b000001}, static_cast<std::uint16_t>(n)};
       }},
      {"16 addresses, even ports in sequence",
       [](std::uint32_t n, Dice&) {
         return Client{Ipv4{0x0b000001 + n / 4096}, static_cast<std::uint16_t>(1024 + n % 4096 * 2)};
       }},
      {"IPv6, random interfaces of one network",
       [=](std::uint32_t, Dice& dice) {
         return Client{ipv6(std::uint64_t{dice.below(1u << 31)} << 32 | dice.below(1u << 31)),
                       any_port(dice)};
       }},
      {"IPv6, interfaces in sequence",
       [](std::uint32_t n, Dice&) {
         return Client{ipv6(n + 1), 40000};
       }},
  };
}

// The switch of these clients: one service of each family.
Bench& bench() {
  static Bench bench(web(1), {.sessions = 64});
  return bench;
}

unsigned owner_of(const Wire& wire, unsigned workers) {
  Bytes bytes = wire.bytes;
  const core::Frame frame{.data = bytes.data(), .length = static_cast<std::uint16_t>(bytes.size())};
  return core::owner(frame, *bench().generation, workers);
}

// If owners were drawn by lot, a worker's share of n clients would be within five standard deviations of
// even in all but one of a million cases.
TEST(Owners, SpreadAnyClientsAsEvenlyAsLots) {
  for (const Population& population : populations()) {
    std::array<double, kWorkers.size()> worst{};
    for (std::size_t which = 0; which < kWorkers.size(); ++which) {
      const unsigned workers = kWorkers[which];
      Dice dice(workers);
      std::vector<std::uint32_t> share(workers);
      for (std::uint32_t n = 0; n < kClients; ++n) {
        const Client client = population.client(n, dice);
        const Ip vip = client.address.is_v4() ? host(kVip) : host("2001:db8::1");
        // Towards the client, since the only IPv6 VIP is none of this switch.
        const Packet packet = ip(vip, client.address).tcp(80, client.port, kAck);
        ++share[owner_of(packet.in(kServerPort), workers)];
      }
      const double even = static_cast<double>(kClients) / workers;
      for (const std::uint32_t count : share)
        worst[which] = std::max(worst[which], std::abs(count - even) / std::sqrt(even));
      EXPECT_LT(worst[which], 5.0) << population.name << ", " << workers << " workers";
    }
    fmt::print("{:40} worst share at 64 workers: {:.1f} % off even, {:.1f} standard deviations\n",
               population.name, worst.back() * 100 / std::sqrt(kClients / 64.0), worst.back());
  }
}

TEST(Owners, AreTheSameForBothDirectionsAndEveryNumberOfWorkers) {
  Dice dice(5);
  for (int round = 0; round < 20'000; ++round) {
    const Ip client = Ipv4{0x0b000000 + dice.below(1u << 24)};
    const auto port = static_cast<std::uint16_t>(dice.below(65536));
    const Packet asks = ip(client, host(kVip)).tcp(port, 80, kAck);
    const Packet replies = ip(host(kServer1), client).tcp(8080, port, kAck);
    for (const unsigned workers : kWorkers) {
      const unsigned owner = owner_of(asks.in(kClientPort), workers);
      ASSERT_EQ(owner, owner_of(replies.in(kServerPort), workers));
      ASSERT_LT(owner, workers);
    }
  }
}

}  // namespace
}  // namespace headgate::testing
