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

std::size_t SessionTable::rests_at(std::size_t capacity) noexcept {
  return (capacity + 1) * sizeof(Session);
}

std::size_t SessionTable::buckets_at(std::size_t capacity) noexcept {
  const std::size_t rests = (capacity + 1) * sizeof(SessionRest) + sizeof(Bucket) - 1;
  return rests_at(capacity) + rests / sizeof(Bucket) * sizeof(Bucket);
}

std::size_t SessionTable::bytes_needed(std::size_t capacity) noexcept {
  return buckets_at(capacity) + buckets_for(capacity) * sizeof(Bucket);
}

SessionTable::SessionTable(std::span<std::byte> memory, std::size_t capacity, std::uint64_t seed,
                           std::span<const Shared::Binding> bindings) noexcept
    : sessions_(reinterpret_cast<Session*>(memory.data())),
      rests_(reinterpret_cast<SessionRest*>(memory.data() + rests_at(capacity))),
      buckets_(reinterpret_cast<Bucket*>(memory.data() + buckets_at(capacity))),
      capacity_(capacity),
      bucket_count_(buckets_for(capacity)),
      seed_(seed),
      bindings_(bindings) {
  assert(capacity >= 1 && capacity <= kMostSessions);
  assert(memory.size() >= bytes_needed(capacity));
  assert(reinterpret_cast<std::uintptr_t>(memory.data()) % alignof(Session) == 0);
}

Session* SessionTable::find(const FlowKey& key, Transport transport, std::uint64_t hash,
                            Side& from) noexcept {
  Place at = 0;
  const auto is_it = [&](Place place) {
    at = place;
    return matches(entry(place), side(place), key, transport);
  };
  if (!any_place(hash, is_it)) return nullptr;
  from = side(at);
  return &entry(at);
}

SessionKeys SessionTable::keys(const Session& session) const noexcept {
  const Shared::Binding& binding = bindings_[session.binding];
  return {.from_client = {session.client, binding.vip(), session.client_port, binding.vport()},
          .from_real = {binding.rip(), session.client, binding.rport(), session.client_port}};
}

bool SessionTable::put(Bucket& bucket, std::uint64_t hash, Place place) noexcept {
  const auto free = std::ranges::find(bucket.tags, 0);
  if (free == bucket.tags.end()) return false;
  *free = tag_of(hash);
  bucket.places[static_cast<std::size_t>(free - bucket.tags.begin())] = place;
  return true;
}

bool SessionTable::link(std::uint64_t hash, Place place) noexcept {
  Bucket& first = first_bucket(hash);
  if (put(first, hash, place)) return true;
  if (put(second_bucket(hash), hash, place)) {
    ++first.overflowed;
    return true;
  }
  return make_room(first) && put(first, hash, place);
}

// Moves one key of a full bucket to the other bucket it may live in. Without this, a table would refuse one
// session in a hundred long before it is full.
bool SessionTable::make_room(Bucket& bucket) noexcept {
  for (std::size_t slot = 0; slot < kSlots; ++slot) {
    const Place place = bucket.places[slot];
    const Session& session = entry(place);
    if (!session.used()) continue;  // the one that is being linked
    const SessionKeys both = keys(session);
    const std::uint64_t key =
        hash(side(place) == Side::client ? both.from_client : both.from_real, session.transport);
    Bucket& first = first_bucket(key);
    const bool at_home = &first == &bucket;
    Bucket& other = at_home ? second_bucket(key) : first;
    if (&other == &bucket || !put(other, key, place)) continue;
    at_home ? ++first.overflowed : --first.overflowed;
    bucket.tags[slot] = 0;
    return true;
  }
  return false;
}

void SessionTable::unlink(std::uint64_t hash, Place place) noexcept {
  const auto remove = [&](Bucket& bucket) {
    for (std::uint32_t mask = matches(bucket, hash); mask != 0; mask &= mask - 1) {
      const auto slot = static_cast<unsigned>(std::countr_zero(mask));
      if (bucket.places[slot] != place) continue;
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
  const Transport transport(protocol, !client.is_v4());
  const SessionKeys both = keys({.client = client, .client_port = client_port, .binding = binding});
  return insert(client, client_port, binding, protocol,
                {{hash(both.from_client, transport), hash(both.from_real, transport)}});
}

Session* SessionTable::insert(const Ip& client, L4Port client_port, BindingSlot binding, Protocol protocol,
                              const BySide<std::uint64_t>& hashes) noexcept {
  if (size_.get() == capacity_) return nullptr;
  const Position position = free_ != kNowhere ? free_ : static_cast<Position>(high_water_ + 1);
  Session& session = sessions_[position];
  if (!link(hashes[Side::client], place_of(position, Side::client))) return nullptr;
  if (!link(hashes[Side::real], place_of(position, Side::real))) {
    unlink(hashes[Side::client], place_of(position, Side::client));
    return nullptr;
  }
  if (free_ != kNowhere) {
    free_ = session.seen.value;
  } else {
    ++high_water_;
  }
  session = {.client = client, .client_port = client_port, .binding = binding};
  in_this_order();
  session.transport = Transport(protocol, !client.is_v4());
  rests_[position] = SessionRest{};
  size_.add(1);
  const Position next = free_ != kNowhere ? free_ : static_cast<Position>(high_water_ + 1);
  if (next <= capacity_) {  // the next one to be opened
    __builtin_prefetch(&sessions_[next], 1);
    __builtin_prefetch(&rests_[next], 1);
  }
  return &session;
}

void SessionTable::erase(Session& session) noexcept {
  const auto position = static_cast<Position>(&session - sessions_);
  const SessionKeys both = keys(session);
  unlink(hash(both.from_client, session.transport), place_of(position, Side::client));
  unlink(hash(both.from_real, session.transport), place_of(position, Side::real));
  session.transport = {};
  in_this_order();
  session = Session{};
  session.seen.value = free_;
  free_ = position;
  size_.subtract(1);
}

}  // namespace headgate::core
