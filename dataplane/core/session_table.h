// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include <emmintrin.h>

#include "dataplane/core/all.h"
#include "dataplane/core/session.h"

namespace headgate::core {

/// Both keys of a session: as its client's packets arrive, and as its real server's do.
struct SessionKeys {
  FlowKey from_client;
  FlowKey from_real;
};

/// Remembers the sessions of one worker, each found from either of its two keys.
///
/// A compact index of buckets, one cache line each, leads to the entries: a slot is an 8-bit tag and a 32-bit
/// place. A key has two buckets; the second is looked at only when the first ever overflowed. A session
/// holds its client's address; VIP and real server are its binding's, which may not change as long as a
/// session holds it. All memory is handed in, so no call allocates; positions, not pointers, so that the
/// memory may be mapped elsewhere later. Not thread-safe: one worker owns it.
class SessionTable {
 public:
  static constexpr std::size_t kMostSessions = (std::size_t{1} << 31) - 1;
  using Position = std::uint32_t;
  static constexpr Position kNowhere = 0;  ///< entry 0 is never used
  /// A position, and in its lowest bit the side whose packets are meant.
  using Place = std::uint32_t;
  static constexpr std::size_t kSlots = 12;
  /// A cache line of the index.
  struct alignas(64) Bucket {
    std::array<std::uint8_t, kSlots> tags;  ///< 0: an empty slot
    std::uint32_t overflowed;               ///< keys of this bucket that live in their second one
    std::array<Place, kSlots> places;
  };

  /// `memory`: bytes_needed(capacity) zeroed bytes at a 64-byte boundary, owned by the caller.
  SessionTable(std::span<std::byte> memory, std::size_t capacity, std::uint64_t seed,
               std::span<const Shared::Binding> bindings) noexcept;
  [[nodiscard]] static std::size_t bytes_needed(std::size_t capacity) noexcept;
  // Where its parts begin, behind the sessions.
  [[nodiscard]] static std::size_t rests_at(std::size_t capacity) noexcept;
  [[nodiscard]] static std::size_t buckets_at(std::size_t capacity) noexcept;

  [[nodiscard]] const HashSeed& seed() const noexcept { return seed_; }
  [[nodiscard]] std::uint64_t hash(const FlowKey& key, Transport transport) const noexcept {
    return core::hash(key, transport, seed_);
  }
  /// The two misses of a look-up, to be overlapped over a burst: first the bucket, which is returned, then
  /// the likely entry.
  [[gnu::always_inline]] const Bucket* prefetch_bucket(std::uint64_t hash) const noexcept {
    const Bucket* bucket = &first_bucket(hash);
    __builtin_prefetch(bucket);
    return bucket;
  }
  /// Returns the likely place of a hash, that of entry 0 when there is none in its first bucket.
  [[gnu::always_inline]] Place prefetch_session(const Bucket* bucket, std::uint64_t hash) const noexcept {
    const std::uint32_t mask = matches(*bucket, hash);
    if (mask == 0) [[unlikely]]
      return kNowhere;
    const Place place = bucket->places[static_cast<std::size_t>(std::countr_zero(std::uint64_t{mask}))];
    __builtin_prefetch(&entry(place), 1);
    return place;
  }

  /// All places that a hash may stand for, until `found` says of one that it does.
  template <class Found>
  [[nodiscard]] bool any_place(std::uint64_t hash, const Found& found) const noexcept {
    const Bucket& first = first_bucket(hash);
    return any_place_in(first, hash, found) ||
           (first.overflowed != 0 && any_place_in(second_bucket(hash), hash, found));
  }
  /// Whether packets from a side of a session carry this key.
  [[nodiscard]] bool matches(const Session& session, Side from, const FlowKey& key,
                             Transport transport) const noexcept;
  /// The session whose packets carry this key with that hash, and from which side; null when there is none.
  [[nodiscard]] Session* find(const FlowKey& key, Transport transport, std::uint64_t hash,
                              Side& from) noexcept;
  [[nodiscard]] Session* find(const FlowKey& key, Transport transport) noexcept {
    Side from{};
    return find(key, transport, hash(key, transport), from);
  }
  /// A new session of a client with a binding, all else at its default. Null when the table is full. Neither
  /// key may be known. `hashes`: of both keys.
  [[nodiscard]] Session* insert(const Ip& client, L4Port client_port, BindingSlot binding, Protocol protocol,
                                const BySide<std::uint64_t>& hashes) noexcept;
  [[nodiscard]] Session* insert(const Ip& client, L4Port client_port, BindingSlot binding,
                                Protocol protocol) noexcept;
  void erase(Session& session) noexcept;
  /// Takes over the sessions that lie in the memory from a process before: makes index and free list anew.
  /// Each used entry must have a binding; of two with a common key, one stays.
  void rebuild() noexcept;
  [[nodiscard]] SessionKeys keys(const Session& session) const noexcept;

