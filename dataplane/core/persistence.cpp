// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/persistence.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include "dataplane/core/flow_key.h"

namespace headgate::core {
namespace {

// The kernel's zero pages are entries as they begin, and take memory only when one is used.
template <class T>
T* map_zeroed(std::size_t count) {
  void* memory = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return static_cast<T*>(memory);
}

constexpr std::uint64_t bit(unsigned lane) noexcept {
  return std::uint64_t{1} << lane;
}

constexpr std::uint64_t kChange = std::uint64_t{1} << 32;

std::uint8_t tag_of(std::uint64_t hash) noexcept {
  return static_cast<std::uint8_t>(hash);
}

// The bytes of a word that equal `tag`, as a bit each; one above a match may be wrong.
unsigned equal_bytes(std::uint64_t word, std::uint8_t tag) noexcept {
  constexpr std::uint64_t kOnes = 0x0101010101010101u;
  const std::uint64_t difference = word ^ (kOnes * tag);
  const std::uint64_t zero = (difference - kOnes) & ~difference & (kOnes << 7);
  return static_cast<unsigned>((zero >> 7) * 0x0102040810204080u >> 56);
}

}  // namespace

void Persistence::Unmap::operator()(void* memory) const noexcept {
  munmap(memory, bytes);
}

Persistence::Persistence(std::size_t entries, std::uint64_t seed)
    : capacity_(entries),
      bucket_count_((entries + kUsual - 1) / kUsual),
      seed_(seed),
      buckets_(map_zeroed<Bucket>(bucket_count_), Unmap{bucket_count_ * sizeof(Bucket)}),
      entries_(map_zeroed<Entry>(bucket_count_ * kLanes), Unmap{bucket_count_ * kLanes * sizeof(Entry)}) {}

Persistence::Words Persistence::words_of(const Key& key) noexcept {
  Words out{};
  std::memcpy(&out[0], key.client.octets.data(), 16);
  std::memcpy(&out[2], key.vip.octets.data(), 16);
  out[4] = key.group;
  return out;
}

std::uint64_t Persistence::hash(const Words& key) const noexcept {
  std::uint64_t out = seed_;
  for (const std::uint64_t word : key) out = mix(out ^ word, 0x9e3779b97f4a7c15u) ^ 0xd6e8feb86659fd93u;
  return mix(out, 0x2545f4914f6cdd1du);
}

bool Persistence::same(const Entry& entry, const Words& key) noexcept {
  for (std::size_t i = 0; i < key.size(); ++i)
    if (entry.key[i].load(std::memory_order_relaxed) != key[i]) return false;
  return true;
}

// ---- Holding

bool Persistence::join(Entry& entry) noexcept {
  std::uint32_t users = entry.users.load(std::memory_order_acquire);
  while (users >= kFirst) {
    if (entry.users.compare_exchange_weak(users, users + 1, std::memory_order_acq_rel)) return true;
  }
  return false;
}

// What was live when `live` was read may be another's by now. Whoever is held stays what it is; so it is held
// first and looked at again then.
Persistence::Held Persistence::find(std::uint64_t hash, std::uint64_t live, const Words& key) noexcept {
  const std::size_t number = bucket_of(hash);
  Bucket& in = bucket(number);
  for (unsigned word = 0; word < in.tags.size(); ++word) {
    unsigned lanes = equal_bytes(in.tags[word].load(std::memory_order_relaxed), tag_of(hash));
    for (lanes &= static_cast<unsigned>(live >> (8 * word)) & 0xff; lanes != 0; lanes &= lanes - 1) {
      const unsigned lane = 8 * word + static_cast<unsigned>(std::countr_zero(lanes));
      Entry& candidate = entry(number, lane);
      if (!same(candidate, key) || !join(candidate)) continue;
      const bool found = (in.live.load(std::memory_order_seq_cst) & bit(lane)) != 0;
      if (found && same(candidate, key))
        return {use_of(number, lane), candidate.real.load(std::memory_order_relaxed)};
      leave(number, lane);
    }
  }
  return {};
}

Persistence::Held Persistence::hold(const Key& key) noexcept {
  const Words words = words_of(key);
  const std::uint64_t at = hash(words);
  return find(at, bucket(bucket_of(at)).live.load(std::memory_order_acquire), words);
}

std::optional<unsigned> Persistence::claim(std::size_t number, std::uint64_t live) noexcept {
  if (size_.fetch_add(1, std::memory_order_relaxed) < capacity_) {
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      std::uint32_t users = kFree;
      if ((live & bit(lane)) != 0) continue;
      if (entry(number, lane).users.compare_exchange_strong(users, kClaimed, std::memory_order_acq_rel))
        return lane;
    }
  }
  size_.fetch_sub(1, std::memory_order_relaxed);
  return std::nullopt;
}

void Persistence::fill(std::uint64_t hash, unsigned lane, const Words& key, std::uint32_t real) noexcept {
  const std::size_t number = bucket_of(hash);
  Entry& mine = entry(number, lane);
  for (std::size_t i = 0; i < key.size(); ++i) mine.key[i].store(key[i], std::memory_order_relaxed);
  mine.real.store(real, std::memory_order_relaxed);
  std::atomic<std::uint64_t>& tags = bucket(number).tags[lane / 8];
  const unsigned shift = lane % 8 * 8;
  const auto before = static_cast<std::uint8_t>(tags.load(std::memory_order_relaxed) >> shift);
  tags.fetch_xor(std::uint64_t{static_cast<std::uint8_t>(before ^ tag_of(hash))} << shift,
                 std::memory_order_relaxed);
  mine.users.store(kFirst + 1, std::memory_order_release);
}

