// SPDX-License-Identifier: Apache-2.0
#include "tests/packet/survival_bed.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <gtest/gtest.h>

namespace headgate::testing {
namespace {

using google::protobuf::Message;

constexpr std::size_t kShared = 1 << 16;
constexpr std::size_t kCounters = kShared + (std::size_t{12} << 20);
constexpr std::size_t kDone = kCounters + (std::size_t{4} << 20);
constexpr std::size_t kSize = kDone + 4096;

std::byte* map() {
  void* at = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) std::abort();
  return static_cast<std::byte*>(at);
}

}  // namespace

// ---- Memory

Memory::Memory() : at_(map()) {}

Memory::Memory(const Memory& other) : Memory() {
  std::memcpy(at_, other.at_, kSize);
}

Memory::~Memory() {
  munmap(at_, kSize);
}

void Memory::take_sessions(const Memory& other) const {
  std::memcpy(at_, other.at_, table().size());
}

std::vector<std::span<std::byte>> Memory::live() const {
  constexpr std::size_t kBindings = 16, kTallies = 64;
  using core::Shared;
  return {table(),
          shared().first(kBindings * sizeof(Shared::Binding)),
          shared().subspan(Shared::kTalliesAt, kTallies * sizeof(core::Tally)),
          shared().subspan(Shared::kGroupsAt, kBindings * sizeof(core::TallySlot)),
          shared().subspan(Shared::kTotalsAt),
          counters().first(offsetof(core::Switch::Counters, traffic) +
                           kBindings * sizeof(core::Switch::Traffic))};
}

std::span<std::byte> Memory::shared() const {
  return {at_ + kShared, core::Shared::kBytes};
}

std::span<std::byte> Memory::counters() const {
  return {at_ + kCounters, core::Switch::kCounterBytes};
}

std::span<std::byte> Memory::table() const {
  return {at_, core::SessionTable::bytes_needed(kSessions)};
}

std::uint64_t Memory::done() const {
  return __atomic_load_n(reinterpret_cast<std::uint64_t*>(at_ + kDone), __ATOMIC_ACQUIRE);
}

void Memory::set_done(std::uint64_t steps) const {
  __atomic_store_n(reinterpret_cast<std::uint64_t*>(at_ + kDone), steps, __ATOMIC_RELEASE);
}

// ---- The core

Stored all_open(const Site& site) {
  Stored stored{.generation = site.generation(), .states = {}, .slots = {}};
  const auto open = [&](const forwarding::Member& member) {
    auto& state = *stored.states.add_target();
    *state.mutable_target() = member.target();
    state.set_admission(forwarding::OPEN);
  };
  for (const auto& service : site.generation().service()) {
    for (const auto& member : service.member()) {
      open(member);
      std::ranges::for_each(member.backup(), open);
    }
  }
  return stored;
}

Core::Core(const Memory& memory, const Stored& stored, Tick start)
    : shared(memory.shared()),
      worker({.memory = memory.table(),
              .sessions = kSessions,
              .seed = 42,
              .counters = memory.counters(),
              .survived = stored.slots.has_value(),
              .now = start},
             shared),
      now(start) {
  shared.persistence = &persistence;
  director.set_workers({&worker});
  if (stored.slots) director.recall(*stored.slots);
  director.set_states(stored.states);
  director.set_ports({PortNumber{kClientPort}, PortNumber{kServerPort}});
  director.set_routes(Bench::connected());
  shared.set_port(0, mac_of_port(kClientPort), 1500);
  shared.set_port(1, mac_of_port(kServerPort), 1500);
  EXPECT_TRUE(director.publish(stored.generation).ok());
  generation = director.build();
}

void Core::pass(const Wire& wire) {
  constexpr std::size_t kRoom = 1600;
  std::array<std::uint8_t, kRoom> octets, room;
  std::ranges::copy(wire.bytes, octets.begin());
  core::Frame frame{.data = octets.data(),
                    .length = static_cast<std::uint16_t>(wire.bytes.size()),
                    .capacity = kRoom,
                    .port = static_cast<core::PortIndex>(wire.port - 1)};
  core::Frame spare{.data = room.data(), .capacity = kRoom};
  core::Spares spares{.frames = {&spare, 1}};
  worker.process({&frame, 1}, spares, *generation, now);
}

void Core::publish(const Site& site) {
  EXPECT_TRUE(director.publish(site.generation()).ok());
  generation = director.build();
}

void Core::admit(const forwarding::Target& target, forwarding::Admission admission) {
  forwarding::States states;
  auto& state = *states.add_target();
  *state.mutable_target() = target;
  state.set_admission(admission);
  director.set_states(states);
  generation = director.build();
}

Stored Core::store() const {
  return {.generation = director.published(), .states = director.states(), .slots = director.slots()};
}

// ---- Counts

void expect_no_total_falls(const Message& before, const Message& after, const std::string& where) {
  static const std::set<std::string> kNow = {"current", "current_sessions", "half_open_sessions",
                                             "fragmented_current", "bound_clients"};
  const auto& read = *before.GetReflection();
  for (int i = 0; i < before.GetDescriptor()->field_count(); ++i) {
    const auto* field = before.GetDescriptor()->field(i);
    const std::string name = where + "." + field->name();
    if (field->is_repeated()) {
      ASSERT_EQ(read.FieldSize(before, field), read.FieldSize(after, field)) << name;
      for (int row = 0; row < read.FieldSize(before, field); ++row)
        expect_no_total_falls(read.GetRepeatedMessage(before, field, row),
                              read.GetRepeatedMessage(after, field, row), name + std::to_string(row));
    } else if (field->cpp_type() == field->CPPTYPE_MESSAGE) {
      expect_no_total_falls(read.GetMessage(before, field), read.GetMessage(after, field), name);
    } else if (field->cpp_type() == field->CPPTYPE_UINT64 && !kNow.contains(field->name())) {
      EXPECT_GE(read.GetUInt64(after, field), read.GetUInt64(before, field)) << name;
    }
  }
}

}  // namespace headgate::testing
