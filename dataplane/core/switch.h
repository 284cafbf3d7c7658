// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dataplane/core/burst.h"
#include "dataplane/core/generation.h"
#include "dataplane/core/packet.h"
#include "dataplane/core/selection.h"
#include "dataplane/core/session_table.h"
#include "dataplane/core/session_view.h"
#include "dataplane/core/shared.h"
#include "model/tick.h"

namespace headgate::core {

/// One worker's part of the switch: its sessions, its counters, and the pipeline over a burst.
///
/// Owned by one thread; other threads may only read counters. process and sweep never allocate, lock, block
/// or throw.
class Switch {
 public:
  struct Config {
    std::span<std::byte> memory;  ///< SessionTable::bytes_needed(sessions) zeroed bytes at a 64-byte boundary
    std::size_t sessions = 0;     ///< at most so many at a time, 1 to SessionTable::kMostSessions
    std::uint64_t seed = 0;       ///< random per start, so that clients can't aim at one bucket
    unsigned worker = 0;
    unsigned workers = 1;
  };
  Switch(const Config& config, Shared& shared);

  /// Decides about each frame of a burst (at most kBurst), in order, and rewrites those that are to be sent.
  void process(std::span<Frame> frames, Spares& spares, const Generation& generation, Tick now) noexcept;
  /// Looks at the next `budget` sessions and forgets those whose time is over; returns how many it forgot.
  std::size_t sweep(Tick now, std::size_t budget) noexcept;

  /// Copies matching sessions into `out`, looking at `budget` positions from `cursor` on; true while there is
  /// more.
  bool dump(std::size_t& cursor, std::size_t budget, const SessionFilter& filter, Tick now,
            std::vector<SessionView>& out) const;
  /// Forgets matching sessions, looking at `budget` positions from `cursor` on; true while there is more.
  bool clear(std::size_t& cursor, std::size_t budget, const SessionFilter& filter,
             std::size_t& cleared) noexcept;

  /// Any thread: packets by what became of them.
  [[nodiscard]] std::uint64_t fate(Fate fate) const noexcept {
    return fates_[static_cast<std::size_t>(fate)].get();
  }
  /// Any thread: packets that process() was given.
  [[nodiscard]] std::uint64_t packets_in() const noexcept { return packets_in_.get(); }
  /// Any thread: sessions in the table, those that are over but not yet forgotten among them.
  [[nodiscard]] std::uint64_t sessions() const noexcept { return table_.size(); }
  [[nodiscard]] std::uint64_t capacity() const noexcept { return table_.capacity(); }
  /// Any thread: sessions that the switch ended, because their server failed or was taken away.
  [[nodiscard]] std::uint64_t terminated() const noexcept { return terminated_.get(); }
  /// Any thread: resets that the switch made itself, to either end.
  [[nodiscard]] std::uint64_t resets() const noexcept { return resets_.get(); }

  /// What one worker saw of one binding. Grows only; the director takes differences.
  struct alignas(32) Traffic {
    Counter packets;
    Counter octets;
    Counter refused;     ///< SYNs that the server answered with a reset
    Counter unanswered;  ///< SYNs that the server did not answer within the half-open time
  };
  /// Any thread.
  [[nodiscard]] const Traffic& traffic(BindingSlot slot) const noexcept { return traffic_[slot]; }

  /// A handshake that is not done after so long is forgotten: five retransmissions of a SYN fit.
  static constexpr std::uint32_t kHalfOpenSeconds = 32;
  /// After both ends of a terminated session were sent a reset, it answers what is still under way for so
  /// long.
  static constexpr std::uint32_t kToldSeconds = 8;

 private:
  struct Arrival {
    Parsed parsed;
    std::uint64_t hash;  ///< of shape tcp
  };
  /// Both ways a session's packets take.
  struct Hops2 {
    HopIndex to_real = kNoHop;
    HopIndex to_client = kNoHop;
    Fate problem = Fate::to_real;  ///< a drop_ when there is no way
  };

  /// Sessions of this worker that the tallies include; all are of the one epoch that it has settled last.
  struct Counted {
    std::uint32_t sessions = 0;
    std::uint16_t epoch = 0;
  };

  /// Packets of one burst that took the short way, for one addition at its end.
  struct Steady {
    std::uint32_t to_real = 0;
    std::uint32_t to_client = 0;
  };

  [[nodiscard]] bool forward_steady(Frame& frame, const Parsed& parsed, Session& session,
                                    const Generation& generation, Tick now, Steady& done) noexcept;
  void decide(Frame& frame, const Arrival& arrival, Session* session, Spares& spares,
              const Generation& generation, Tick now) noexcept;
  Fate without_session(Frame& frame, const Arrival& arrival, const Generation& generation, Tick now) noexcept;
  Fate open_session(Frame& frame, const Parsed& parsed, std::uint32_t service, const Generation& generation,
                    Tick now) noexcept;
  Session* bind(const Parsed& parsed, const Service& service, const Member& member, Tick now) noexcept;
  const Member* choose(const Parsed& parsed, std::uint32_t service, const Generation& generation) noexcept;
  bool key_is_free(const FlowKey& from_real, Protocol protocol) noexcept;

  Fate with_session(Frame& frame, const Arrival& arrival, Session& session, Spares& spares,
                    const Generation& generation, Tick now) noexcept;
  Fate forward(Frame& frame, const Parsed& parsed, Session& session, Side from, const Generation& generation,
               Tick now) noexcept;
  void note(const Frame& frame, const Parsed& parsed, Session& session, Side from, Tick now) noexcept;
  Fate end_terminated(Frame& frame, const Parsed& parsed, Session& session, Side from, Spares& spares,
                      const Generation& generation, Tick now) noexcept;
  /// to_real, or why there is no way.
  Fate refresh_hops(Session& session, const Generation& generation, Tick now) noexcept;
  [[nodiscard]] Hops2 find_hops(Ipv4 real, Ipv4 client, const Generation& generation, Tick now) noexcept;
  void send(Frame& frame, HopIndex index, const Hops::Hop& hop) noexcept;
  void answer_reset(Frame& frame, const Parsed& parsed) noexcept;

  void settle() noexcept;
  void count(Session& session) noexcept;
  void uncount(Session& session) noexcept;
  void terminate(Session& session) noexcept;
  void forget(Session& session) noexcept;
  [[nodiscard]] std::uint32_t lifetime(const Session& session) const noexcept;
  [[nodiscard]] bool terminated(const Session& session) const noexcept;
  [[nodiscard]] bool matches(const Session& session, const SessionFilter& filter) const noexcept;

  Shared& shared_;
  SessionTable table_;
  std::array<Counter, kFates> fates_;
  Counter packets_in_;
  Counter terminated_;
  Counter resets_;
  std::vector<Traffic> traffic_;  ///< by binding
  std::vector<Counted> counted_;  ///< by binding
  std::vector<Cursor> cursors_;   ///< by service
  std::uint64_t closings_seen_ = 0;
  std::size_t sweep_at_ = 0;
};

}  // namespace headgate::core
