// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "dataplane/core/burst.h"
#include "model/ip.h"
#include "model/tick.h"

namespace headgate::core {

/// Which client stays with which real server (pbind clientip, reference 5.3): all services of a virtual
/// server and all workers see the same table.
///
/// An entry is held by each session of its client; when the last one ends it stays for its time-out. Bounded:
/// memory is taken once, and a client that finds no room is just not remembered. Lock-free: no
/// thread ever waits for another. Only touched pages take memory.
///
/// Threads: find, bind, hold, release and rebind are any worker's; expire, dump and clear may run beside them
/// in one other thread.
class Persistence {
 public:
  /// Who is remembered: clients that agree in all of this are one.
  struct Key {
    Ip client;  ///< its first bits only, as pmask says
    Ip vip;
    std::uint32_t group = 0;  ///< 0; of a service that doesn't have the server that 0 stands for: its group
    bool operator==(const Key&) const = default;
  };
  /// An entry that is held, until release(): 0 is none.
  using Use = std::uint32_t;
  struct Held {
    Use use = 0;
    std::uint32_t real = 0;  ///< the server's number
  };
  struct View {
    Key key;
    std::uint32_t real = 0;
    std::uint32_t users = 0;
    std::uint32_t left_seconds = 0;  ///< until it is forgotten; 0 while it has users
  };

  /// At most so many entries, 1 to 2^31; `seed` is random per start.
  Persistence(std::size_t entries, std::uint64_t seed);

  /// Holds the entry of a client, when there is one.
  [[nodiscard]] Held hold(const Key& key) noexcept;
  /// Holds the entry of a client, or makes one that says `real`. With two that make one at the same moment
  /// the first wins: the caller goes by the server that is returned. No use when there is no room.
  [[nodiscard]] Held bind(const Key& key, std::uint32_t real) noexcept;
  /// The client of an entry that is held belongs to another server than `from` from now on. With two that
  /// change it at the same moment the first wins; the server that it belongs to is returned.
  std::uint32_t rebind(Use use, std::uint32_t from, std::uint32_t to) noexcept;
  /// A session of the client ended, or did not come to be. After the last one the entry stays for so long.
  void release(Use use, Tick now, std::uint32_t seconds) noexcept;

  /// What was held is not used after all: the client's time goes on as if it had not been looked at.
  void leave(Use use) noexcept;

  /// Looks at the next `budget` buckets and forgets entries whose time is over; returns how many.
  std::size_t expire(Tick now, std::size_t budget) noexcept;
  /// Calls `see(View)` for entries, `budget` buckets from `cursor` on; true while there is more.
  template <class See>
  bool dump(std::size_t& cursor, std::size_t budget, Tick now, See see) const {
    for (; budget > 0 && cursor < bucket_count_; --budget, ++cursor) {
      for (unsigned lane = 0; lane < kLanes; ++lane)
        if (const auto view = look(cursor, lane, now)) see(*view);
    }
    return cursor < bucket_count_;
  }
  /// Forgets entries that `match(View)`: their clients' next sessions are bound anew. Sessions that hold one
  /// go on. True while there is more; `cleared` grows by their number.
  template <class Match>
  bool clear(std::size_t& cursor, std::size_t budget, Tick now, std::size_t& cleared, Match match) {
    for (; budget > 0 && cursor < bucket_count_; --budget, ++cursor) {
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        const auto view = look(cursor, lane, now);
        if (view && match(*view)) cleared += hide(cursor, lane) ? 1 : 0;
      }
    }
    return cursor < bucket_count_;
  }

  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] std::size_t buckets() const noexcept { return bucket_count_; }
  /// Entries now, those hidden by clear() but still held among them.
  [[nodiscard]] std::size_t size() const noexcept { return size_.load(std::memory_order_relaxed); }

 private:
  static constexpr unsigned kLanes = 32;
  /// Entries of a bucket on average when the table is full.
  static constexpr unsigned kUsual = 20;
  using Words = std::array<std::uint64_t, 5>;  ///< a key

  /// A lane is free, then claimed by one thread, which writes its key, then somebody's: kFirst and more says
  /// how many hold it. It is found while its bit in Bucket::live is set, and free again when nobody holds it
  /// and it can't be found any more. A fresh page is all free lanes.
  static constexpr std::uint32_t kFree = 0, kClaimed = 1, kFirst = 2;
  struct alignas(64) Entry {
    std::atomic<std::uint32_t> users{kFree};
    std::atomic<std::uint32_t> real{0};
    std::atomic<std::uint32_t> last{0};  ///< Tick of the last release
    std::atomic<std::uint32_t> seconds{0};
    std::array<std::atomic<std::uint64_t>, 5> key{};
  };
  struct alignas(64) Bucket {
    /// A bit for each lane that is found, and above them a number that grows with each change: an entry
    /// begins to be found only if nothing has changed since its maker looked for one of the same client.
    std::atomic<std::uint64_t> live{0};
    std::array<std::atomic<std::uint64_t>, kLanes / 8> tags{};  ///< a byte a lane
  };

  [[nodiscard]] static Words words_of(const Key& key) noexcept;
  [[nodiscard]] std::uint64_t hash(const Words& key) const noexcept;
  [[nodiscard]] Bucket& bucket(std::size_t number) const noexcept { return buckets_[number]; }
  [[nodiscard]] Entry& entry(std::size_t bucket, unsigned lane) const noexcept {
    return entries_[bucket * kLanes + lane];
  }
  [[nodiscard]] std::size_t bucket_of(std::uint64_t hash) const noexcept {
    return static_cast<std::size_t>((hash >> 32) * bucket_count_ >> 32);
  }
  [[nodiscard]] static Use use_of(std::size_t bucket, unsigned lane) noexcept {
    return static_cast<Use>(bucket * kLanes + lane + 1);
  }
  [[nodiscard]] Held find(std::uint64_t hash, std::uint64_t live, const Words& key) noexcept;
  [[nodiscard]] static bool same(const Entry& entry, const Words& key) noexcept;
  [[nodiscard]] static bool join(Entry& entry) noexcept;
  void leave(std::size_t bucket, unsigned lane) noexcept;
  [[nodiscard]] std::optional<unsigned> claim(std::size_t bucket, std::uint64_t live) noexcept;
  void fill(std::uint64_t hash, unsigned lane, const Words& key, std::uint32_t real) noexcept;
  bool hide(std::size_t bucket, unsigned lane) noexcept;
  void free_unused(std::size_t bucket, unsigned lane) noexcept;
  [[nodiscard]] static bool over(const Entry& entry, Tick now) noexcept;
  [[nodiscard]] std::optional<View> look(std::size_t bucket, unsigned lane, Tick now) const noexcept;

  struct Unmap {
    std::size_t bytes = 0;
    void operator()(void* memory) const noexcept;
  };
  std::size_t capacity_;
  std::size_t bucket_count_;
  std::uint64_t seed_;
  std::unique_ptr<Bucket[], Unmap> buckets_;
  std::unique_ptr<Entry[], Unmap> entries_;
  std::atomic<std::size_t> size_{0};
  std::size_t expire_at_ = 0;
};

}  // namespace headgate::core
