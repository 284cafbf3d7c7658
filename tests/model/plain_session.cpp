// SPDX-License-Identifier: Apache-2.0
#include "tests/model/plain_session.h"

namespace headgate::testing::plain {
namespace {

// No segment is farther ahead of those that were seen.
constexpr std::uint32_t kFarthest = 1u << 24;
// A sender may be so far beyond what was seen.
constexpr std::uint32_t kWindow = 65535;

// Sequence numbers go round: how far `to` is after `from`.
std::uint32_t distance(std::uint32_t from, std::uint32_t to) {
  return to - from;
}

bool in_window(const Connection::End& end, std::uint32_t sequence) {
  return distance(end.acked, sequence) <= distance(end.acked, end.next) + kWindow;
}

}  // namespace

void Connection::pass(bool from_client, const View& segment) {
  if (segment.has(kRst)) {
    reset_ = true;
    return;
  }
  if (from_client && segment.opens() && stands()) {
    asked_ = segment;
    return;
  }
  if (!from_client && takes_the_new_one(segment)) {
    const View syn = *asked_;
    *this = Connection();
    see(true, syn);
  }
  End& mine = from_client ? client_ : real_;
  End& other = from_client ? real_ : client_;
  const bool believed = segment.has(kFin) && in_window(mine, segment.after());
  if (!segment.has(kFin) || believed) see(from_client, segment);
  const bool of_seen = distance(other.acked, segment.acknowledgement) <= distance(other.acked, other.next);
  const bool challenges = !from_client && !open_;  // what it says to a SYN, the client's reset will say
  if (segment.has(kAck) && (of_seen || challenges)) other.acked = segment.acknowledgement;
  if (from_client && answered_ && segment.has(kAck) && !segment.has(kSyn)) open_ = true;
  if (!from_client) answered_ = true;
  if (believed) mine.fin = true;
  for (End* end : {&client_, &real_}) {
    if (end->fin && end->acked == end->next) end->fin_acked = true;
  }
}

bool Connection::stands() const {
  return life() != Life::syn && life() != Life::closed;
}

// A server that has nothing of the old connection answers the SYN for a new one with its own, and
// acknowledges the SYN, with all of its data or with none. What it sent for the old one may come late, or
// once more; it is the same then.
bool Connection::takes_the_new_one(const View& segment) const {
  if (!asked_ || !stands() || !segment.has(kSyn) || !segment.has(kAck)) return false;
  const std::uint32_t acknowledged = distance(asked_->sequence, segment.acknowledgement);
  const std::uint32_t sent = distance(asked_->sequence, asked_->after());
  const bool nothing_new = client_.next == asked_->after() && real_.next == segment.after();
  return acknowledged >= 1 && acknowledged <= sent && !nothing_new;
}

void Connection::see(bool from_client, const View& segment) {
  End& mine = from_client ? client_ : real_;
  const bool servers_first = !from_client && !answered_;
  if (!open_ && (segment.has(kSyn) || servers_first)) {
    mine.next = segment.after();
    mine.acked = segment.sequence;
  } else if (!mine.fin && distance(mine.next, segment.after()) < kFarthest) {
    mine.next = segment.after();
  }
}

bool Connection::may_reset(bool from_client, const View& segment) const {
  if (from_client && !open_)
    return segment.sequence == client_.acked ||
           distance(client_.next, segment.sequence + kWindow) <= 2 * kWindow;
  const bool refuses = !from_client && asked_ && segment.has(kAck);
  const std::uint32_t asked = refuses ? distance(asked_->sequence, asked_->after()) : 0;
  const std::uint32_t refused = refuses ? distance(asked_->sequence, segment.acknowledgement) : 0;
  if (answered_ && refused >= 1 && refused <= asked) return true;
  if (from_client || answered_) return in_window(from_client ? client_ : real_, segment.sequence);
  const std::uint32_t sent = distance(client_.acked, client_.next);
  const std::uint32_t acknowledged = distance(client_.acked, segment.acknowledgement);
  return segment.has(kAck) && acknowledged >= 1 && acknowledged <= sent;
}

Life Connection::life() const {
  if (reset_ || (client_.fin_acked && real_.fin_acked)) return Life::closed;
  if (!open_) return Life::syn;
  if (client_.fin && real_.fin) return Life::closing;
  return client_.fin || real_.fin ? Life::half_closed : Life::open;
}

}  // namespace headgate::testing::plain
