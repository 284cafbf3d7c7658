// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/session_table.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace headgate::core {
namespace {

// Two keys a session, at a mean of 8 of 12 slots: one key in sixty lives in its second bucket.
constexpr std::size_t kMeanSlotsUsed = 8;

}  // namespace

std::size_t SessionTable::buckets_for(std::size_t capacity) noexcept {
  return std::max<std::size_t>(2 * capacity / kMeanSlotsUsed, 16);
}

std::size_t SessionTable::bytes_needed(std::size_t capacity) noexcept {
  const std::size_t rests = (capacity + 1) * sizeof(SessionRest) + sizeof(Bucket) - 1;
  return (capacity + 1) * sizeof(Session) + rests / sizeof(Bucket) * sizeof(Bucket) +
         buckets_for(capacity) * sizeof(Bucket);
}

SessionTable::SessionTable(std::span<std::byte> memory, std::size_t capacity, std::uint64_t seed,
                           std::span<const Shared::Binding> bindings) noexcept
    : sessions_(reinterpret_cast<Session*>(memory.data())),
      rests_(reinterpret_cast<SessionRest*>(sessions_ + capacity + 1)),
      buckets_(reinterpret_cast<Bucket*>(memory.data() + bytes_needed(capacity)) - buckets_for(capacity)),
      capacity_(capacity),
      bucket_count_(buckets_for(capacity)),
      seed_(seed),
      bindings_(bindings) {
  assert(capacity >= 1 && capacity <= kMostSessions);
  assert(memory.size() >= bytes_needed(capacity));
  assert(reinterpret_cast<std::uintptr_t>(memory.data()) % alignof(Session) == 0);
}

Session* SessionTable::find_in(const Bucket& bucket, const FlowKey& key, Protocol protocol,
                               std::uint64_t hash, Side& from) noexcept {
  for (std::uint32_t mask = matches(bucket, hash); mask != 0; mask &= mask - 1) {
    Session& session = sessions_[bucket.positions[static_cast<unsigned>(std::countr_zero(mask))]];
    if (matches(session, key, protocol, from)) return &session;
  }
  return nullptr;
}

Session* SessionTable::find(const FlowKey& key, Protocol protocol, std::uint64_t hash, Side& from) noexcept {
  const Bucket& first = first_bucket(hash);
  if (Session* session = find_in(first, key, protocol, hash, from)) return session;
  return first.overflowed == 0 ? nullptr : find_in(second_bucket(hash), key, protocol, hash, from);
}

SessionKeys SessionTable::keys(const Session& session) const noexcept {
  const Shared::Binding& binding = bindings_[session.binding];
  return {.from_client = {session.client, binding.vip, session.client_port, binding.vport},
          .from_real = {binding.rip, session.client, binding.rport, session.client_port}};
}

bool SessionTable::place(Bucket& bucket, std::uint64_t hash, Position position) noexcept {
  const auto free = std::ranges::find(bucket.tags, 0);
  if (free == bucket.tags.end()) return false;
  *free = tag_of(hash);
  bucket.positions[static_cast<std::size_t>(free - bucket.tags.begin())] = position;
  return true;
}

bool SessionTable::link(std::uint64_t hash, Position position) noexcept {
  Bucket& first = first_bucket(hash);
  if (place(first, hash, position)) return true;
  if (place(second_bucket(hash), hash, position)) {
    ++first.overflowed;
    return true;
  }
  return make_room(first) && place(first, hash, position);
}

// Moves one key of a full bucket to the other bucket it may live in. Without this, a table would refuse one
// session in a hundred long before it is full.
bool SessionTable::make_room(Bucket& bucket) noexcept {
  for (std::size_t slot = 0; slot < kSlots; ++slot) {
    const Position position = bucket.positions[slot];
    const Session& session = sessions_[position];
    if (!session.used()) continue;  // the one that is being linked
    const auto protocol = static_cast<Protocol>(session.protocol);
    const SessionKeys both = keys(session);
    const std::uint64_t client = hash(both.from_client, protocol);
    const std::uint64_t real = hash(both.from_real, protocol);
    if (tag_of(client) == tag_of(real)) continue;  // which key a slot stands for could not be told
    const std::uint64_t key = bucket.tags[slot] == tag_of(client) ? client : real;
    Bucket& first = first_bucket(key);
    const bool at_home = &first == &bucket;
    Bucket& other = at_home ? second_bucket(key) : first;
    if (&other == &bucket || !place(other, key, position)) continue;
    at_home ? ++first.overflowed : --first.overflowed;
    bucket.tags[slot] = 0;
    return true;
  }
  return false;
}

void SessionTable::unlink(std::uint64_t hash, Position position) noexcept {
  const auto remove = [&](Bucket& bucket) {
    for (std::uint32_t mask = matches(bucket, hash); mask != 0; mask &= mask - 1) {
      const auto slot = static_cast<unsigned>(std::countr_zero(mask));
      if (bucket.positions[slot] != position) continue;
      bucket.tags[slot] = 0;
      return true;
    }
    return false;
  };
  Bucket& first = first_bucket(hash);
  if (remove(first)) return;
  [[maybe_unused]] const bool removed = remove(second_bucket(hash));
  assert(removed);
  --first.overflowed;
}

Session* SessionTable::insert(const Ip& client, L4Port client_port, BindingSlot binding,
                              Protocol protocol) noexcept {
  if (size_.get() == capacity_) return nullptr;
  const Position position = free_ != kNowhere ? free_ : static_cast<Position>(high_water_ + 1);
  Session& session = sessions_[position];
  const Session fresh{.client = client, .client_port = client_port, .binding = binding};
  const SessionKeys both = keys(fresh);
  const std::uint64_t client_hash = hash(both.from_client, protocol);
  if (!link(client_hash, position)) return nullptr;
  if (!link(hash(both.from_real, protocol), position)) {
    unlink(client_hash, position);
    return nullptr;
  }
  if (free_ != kNowhere) {
    free_ = session.seen.value;
  } else {
    ++high_water_;
  }
  session = fresh;
  in_this_order();
  session.protocol = static_cast<std::uint8_t>(protocol);
  rests_[position] = SessionRest{};
  size_.add(1);
  return &session;
}

void SessionTable::erase(Session& session) noexcept {
  const auto position = static_cast<Position>(&session - sessions_);
  const auto protocol = static_cast<Protocol>(session.protocol);
  const SessionKeys both = keys(session);
  unlink(hash(both.from_client, protocol), position);
  unlink(hash(both.from_real, protocol), position);
  session.protocol = 0;
  in_this_order();
  session = Session{};
  session.seen.value = free_;
  free_ = position;
  size_.subtract(1);
}

}  // namespace headgate::core
