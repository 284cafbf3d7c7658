// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/session_table.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include <emmintrin.h>

namespace headgate::core {
namespace {

// Two keys a session, at a mean of 9 of 15 slots: one key in twenty lives in its second bucket.
constexpr std::size_t kMeanSlotsUsed = 9;

}  // namespace

std::size_t SessionTable::buckets_for(std::size_t capacity) noexcept {
  return std::max<std::size_t>(2 * capacity / kMeanSlotsUsed, 16);
}

std::size_t SessionTable::bytes_needed(std::size_t capacity) noexcept {
  return (capacity + 1) * sizeof(Session) + buckets_for(capacity) * sizeof(Bucket);
}

SessionTable::SessionTable(std::span<std::byte> memory, std::size_t capacity, std::uint64_t seed) noexcept
    : sessions_(reinterpret_cast<Session*>(memory.data())),
      buckets_(reinterpret_cast<Bucket*>(sessions_ + capacity + 1)),
      capacity_(capacity),
      bucket_count_(buckets_for(capacity)),
      seed_(seed) {
  assert(capacity >= 1 && capacity <= kMostSessions);
  assert(memory.size() >= bytes_needed(capacity));
  assert(reinterpret_cast<std::uintptr_t>(memory.data()) % alignof(Session) == 0);
}

// Which slots of a bucket carry the key's tag, as a bit mask. An empty slot leads to entry 0, which matches
// no key.
std::uint32_t SessionTable::matches(const Bucket& bucket, std::uint64_t hash) noexcept {
  const __m128i tag = _mm_set1_epi32(static_cast<int>(hash & 0xff));
  const auto* words = reinterpret_cast<const __m128i*>(bucket.slots.data());
  const auto equal = [&](int i) {
    return _mm_cmpeq_epi32(_mm_srli_epi32(_mm_load_si128(words + i), 24), tag);
  };
  const __m128i low = _mm_packs_epi32(equal(0), equal(1));
  const __m128i high = _mm_packs_epi32(equal(2), equal(3));
  return static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(low, high))) & ((1u << kSlots) - 1);
}

void SessionTable::prefetch_session(std::uint64_t hash) const noexcept {
  const Bucket& bucket = first_bucket(hash);
  const std::uint32_t mask = matches(bucket, hash);
  if (mask == 0) return;
  __builtin_prefetch(&sessions_[bucket.slots[static_cast<unsigned>(std::countr_zero(mask))] & kPosition], 1);
}

Session* SessionTable::find_in(const Bucket& bucket, const FlowKey& key, Protocol protocol,
                               std::uint64_t hash) noexcept {
  for (std::uint32_t mask = matches(bucket, hash); mask != 0; mask &= mask - 1) {
    const auto slot = static_cast<unsigned>(std::countr_zero(mask));
    Session& session = sessions_[bucket.slots[slot] & kPosition];
    const bool same = session.from_client == key || session.from_real == key;
    if (same && session.protocol == static_cast<std::uint8_t>(protocol)) return &session;
  }
  return nullptr;
}

Session* SessionTable::find(const FlowKey& key, Protocol protocol, std::uint64_t hash) noexcept {
  const Bucket& first = first_bucket(hash);
  if (Session* session = find_in(first, key, protocol, hash)) return session;
  return first.overflowed == 0 ? nullptr : find_in(second_bucket(hash), key, protocol, hash);
}

bool SessionTable::place(Bucket& bucket, std::uint64_t hash, std::uint32_t position) noexcept {
  const auto free = std::ranges::find(bucket.slots, 0u);
  if (free == bucket.slots.end()) return false;
  *free = static_cast<std::uint32_t>(hash & 0xff) << 24 | position;
  return true;
}

bool SessionTable::link(std::uint64_t hash, std::uint32_t position) noexcept {
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
  for (std::uint32_t& slot : bucket.slots) {
    const std::uint32_t position = slot & kPosition;
    const Session& session = sessions_[position];
    if (!session.used()) continue;  // the one that is being linked
    const auto protocol = static_cast<Protocol>(session.protocol);
    const std::uint64_t client = hash(session.from_client, protocol);
    const std::uint64_t real = hash(session.from_real, protocol);
    if ((client & 0xff) == (real & 0xff)) continue;  // which key a slot stands for could not be told
    const std::uint64_t key = slot >> 24 == (client & 0xff) ? client : real;
    Bucket& first = first_bucket(key);
    const bool at_home = &first == &bucket;
    Bucket& other = at_home ? second_bucket(key) : first;
    if (&other == &bucket || !place(other, key, position)) continue;
    at_home ? ++first.overflowed : --first.overflowed;
    slot = 0;
    return true;
  }
  return false;
}

void SessionTable::unlink(std::uint64_t hash, std::uint32_t position) noexcept {
  const auto remove = [&](Bucket& bucket) {
    const auto found =
        std::ranges::find(bucket.slots, static_cast<std::uint32_t>(hash & 0xff) << 24 | position);
    if (found == bucket.slots.end()) return false;
    *found = 0;
    return true;
  };
  Bucket& first = first_bucket(hash);
  if (remove(first)) return;
  [[maybe_unused]] const bool removed = remove(second_bucket(hash));
  assert(removed);
  --first.overflowed;
}

Session* SessionTable::insert(const FlowKey& from_client, const FlowKey& from_real,
                              Protocol protocol) noexcept {
  if (size_.get() == capacity_) return nullptr;
  const std::uint32_t position = free_ != 0 ? free_ : static_cast<std::uint32_t>(high_water_ + 1);
  const std::uint64_t client_hash = hash(from_client, protocol);
  if (!link(client_hash, position)) return nullptr;
  if (!link(hash(from_real, protocol), position)) {
    unlink(client_hash, position);
    return nullptr;
  }
  Session& session = sessions_[position];
  if (free_ != 0) {
    free_ = session.next_free;
  } else {
    ++high_water_;
  }
  session = Session{};
  session.from_client = from_client;
  session.from_real = from_real;
  session.protocol = static_cast<std::uint8_t>(protocol);
  size_.add(1);
  return &session;
}

void SessionTable::erase(Session& session) noexcept {
  const auto position = static_cast<std::uint32_t>(&session - sessions_);
  const auto protocol = static_cast<Protocol>(session.protocol);
  unlink(hash(session.from_client, protocol), position);
  unlink(hash(session.from_real, protocol), position);
  session = Session{};
  session.next_free = free_;
  free_ = position;
  size_.subtract(1);
}

}  // namespace headgate::core
