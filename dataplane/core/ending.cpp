// SPDX-License-Identifier: Apache-2.0
// How sessions end: counts, resets, ageing.
#include <algorithm>
#include <utility>

#include "dataplane/core/ethernet.h"
#include "dataplane/core/switch.h"

namespace headgate::core {
namespace {

constexpr std::uint8_t told_of(Side side) noexcept {
  return side == Side::client ? Session::kToldClient : Session::kToldReal;
}

// Datagrams that one sweep forgets at most.
constexpr std::size_t kSweptDatagrams = 64;

// Entries that a sweep asks memory for ahead of the one it looks at.
constexpr std::size_t kSweptAhead = 8;

}  // namespace

// ---- Resets

// The reset to the sender's side goes back the way the packet came, that to the other end along the session's
// hop.
Fate Switch::end_terminated(const Event& event, Session& session, Side from) noexcept {
  terminate(session);
  const Parsed& parsed = event.parsed;
  if (!parsed.is_tcp()) return Fate::drop_no_session;
  const Segment segment = segment_of(event.frame, parsed);
  if (event.spares.used < event.spares.frames.size() && (session.told & told_of(other(from))) == 0 &&
      refresh_way(session, other(from), event.generation, event.now)) {
    const bool begun = from == Side::client || (session.marks & TcpLife::kAnswered) != 0;
    const std::uint32_t expected = begun ? session.from[from].next : segment.sequence;
    tell(session, other(from), reset_to_receiver(segment, expected), Fate::reset_terminated, event.spares,
         event.now);
    session.seen = event.now;
  }
  session.told |= told_of(from);
  if ((parsed.flags & tcp::rst) != 0)
    return Fate::reset_terminated;  // it knows; no reset is answered with another
  answer_reset(event);
  session.seen = event.now;
  return Fate::reset_terminated;
}

void Switch::answer_reset(const Event& event) noexcept {
  const ResetNumbers numbers = reset_to_sender(segment_of(event.frame, event.parsed));
  write_reset(event.frame, event.parsed.key.reversed(), numbers);
  swap_ethernet(event.frame);
  event.frame.action = Action::transmit;
  resets_.add(1);
}

// Makes a reset for one end of a session in a spare, of which there is one.
void Switch::tell(Session& session, Side to, const ResetNumbers& numbers, Fate fate, Spares& spares,
                  Tick now) noexcept {
  const HopIndex index = session.from[other(to)].hop();
  if (index == kNoHop) return;  // of a process before, and there is no way
  Frame& frame = spares.frames[spares.used++];
  const SessionKeys keys = table_.keys(session);
  write_reset(frame, to == Side::client ? keys.from_client.reversed() : keys.from_real.reversed(), numbers);
  frame.fate = fate;
  const Hops::Hop hop = shared_.hops.use(index, now);
  send(frame, index, hop);
  resets_.add(1);
  session.told |= told_of(to);
}

// ---- Counts

// Sessions of an epoch that ended are given up all at once, whatever their number; the entries follow when a
// packet or the sweep meets them.
void Switch::settle() noexcept {
  const std::uint64_t head = shared_.closings_head.load(std::memory_order_acquire);
  for (; closings_seen_ != head; ++closings_seen_) {
    const BindingSlot slot =
        shared_.closings[closings_seen_ % Shared::kClosings].load(std::memory_order_relaxed);
    ++counted_[slot].epoch;
    const std::uint32_t sessions = std::exchange(counted_[slot].sessions, 0);
    if (sessions == 0) continue;
    for (Tally* tally : shared_.tallies_of(slot)) tally->close(sessions);
    shared_.current[slot].fetch_sub(sessions, std::memory_order_relaxed);
    terminated_.add(sessions);
  }
}

void Switch::count(Session& session) noexcept {
  const auto [real, group, virt] = shared_.tallies_of(session.binding);
  real->note();  // reserved when it was chosen
  group->open();
  virt->open();
  shared_.current[session.binding].fetch_add(1, std::memory_order_relaxed);
  ++counted_[session.binding].sessions;
  traffic_[session.binding].opened.add(1);
  session.told |= Session::kCounted;
}

// A session's time with its client's entry ends with its own, before its entry in the table goes.
void Switch::let_go(Session& session) noexcept {
  if ((session.told & Session::kPersistent) == 0) return;
  session.told &= static_cast<std::uint8_t>(~Session::kPersistent);
  const std::uint32_t seconds = shared_.persist_seconds[session.binding].load(std::memory_order_relaxed);
  shared_.persistence->release(uses_[table_.position(session)], now_, seconds);
}

void Switch::uncount(Session& session) noexcept {
  let_go(session);
  if ((session.told & Session::kCounted) == 0) return;
  in_this_order();  // one that is neither counted nor over is not whole
  session.told &= static_cast<std::uint8_t>(~Session::kCounted);
  settle();
  Counted& counted = counted_[session.binding];
  if (counted.epoch != session.epoch) return;  // given up with its epoch
  --counted.sessions;
  if (shared_.state(session.binding).epoch != session.epoch) terminated_.add(1);  // closed just now
  for (Tally* tally : shared_.tallies_of(session.binding)) tally->close(1);
  shared_.current[session.binding].fetch_sub(1, std::memory_order_relaxed);
}

void Switch::begin_handshake(Session& session) noexcept {
  opened_tcp_.add(1);
  half_open_.add(1);
  session.told |= Session::kHalfOpen;
}

void Switch::leave_half_open(Session& session) noexcept {
  if ((session.told & Session::kHalfOpen) == 0) return;
  session.told &= static_cast<std::uint8_t>(~Session::kHalfOpen);
  half_open_.subtract(1);
}

// ---- Ends

bool Switch::terminated(const Session& session) const noexcept {
  return (session.marks & TcpLife::kTerminated) != 0 ||
         (!shared_.state(session.binding).serves(session.epoch) && session.life().life() != Life::closed);
}

void Switch::terminate(Session& session) noexcept {
  session.marks |= TcpLife::kTerminated;
  uncount(session);
  leave_half_open(session);
}

void Switch::forget(Session& session) noexcept {
  const BindingSlot slot = session.binding;
  uncount(session);
  leave_half_open(session);
  table_.erase(session);  // by the addresses of the binding
  std::atomic_thread_fence(std::memory_order_release);
  held_[slot].subtract(1);  // from here on the director may give its slot to another
}

std::uint32_t Switch::lifetime(const Session& session) const noexcept {
  const Shared::Binding& binding = shared_.bindings[session.binding];
  const std::uint32_t idle = binding.idle_ticks();
  const std::uint32_t closed = shared_.closed_ticks.load(std::memory_order_relaxed);
  constexpr std::uint8_t kBoth = Session::kToldClient | Session::kToldReal;
  if (terminated(session)) {
    const bool told = !session.is_tcp() || (session.told & kBoth) == kBoth;
    return told ? std::min(idle, kToldSeconds * Tick::kPerSecond) : idle;
  }
  if (!session.is_tcp()) {
    const bool fast = binding.has(Shared::Binding::kFastUdp) && (session.marks & TcpLife::kAnswered) != 0;
    return fast ? std::min(idle, closed) : idle;
  }
  switch (session.life().life()) {
    case Life::syn:
      return std::min(idle, kHalfOpenSeconds * Tick::kPerSecond);
    case Life::closed:
      return closed;
    default:  // half-closed and closing ones too: until both FINs are acknowledged, an end may still wait
      return idle;
  }
}

std::size_t Switch::sweep(Tick now, std::size_t budget, Spares& spares,
                          const Generation& generation) noexcept {
  now_ = now;
  settle();
  fragments_.expire(now, kSweptDatagrams);
  std::size_t forgotten = 0;
  const std::size_t end = table_.high_water();
  for (std::size_t i = std::min(budget, end); i > 0; --i) {
    if (sweep_at_ >= end) sweep_at_ = 0;
    __builtin_prefetch(&table_.at(std::min(sweep_at_ + kSweptAhead, end)));
    Session& session = table_.at(sweep_at_);
    const bool over = session.used() && !goes_on(session, generation, now);
    if (over && !expire(session, spares, generation, now)) break;
    if (over) ++forgotten;
    ++sweep_at_;
  }
  return forgotten;
}

// Whether a session's time is not over. Its epoch and its version of the routes are of 16 bits: what is out
// of date is marked so here, long before either can come round.
bool Switch::goes_on(Session& session, const Generation& generation, Tick now) noexcept {
  const auto idle = now.since(session.seen);
  if (session.routes_version != generation.routes_version) session.routes_version = kNoVersion;
  const Shared::Binding& binding = shared_.bindings[session.binding];
  const std::uint64_t steady = Session::steady_standing(session.routes_version, session.transport);
  const BindingState state = shared_.state(session.binding);
  if (session.is_tcp() && state.admission != forwarding::CLOSED &&
      session.standing() == Session::in_epoch(steady, state.epoch))
    return idle <= static_cast<std::int32_t>(binding.idle_ticks());
  if (terminated(session)) terminate(session);
  return idle <= static_cast<std::int32_t>(lifetime(session));
}

std::size_t Switch::sweep(Tick now, std::size_t budget) noexcept {
  static const Generation kNone;
  Spares none;
  return sweep(now, budget, none, kNone);
}

// Forgets a session whose time is over; false when it has to wait for room to tell its ends.
bool Switch::expire(Session& session, Spares& spares, const Generation& generation, Tick now) noexcept {
  const bool answered = (session.marks & TcpLife::kAnswered) != 0;
  const Life life = terminated(session) ? Life::terminated : session.life().life();
  if (session.is_tcp() && life == Life::syn && !answered) traffic_[session.binding].unanswered.add(1);
  const bool alive =
      session.is_tcp() && (life == Life::open || life == Life::half_closed || life == Life::closing);
  const bool tells = alive && !spares.frames.empty() &&
                     shared_.bindings[session.binding].has(Shared::Binding::kResetOnExpiry);
  if (tells) {
    if (spares.used + 2 > spares.frames.size()) return false;
    const bool ways = refresh_ways(session, generation, now) == Fate::to_real;
    // Each end takes a reset at the very number that it expects next (RFC 5961, 3.2).
    const ResetNumbers to_client{session.from[Side::real].acked, session.from[Side::client].acked, true};
    const ResetNumbers to_real{session.from[Side::client].acked, session.from[Side::real].acked, true};
    if (ways) tell(session, Side::client, to_client, Fate::to_client, spares, now);
    if (ways) tell(session, Side::real, to_real, Fate::to_real, spares, now);
  }
  forget(session);
  return true;
}

}  // namespace headgate::core
