// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/core/session.h"

namespace headgate::core {

/// Remembers the sessions of one worker, each found from either of its two keys.
///
/// A compact index of buckets, one cache line each, leads to the entries: a slot is an 8-bit tag and a 24-bit
/// position. A key has two buckets; the second is looked at only when the first ever overflowed. All memory
/// is handed in, so no call allocates; positions, not pointers, so that the memory may be mapped elsewhere
/// later. Not thread-safe: one worker owns it.
class SessionTable {
 public:
  static constexpr std::size_t kMostSessions = (std::size_t{1} << 24) - 2;

  /// `memory`: bytes_needed(capacity) zeroed bytes at a 64-byte boundary, owned by the caller.
  SessionTable(std::span<std::byte> memory, std::size_t capacity, std::uint64_t seed) noexcept;
  [[nodiscard]] static std::size_t bytes_needed(std::size_t capacity) noexcept;

  [[nodiscard]] std::uint64_t hash(const FlowKey& key, Protocol protocol) const noexcept {
    return core::hash(key, protocol, seed_);
  }
  /// The two misses of a look-up, to be overlapped over a burst: first the bucket, then the likely entry.
  void prefetch_bucket(std::uint64_t hash) const noexcept { __builtin_prefetch(&first_bucket(hash)); }
  void prefetch_session(std::uint64_t hash) const noexcept;

  /// The session whose packets of either direction carry this key; null when there is none.
  [[nodiscard]] Session* find(const FlowKey& key, Protocol protocol, std::uint64_t hash) noexcept;
  [[nodiscard]] Session* find(const FlowKey& key, Protocol protocol) noexcept {
    return find(key, protocol, hash(key, protocol));
  }
  /// A new session with these keys, all else at its default. Null when the table is full. Neither key may be
  /// known.
  [[nodiscard]] Session* insert(const FlowKey& from_client, const FlowKey& from_real,
                                Protocol protocol) noexcept;
  void erase(Session& session) noexcept;

  [[nodiscard]] std::size_t size() const noexcept { return size_.get(); }  ///< any thread
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  /// Entries by position, 0 to high_water() - 1, free ones among them: for sweeps and dumps.
  [[nodiscard]] std::size_t high_water() const noexcept { return high_water_; }
  [[nodiscard]] Session& at(std::size_t position) noexcept { return sessions_[position + 1]; }
  [[nodiscard]] const Session& at(std::size_t position) const noexcept { return sessions_[position + 1]; }

 private:
  static constexpr std::size_t kSlots = 15;
  static constexpr std::uint32_t kPosition = (1u << 24) - 1;
  struct alignas(64) Bucket {
    std::array<std::uint32_t, kSlots> slots;
    std::uint32_t overflowed;  ///< keys of this bucket that live in their second one
  };

  [[nodiscard]] static std::size_t buckets_for(std::size_t capacity) noexcept;
  [[nodiscard]] Bucket& first_bucket(std::uint64_t hash) const noexcept {
    return buckets_[(hash >> 32) * bucket_count_ >> 32];
  }
  [[nodiscard]] Bucket& second_bucket(std::uint64_t hash) const noexcept {
    return buckets_[(hash >> 8 & 0xffffffff) * bucket_count_ >> 32];
  }
  [[nodiscard]] static std::uint32_t matches(const Bucket& bucket, std::uint64_t hash) noexcept;
  [[nodiscard]] Session* find_in(const Bucket& bucket, const FlowKey& key, Protocol protocol,
                                 std::uint64_t hash) noexcept;
  [[nodiscard]] static bool place(Bucket& bucket, std::uint64_t hash, std::uint32_t position) noexcept;
  [[nodiscard]] bool make_room(Bucket& bucket) noexcept;
  [[nodiscard]] bool link(std::uint64_t hash, std::uint32_t position) noexcept;
  void unlink(std::uint64_t hash, std::uint32_t position) noexcept;

  Session* sessions_;  ///< entry 0 is never used: position 0 means an empty slot
  Bucket* buckets_;
  std::size_t capacity_;
  std::size_t bucket_count_;
  std::uint64_t seed_;
  Counter size_;
  std::size_t high_water_ = 0;
  std::uint32_t free_ = 0;  ///< position of the first free entry below the high water, 0: none
};

}  // namespace headgate::core
