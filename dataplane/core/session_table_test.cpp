// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/session_table.h"

#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <random>
#include <tuple>

#include <gtest/gtest.h>

namespace headgate::core {
namespace {

struct Memory {
  explicit Memory(std::size_t capacity)
      : length(SessionTable::bytes_needed(capacity)),
        bytes(static_cast<std::byte*>(::operator new (length, std::align_val_t{64}))) {
    std::memset(bytes, 0, length);
  }
  ~Memory() { ::operator delete (bytes, std::align_val_t{64}); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  std::size_t length;
  std::byte* bytes;
};

struct Table : Memory, SessionTable {
  Table(std::size_t capacity, std::uint64_t seed)
      : Memory(capacity), SessionTable({bytes, length}, capacity, seed, bindings()) {}

  // Three servers of one service.
  static std::span<const Shared::Binding> bindings() {
    static const std::vector<Shared::Binding> all = [] {
      std::vector<Shared::Binding> made(3);
      for (std::uint32_t i = 0; i < 3; ++i) made[i].assign(Ipv4{0x0a0a0164}, 80, Ipv4{0x0a0a020b + i}, 8080);
      return made;
    }();
    return all;
  }
};

constexpr Transport kTcp(Protocol::tcp, false);
constexpr Transport kUdp(Protocol::udp, false);

constexpr Ip client(std::uint32_t n) {
  return Ipv4{0x0a0a0000 + n / 60000};
}
constexpr L4Port client_port(std::uint32_t n) {
  return static_cast<L4Port>(1024 + n % 60000);
}

FlowKey client_key(std::uint32_t n) {
  return {client(n), Ipv4{0x0a0a0164}, client_port(n), 80};
}

FlowKey real_key(std::uint32_t n) {
  return {Ipv4{0x0a0a020b + n % 3}, client(n), 8080, client_port(n)};
}

Session* add(SessionTable& table, std::uint32_t n) {
  return table.insert(client(n), client_port(n), static_cast<BindingSlot>(n % 3), Protocol::tcp);
}

// Both keys lead to the session of number n, or neither does.
void expect_known(SessionTable& table, std::uint32_t n, bool known) {
  Session* by_client = table.find(client_key(n), kTcp);
  Session* by_real = table.find(real_key(n), kTcp);
  ASSERT_EQ(by_client != nullptr, known) << n;
  ASSERT_EQ(by_client, by_real) << n;
  if (!known) return;
  ASSERT_EQ(table.keys(*by_client).from_client, client_key(n));
  ASSERT_EQ(table.keys(*by_client).from_real, real_key(n));
  ASSERT_EQ(by_client->from[Side::client].next, n) << "another session's contents";
}

class SessionTableAgainstMap : public ::testing::TestWithParam<std::uint64_t> {};

// A small table that is nearly always full, so that buckets overflow and free entries are used again.
TEST_P(SessionTableAgainstMap, RandomOperationsGiveTheSame) {
  constexpr std::size_t kCapacity = 600;
  std::mt19937_64 random(GetParam());
  Table table(kCapacity, random());
  std::map<std::uint32_t, bool> model;
  for (int step = 0; step < 60000; ++step) {
    const auto n = static_cast<std::uint32_t>(random() % 900);
    const bool known = model.contains(n);
    if (known && random() % 2 == 0) {
      table.erase(*table.find(random() % 2 == 0 ? client_key(n) : real_key(n), kTcp));
      model.erase(n);
    } else if (!known) {
      Session* session = add(table, n);
      ASSERT_FALSE(session != nullptr && model.size() == kCapacity);
      if (session != nullptr) session->from[Side::client].next = n, model[n] = true;
    }
    ASSERT_EQ(table.size(), model.size());
    const auto probe = static_cast<std::uint32_t>(random() % 900);
    expect_known(table, probe, model.contains(probe));
  }
  for (std::uint32_t n = 0; n < 900; ++n) expect_known(table, n, model.contains(n));
}

INSTANTIATE_TEST_SUITE_P(Seeds, SessionTableAgainstMap, ::testing::Values(1, 2, 3, 4, 5));

TEST(SessionTable, HoldsItsWholeCapacityAndRefusesTheNext) {
  for (const std::size_t capacity : {1u, 2u, 100u, 16384u, 100000u}) {
    Table table(capacity, 7);
    for (std::uint32_t n = 0; n < capacity; ++n) {
      Session* session = add(table, n);
      ASSERT_NE(session, nullptr) << n << " of " << capacity;
      session->from[Side::client].next = n;
    }
    EXPECT_EQ(add(table, static_cast<std::uint32_t>(capacity)), nullptr);
    EXPECT_EQ(table.size(), capacity);
    for (std::uint32_t n = 0; n < capacity; ++n) expect_known(table, n, true);
  }
}

TEST(SessionTable, RecoversAfterItWasFull) {
  Table table(1000, 7);
  for (std::uint32_t round = 0; round < 20; ++round) {
    std::uint32_t made = 0;
    while (Session* session = add(table, round * 100000 + made))
      session->from[Side::client].next = round * 100000 + made++;
    EXPECT_EQ(made, 1000u);
    for (std::uint32_t n = 0; n < made; ++n) {
      table.erase(*table.find(client_key(round * 100000 + n), kTcp));
    }
    EXPECT_EQ(table.size(), 0u);
  }
  EXPECT_EQ(table.high_water(), 1000u);
}

TEST(SessionTable, ARefusedInsertLeavesNothingBehind) {
  Table table(1, 7);
  ASSERT_NE(add(table, 1), nullptr);
  EXPECT_EQ(add(table, 2), nullptr);
  EXPECT_EQ(table.find(client_key(2), kTcp), nullptr);
  EXPECT_EQ(table.find(real_key(2), kTcp), nullptr);
}

TEST(SessionTable, ProtocolsAreApart) {
  Table table(10, 7);
  add(table, 1);
  EXPECT_EQ(table.find(client_key(1), kUdp), nullptr);
  ASSERT_NE(table.insert(client(1), client_port(1), 1, Protocol::udp), nullptr);
  EXPECT_NE(table.find(client_key(1), kTcp), table.find(client_key(1), kUdp));
}

TEST(SessionTable, AnEmptyKeyFindsNothing) {
  Table table(10, 7);
  EXPECT_EQ(table.find({}, kTcp), nullptr);
}

TEST(SessionTable, AnErasedEntryIsFreeAndBlank) {
  Table table(10, 7);
  Session* session = add(table, 1);
  session->marks = 0xff;
  table.erase(*session);
  EXPECT_FALSE(table.at(0).used());
  Session* again = add(table, 2);
  EXPECT_EQ(again, session);
  EXPECT_EQ(again->marks, 0);
}

}  // namespace
}  // namespace headgate::core