  [[nodiscard]] std::size_t size() const noexcept { return size_.get(); }  ///< any thread
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  /// Entries by position, 0 to high_water() - 1, free ones among them: for sweeps and dumps.
  [[nodiscard]] std::size_t high_water() const noexcept { return high_water_; }
  [[nodiscard]] Session& at(std::size_t position) noexcept { return sessions_[position + 1]; }
  [[nodiscard]] const Session& at(std::size_t position) const noexcept { return sessions_[position + 1]; }
  [[nodiscard]] std::size_t position(const Session& session) const noexcept {
    return static_cast<std::size_t>(&session - sessions_) - 1;
  }
  [[nodiscard]] Session& entry(Place place) const noexcept { return sessions_[place >> 1]; }
  [[nodiscard]] static Side side(Place place) noexcept { return static_cast<Side>(place & 1); }
  [[nodiscard]] SessionRest& rest(const Session& session) noexcept { return rests_[&session - sessions_]; }
  [[nodiscard]] const SessionRest& rest(const Session& session) const noexcept {
    return rests_[&session - sessions_];
  }

 private:
  [[nodiscard]] static std::size_t buckets_for(std::size_t capacity) noexcept;
  [[nodiscard]] static std::uint8_t tag_of(std::uint64_t hash) noexcept {
    const auto low = static_cast<std::uint8_t>(hash);
    return static_cast<std::uint8_t>(low + (low < 1 ? 1 : 0));
  }
  [[nodiscard]] Bucket& first_bucket(std::uint64_t hash) const noexcept {
    return buckets_[static_cast<std::uint64_t>(static_cast<unsigned __int128>(hash) * bucket_count_ >> 64)];
  }
  [[nodiscard]] Bucket& second_bucket(std::uint64_t hash) const noexcept {
    return buckets_[(hash >> 8 & 0xffffffff) * bucket_count_ >> 32];
  }
  /// Which slots of a bucket carry the key's tag, as a bit mask.
  [[nodiscard]] static std::uint32_t matches(const Bucket& bucket, std::uint64_t hash) noexcept {
    const __m128i tags = _mm_load_si128(reinterpret_cast<const __m128i*>(&bucket));
    const __m128i equal = _mm_cmpeq_epi8(tags, _mm_set1_epi8(static_cast<char>(tag_of(hash))));
    return static_cast<std::uint32_t>(_mm_movemask_epi8(equal)) & ((1u << kSlots) - 1);
  }
  [[nodiscard]] static Place place_of(Position position, Side side) noexcept {
    return position << 1 | static_cast<Place>(side);
  }
  template <class Found>
  [[nodiscard]] static bool any_place_in(const Bucket& bucket, std::uint64_t hash,
                                         const Found& found) noexcept {
    for (std::uint32_t mask = matches(bucket, hash); mask != 0; mask &= mask - 1) {
      if (found(bucket.places[static_cast<unsigned>(std::countr_zero(mask))])) return true;
    }
    return false;
  }
  [[nodiscard]] static bool put(Bucket& bucket, std::uint64_t hash, Place place) noexcept;
  [[nodiscard]] bool make_room(Bucket& bucket) noexcept;
  [[nodiscard]] bool link(std::uint64_t hash, Place place) noexcept;
  void unlink(std::uint64_t hash, Place place) noexcept;
  void prefetch_buckets_of(const Session& session) const noexcept;
  void relink(Position position) noexcept;

  Session* sessions_;
  SessionRest* rests_;
  Bucket* buckets_;
  std::size_t capacity_;
  std::size_t bucket_count_;
  HashSeed seed_;
  std::span<const Shared::Binding> bindings_;
  Counter size_;
  std::size_t high_water_ = 0;
  Position free_ = kNowhere;  ///< the first free entry below the high water
};

// Without a branch on the direction, which is as random as the packets.
[[gnu::always_inline]] inline bool SessionTable::matches(const Session& session, Side from,
                                                         const FlowKey& key,
                                                         Transport transport) const noexcept {
  const Shared::Binding& binding = bindings_[session.binding];
  const bool client = from == Side::client;
  const auto differ = [](const Ip& a, L4Port a_port, const Ip& b, L4Port b_port) {
    const IpWords x = words(a);
    const IpWords y = words(b);
    return (x.first ^ y.first) | (x.last ^ y.last) | static_cast<std::uint64_t>(a_port ^ b_port);
  };
  const std::uint64_t difference =
      differ(client ? key.source : key.destination, client ? key.source_port : key.destination_port,
             session.client, session.client_port) |
      differ(client ? key.destination : key.source, client ? key.destination_port : key.source_port,
             binding.end[from].address, binding.end[from].port);
  return all(difference == 0, session.transport == transport);
}

}  // namespace headgate::core
