// SPDX-License-Identifier: Apache-2.0
// What a worker does with the sessions that a process before it left in memory (docs/adr/0012).
#include <algorithm>
#include <cstring>

#include "dataplane/core/session_table.h"
#include "dataplane/core/switch.h"

namespace headgate::core {
namespace {

/// Entries whose buckets are fetched together: a look-up alone would wait for each.
constexpr std::size_t kGroup = 16;
constexpr std::uint8_t kKnownTold = Session::kToldClient | Session::kToldReal | Session::kCounted |
                                    Session::kHalfOpen | Session::kPersistent | Session::kAsked;

bool is_balanced(Transport transport) noexcept {
  return transport.is_tcp() || transport.protocol() == Protocol::udp;
}

// Datagrams have no handshake and no ends.
bool may_have(Transport transport, std::uint8_t marks) noexcept {
  constexpr std::uint8_t kOfDatagrams = TcpLife::kAnswered | TcpLife::kOpen | TcpLife::kTerminated;
  return transport.is_tcp() || (marks & ~kOfDatagrams) == 0;
}

bool is_over(const Session& session) noexcept {
  return (session.marks & TcpLife::kTerminated) != 0 ||
         (session.is_tcp() && session.life().life() == Life::closed);
}

}  // namespace

// ---- The table

void SessionTable::rebuild() noexcept {
  std::memset(static_cast<void*>(buckets_), 0, bucket_count_ * sizeof(Bucket));
  size_.clear();
  high_water_ = 0;
  for (Position first = 1; first <= capacity_; first += kGroup) {
    const auto end = static_cast<Position>(std::min<std::size_t>(first + kGroup, capacity_ + 1));
    for (Position position = first; position < end; ++position) prefetch_buckets_of(sessions_[position]);
    for (Position position = first; position < end; ++position) relink(position);
  }
  free_ = kNowhere;
  for (auto position = static_cast<Position>(high_water_); position > 0; --position) {
    if (sessions_[position].used()) continue;
    sessions_[position].seen.value = free_;
    free_ = position;
  }
}

void SessionTable::prefetch_buckets_of(const Session& session) const noexcept {
  if (!session.used()) return;
  const SessionKeys both = keys(session);
  static_cast<void>(prefetch_bucket(hash(both.from_client, session.transport)));
  static_cast<void>(prefetch_bucket(hash(both.from_real, session.transport)));
}

// Two entries of one key can't both be meant: the one found first stays.
void SessionTable::relink(Position position) noexcept {
  Session& session = sessions_[position];
  if (!session.used()) return;
  const Transport transport = session.transport;
  const SessionKeys both = keys(session);
  const std::uint64_t client_hash = hash(both.from_client, transport);
  const bool known =
      find(both.from_client, transport) != nullptr || find(both.from_real, transport) != nullptr;
  const bool placed = !known && link(client_hash, place_of(position, Side::client));
  if (!placed || !link(hash(both.from_real, transport), place_of(position, Side::real))) {
    if (placed) unlink(client_hash, place_of(position, Side::client));
    session = Session{};
    return;
  }
  high_water_ = position;
  size_.add(1);
}

// ---- The switch

// Whether an entry is one that a running switch could have between two bursts: all of it was written, and
// nothing of it was being taken back.
bool Switch::is_sound(const Session& session, Tick now) const noexcept {
  if (!is_balanced(session.transport) || session.binding >= kMaxBindings) return false;
  const Shared::Binding& binding = shared_.bindings[session.binding];
  const bool addressed = !session.client.none() && !binding.vip().none() && !binding.rip().none() &&
                         session.client.is_v4() != session.transport.v6() &&
                         session.client.is_v4() == binding.vip().is_v4() &&
                         binding.rip().is_v4() == binding.vip().is_v4();
  const bool whole = (session.told & Session::kCounted) != 0 || is_over(session);
  return addressed && whole && may_have(session.transport, session.marks) &&
         (session.told & ~kKnownTold) == 0 && session.port < kMaxPorts && now.since(session.seen) >= 0;
}

void Switch::recover(Tick now) noexcept {
  for (std::size_t i = 0; i < table_.capacity(); ++i) {
    Session& session = table_.at(i);
    if (session.used() && !is_sound(session, now)) session = Session{};
  }
  table_.rebuild();
  for (std::size_t i = 0; i < table_.high_water(); ++i) {
    if (Session& session = table_.at(i); session.used()) take_back(session);
  }
}

// The counts of a session, as they are for one of that state in a switch that never ended.
void Switch::take_back(Session& session) noexcept {
  session.routes_version = kNoVersion;
  // Clients' entries are not kept, nor what they asked for: they ask again.
  session.told &= static_cast<std::uint8_t>(~(Session::kPersistent | Session::kAsked));
  session.set_ways({{kNoHop, kNoHop}});
  held_[session.binding].add(1);
  // One that ended with the very packet under way was not given back yet.
  if (is_over(session)) session.told &= static_cast<std::uint8_t>(~(Session::kCounted | Session::kHalfOpen));
  if ((session.told & Session::kHalfOpen) != 0) half_open_.add(1);
  if ((session.told & Session::kCounted) == 0) return;
  if (counted_[session.binding].epoch != session.epoch) return;  // given up with its epoch
  ++counted_[session.binding].sessions;
  shared_.current[session.binding].fetch_add(1, std::memory_order_relaxed);
  for (Tally* tally : shared_.tallies_of(session.binding))
    tally->current.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace headgate::core