Persistence::Held Persistence::bind(const Key& key, std::uint32_t real) noexcept {
  constexpr int kTries = 16;  // each is a change of the bucket by another thread
  const Words words = words_of(key);
  const std::uint64_t at = hash(words);
  const std::size_t number = bucket_of(at);
  Bucket& in = bucket(number);
  for (int tries = 0; tries < kTries; ++tries) {
    std::uint64_t live = in.live.load(std::memory_order_acquire);
    if (const Held held = find(at, live, words); held.use != 0) return held;
    const auto lane = claim(number, live);
    if (!lane) break;
    fill(at, *lane, words, real);
    if (in.live.compare_exchange_strong(live, (live | bit(*lane)) + kChange, std::memory_order_seq_cst))
      return {use_of(number, *lane), real};
    leave(number, *lane);
  }
  return {0, real};
}

std::uint32_t Persistence::rebind(Use use, std::uint32_t from, std::uint32_t to) noexcept {
  return entries_[use - 1].real.compare_exchange_strong(from, to, std::memory_order_relaxed) ? to : from;
}

void Persistence::release(Use use, Tick now, std::uint32_t seconds) noexcept {
  if (use == 0) return;
  Entry& mine = entries_[use - 1];
  mine.last.store(now.value, std::memory_order_relaxed);
  mine.seconds.store(seconds, std::memory_order_relaxed);
  leave(use);
}

void Persistence::leave(Use use) noexcept {
  if (use != 0) leave((use - 1) / kLanes, (use - 1) % kLanes);
}

// ---- Coming to an end

// Of this and hide() the later one sees what the earlier has done, and frees the lane.
void Persistence::leave(std::size_t number, unsigned lane) noexcept {
  const std::uint32_t before = entry(number, lane).users.fetch_sub(1, std::memory_order_seq_cst);
  const bool found = (bucket(number).live.load(std::memory_order_seq_cst) & bit(lane)) != 0;
  if (before == kFirst + 1 && !found) free_unused(number, lane);
}

bool Persistence::hide(std::size_t number, unsigned lane) noexcept {
  std::atomic<std::uint64_t>& word = bucket(number).live;
  std::uint64_t live = word.load(std::memory_order_relaxed);
  while ((live & bit(lane)) != 0) {
    if (!word.compare_exchange_weak(live, (live & ~bit(lane)) + kChange, std::memory_order_seq_cst)) continue;
    free_unused(number, lane);
    return true;
  }
  return false;
}

// Between the last look and this the lane may have become another's, that nobody holds just now: then it is
// forgotten before its time, which is no harm.
void Persistence::free_unused(std::size_t number, unsigned lane) noexcept {
  std::atomic<std::uint32_t>& users = entry(number, lane).users;
  std::uint32_t none = kFirst;
  if (!users.compare_exchange_strong(none, kClaimed, std::memory_order_seq_cst)) return;
  std::atomic<std::uint64_t>& word = bucket(number).live;
  std::uint64_t live = word.load(std::memory_order_relaxed);
  while ((live & bit(lane)) != 0 &&
         !word.compare_exchange_weak(live, (live & ~bit(lane)) + kChange, std::memory_order_seq_cst)) {
  }
  users.store(kFree, std::memory_order_release);
  size_.fetch_sub(1, std::memory_order_relaxed);
}

bool Persistence::over(const Entry& entry, Tick now) noexcept {
  if (entry.users.load(std::memory_order_acquire) != kFirst) return false;
  const Tick last{entry.last.load(std::memory_order_relaxed)};
  const std::uint32_t seconds = entry.seconds.load(std::memory_order_relaxed);
  return now.since(last) > static_cast<std::int32_t>(seconds * Tick::kPerSecond);
}

std::size_t Persistence::expire(Tick now, std::size_t budget) noexcept {
  std::size_t forgotten = 0;
  for (budget = std::min(budget, bucket_count_); budget > 0; --budget) {
    if (expire_at_ >= bucket_count_) expire_at_ = 0;
    const std::size_t number = expire_at_++;
    auto live = static_cast<std::uint32_t>(bucket(number).live.load(std::memory_order_acquire));
    for (; live != 0; live &= live - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(live));
      if (!over(entry(number, lane), now)) continue;
      free_unused(number, lane);
      ++forgotten;
    }
  }
  return forgotten;
}

std::optional<Persistence::View> Persistence::look(std::size_t number, unsigned lane,
                                                   Tick now) const noexcept {
  if ((bucket(number).live.load(std::memory_order_acquire) & bit(lane)) == 0) return std::nullopt;
  const Entry& seen = entry(number, lane);
  const std::uint32_t users = seen.users.load(std::memory_order_acquire);
  if (users < kFirst) return std::nullopt;
  Words words{};
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = seen.key[i].load(std::memory_order_relaxed);
  View view{.real = seen.real.load(std::memory_order_relaxed), .users = users - kFirst};
  std::memcpy(view.key.client.octets.data(), &words[0], 16);
  std::memcpy(view.key.vip.octets.data(), &words[2], 16);
  view.key.group = static_cast<std::uint32_t>(words[4]);
  if (view.users == 0) {
    const std::int32_t gone = std::max(now.since({seen.last.load(std::memory_order_relaxed)}), 0);
    const std::uint32_t whole = seen.seconds.load(std::memory_order_relaxed);
    view.left_seconds = whole - std::min(static_cast<std::uint32_t>(gone) / Tick::kPerSecond, whole);
  }
  return view;
}

}  // namespace headgate::core
