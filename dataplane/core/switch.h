// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "dataplane/core/burst.h"
#include "dataplane/core/choice.h"
#include "dataplane/core/fragments.h"
#include "dataplane/core/generation.h"
#include "dataplane/core/glance.h"
#include "dataplane/core/icmp_answer.h"
#include "dataplane/core/icmp_error.h"
#include "dataplane/core/packet.h"
#include "dataplane/core/reset.h"
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
    /// Where counters outlast the process: kCounterBytes at a 64-byte boundary, zeroed or left by a process
    /// before. None: the switch has its own.
    std::span<std::byte> counters = {};
    /// Both memories, and that of `shared`, are those of a process before: its sessions go on.
    bool survived = false;
    Tick now{};  ///< for what survived
  };
  Switch(const Config& config, Shared& shared);
  ~Switch();

  /// Decides about each frame of a burst (at most kBurst), in order, and rewrites those that are to be sent.
  /// A frame with Action::park or Action::hand has no fate yet and is not counted: it will be when it comes
  /// again.
  void process(std::span<Frame> frames, Spares& spares, const Generation& generation, Tick now) noexcept;
  /// Looks at the next `budget` sessions and forgets those whose time is over; returns how many it forgot.
  /// Where the service says so (clsrst), both ends of an idle connection get a reset, made in the spares like
  /// those of process(); a session that finds no spare left waits for the next call.
  std::size_t sweep(Tick now, std::size_t budget, Spares& spares, const Generation& generation) noexcept;
  /// The same without a reset to anybody.
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
  /// Any thread: packets that process() was given, and did not give back to come again.
  [[nodiscard]] std::uint64_t packets_in() const noexcept { return packets_in_.get(); }
  /// Any thread: sessions in the table, those that are over but not yet forgotten among them.
  [[nodiscard]] std::uint64_t sessions() const noexcept { return table_.size(); }
  [[nodiscard]] std::uint64_t capacity() const noexcept { return table_.capacity(); }
  /// Any thread: sessions that the switch ended, because their server failed or was taken away.
  [[nodiscard]] std::uint64_t terminated() const noexcept { return terminated_.get(); }
  /// Any thread: resets that the switch made itself, to either end.
  [[nodiscard]] std::uint64_t resets() const noexcept { return resets_.get(); }
  /// Any thread: ICMP errors that the switch made itself, and those that its limit kept back.
  [[nodiscard]] std::uint64_t errors_built() const noexcept { return errors_built_.get(); }
  [[nodiscard]] std::uint64_t errors_withheld() const noexcept { return errors_withheld_.get(); }
  /// Any thread: the table of fragmented datagrams.
  [[nodiscard]] const Fragments& fragments() const noexcept { return fragments_; }

  /// Any thread: TCP sessions whose handshake is not done.
  [[nodiscard]] std::uint64_t half_open() const noexcept { return half_open_.get(); }
  /// Any thread: sessions opened since the memory was made, whatever is cleared.
  [[nodiscard]] std::uint64_t opened() const noexcept { return opened_.get(); }
  /// Any thread: TCP handshakes begun since then, those for which the table had no room among them.
  [[nodiscard]] std::uint64_t opened_tcp() const noexcept { return opened_tcp_.get(); }
  /// Any thread: those of them that went on to the client's ACK, or were refused.
  [[nodiscard]] std::uint64_t answered_tcp() const noexcept { return answered_tcp_.get(); }
  /// Any thread: entries that hold a binding, whatever their state.
  [[nodiscard]] std::uint64_t held(BindingSlot slot) const noexcept { return held_[slot].get(); }

  /// What one worker saw of one binding. Grows only; the director takes differences.
  struct alignas(32) Traffic {
    Counter packets;
    Counter octets;
    Counter opened;           ///< sessions
    SmallCounter refused;     ///< SYNs that the server answered with a reset
    SmallCounter unanswered;  ///< SYNs that the server did not answer until they were repeated, or at all
  };
  /// Any thread.
  [[nodiscard]] const Traffic& traffic(BindingSlot slot) const noexcept { return traffic_[slot]; }

  /// All that grows only, and must not fall when a process takes over from another.
  struct Counters {
    std::array<Counter, kFates> fates;
    Counter packets_in;
    Counter terminated;
    Counter resets;
    Counter opened;
    Counter opened_tcp;
    Counter answered_tcp;
    Counter errors_built;
    Counter errors_withheld;
    Fragments::Totals fragments;
    std::array<Traffic, kMaxBindings> traffic;
  };
  static const std::size_t kCounterBytes;

  /// A handshake that is not done after so long is forgotten: five retransmissions of a SYN fit.
  static constexpr std::uint32_t kHalfOpenSeconds = 32;
  /// After both ends of a terminated session were sent a reset, it answers what is still under way for so
  /// long.
  static constexpr std::uint32_t kToldSeconds = 8;

 private:
  /// A packet, and what the call that it came with gave.
  struct Event {
    Frame& frame;
    const Parsed& parsed;
    const Generation& generation;
    Spares& spares;
    Tick now;
    std::uint64_t hash;  ///< of its flow, when it is whole
  };
  /// Both ways a session's packets take.
  struct Ways {
    BySide<HopIndex> hop{{kNoHop, kNoHop}};  ///< of Session
    Fate problem = Fate::to_real;            ///< a drop_ when there is no way
  };

  /// The hop to an address, and the routes that led to it.
  struct KnownWay {
    static constexpr std::uint64_t kUnknown = ~std::uint64_t{0};
    Ip address;
    HopIndex hop = kNoHop;
    std::uint64_t routes_serial = kUnknown;
  };

  /// Sessions of this worker that the tallies include; all are of the one epoch that it has settled last.
  struct Counted {
    std::uint32_t sessions = 0;
    std::uint16_t epoch = 0;
  };

  /// A frame on its way through the pipeline.
  struct Arrival {
    Glance glance;
    const SessionTable::Bucket* bucket;
    SessionTable::Place likely;
    Session* session;  ///< at that place
  };
  /// What the packets of one burst have in common.
  struct Burst {
    Spares& spares;
    const Generation& generation;
    Tick now;
    BySide<std::uint64_t> ports;  ///< of its layout
    /// Session::steady_standing, by the place of a transport among kUsual.
    std::array<std::uint64_t, kUsual.size()> standing;
    std::uint32_t to_client = 0;  ///< took the short way to their client
    std::uint32_t decided = 0;    ///< took the long way
    std::uint32_t waiting = 0;    ///< come again, among them
  };

  // recovery.cpp: sessions of a process before
  [[nodiscard]] bool is_sound(const Session& session, Tick now) const noexcept;
  void recover(Tick now) noexcept;
  void take_back(Session& session) noexcept;

  // pipeline.cpp: bursts, and the short way
  void look(std::span<const Frame> frames, Arrival* arrival) const noexcept;
  void locate(std::span<Arrival> arrivals) const noexcept;
  void pass(std::span<Frame> frames, Arrival* arrival, Burst& burst) noexcept;
  [[nodiscard]] bool pass_elsewhere(Frame& frame, Arrival& arrival, const Burst& burst) noexcept;
  [[nodiscard]] bool pass_steady(Frame& frame, const Arrival& arrival, const Burst& burst) noexcept;
  template <Transport transport>
  [[nodiscard]] bool pass_steady(Frame& frame, const Arrival& arrival, const Burst& burst) noexcept;

  // switch.cpp: the long way
  void decide(Frame& frame, const Glance& glance, Burst& burst) noexcept;
  Fate with_session(const Event& event, Session& session, Side from) noexcept;
  Fate forward(const Event& event, Session& session, Side from) noexcept;
  void note(const Event& event, Session& session, Side from) noexcept;
  void note_segment(Session& session, Side from, const Segment& segment) noexcept;
  [[nodiscard]] TcpLife life_of(const Session& session) const noexcept;
  void note_ends(const Event& event, Session& session, Life before, Side from) noexcept;
  /// Counts a packet of a session.
  [[gnu::always_inline]] void add_packet(Session& session, Session::Flow& flow, BindingSlot slot, Side from,
                                         std::uint16_t octets) noexcept {
    Traffic& traffic = traffic_[slot];
    traffic.packets.add(1);
    traffic.octets.add(octets);
    constexpr std::uint64_t kPacket = std::uint64_t{1} << 32;
    const std::uint64_t before = flow.passed;
    flow.passed = before + (kPacket | octets);
    // A count that wraps loses its highest bit.
    constexpr std::uint64_t kHighest = std::uint64_t{1} << 31 | std::uint64_t{1} << 47;
    if ((before & ~flow.passed & kHighest) != 0) [[unlikely]]
      carry(session, from, before);
  }
  void carry(Session& session, Side from, std::uint64_t before) noexcept;
  [[nodiscard]] static Fate wrong_port(Side from) noexcept {
    return from == Side::client ? Fate::drop_client_port : Fate::drop_server_port;
  }
  void send(Frame& frame, HopIndex index, const Hops::Hop& hop) const noexcept {
    write_ethernet(frame.data, hop.mac, shared_.mac(hop.port));
    frame.port = hop.port;
    frame.hop = index;
    frame.action = hop.resolved ? Action::transmit : Action::hold;
  }
  [[nodiscard]] Ways find_ways(BindingSlot slot, const Ip& client, const Generation& generation,
                               Tick now) noexcept;
  [[nodiscard]] KnownWay claim(const Ip& address, const NextHop& next, const Generation& generation,
                               Tick now) noexcept;
  /// to_real, or why there is no way.
  Fate refresh_ways(Session& session, const Generation& generation, Tick now) noexcept;
  /// The way to one end, whatever has become of the way to the other; false when there is none.
  bool refresh_way(Session& session, Side to, const Generation& generation, Tick now) noexcept;

  [[nodiscard]] bool leaves(const Event& event, HopIndex index, PortIndex port) noexcept;
  /// Translates and sends a packet that may leave, and says so.
  Fate depart(const Event& event, const Shared::Binding& binding, Side from, HopIndex index,
              const Hops::Hop& hop) noexcept;
  void cut(const Event& event, std::uint16_t mtu) noexcept;

  // gathering.cpp: fragments
  void gather(Frame& frame, Parsed& parsed, const Generation& generation, Tick now) noexcept;
  [[nodiscard]] std::uint32_t flow_of(Frame& frame, Parsed& parsed, std::uint32_t parked_as,
                                      Tick now) noexcept;

  // complaining.cpp: ICMP errors
  Fate pass_error(const Event& event) noexcept;
  Fate pass_error(const Event& event, const IpHeader& outer, const IcmpError& error, Session& session,
                  Side from) noexcept;
  void complain(const Event& event) noexcept;
  [[nodiscard]] std::optional<Complaint> complaint(const Event& event) const noexcept;

  // opening.cpp: packets without a session
  Fate without_session(const Event& event) noexcept;
  Fate without_service(const Event& event) noexcept;
  [[nodiscard]] Fate may_open(const Event& event) const noexcept;
  Fate open_session(const Event& event, std::uint32_t service) noexcept;
  Fate refuse(const Event& event) noexcept;
  Fate open_at(const Event& event, const Choosing& choosing, Chosen chosen) noexcept;
  [[nodiscard]] const Member* least_loaded(const Event& event, const Choosing& choosing) noexcept;
  [[nodiscard]] Chosen choose_other(const Event& event, const Choosing& choosing, Chosen chosen) noexcept;
  [[nodiscard]] bool still_serves(BindingSlot slot) noexcept;
  void note_first(const Event& event, Session& session) noexcept;
  Session* bind(const Event& event, const Service& service, const Chosen& chosen,
                std::uint64_t hash_from_real) noexcept;
  [[nodiscard]] std::uint64_t hash_from_real(const Event& event, const Member& member) const noexcept;
  [[nodiscard]] Session* holder(const Event& event, const Member& member, std::uint64_t hash) noexcept;
  [[nodiscard]] bool gives_way(const Session& session) const noexcept;
  bool take_key(const Event& event, const Member& member, std::uint64_t hash) noexcept;

  // ending.cpp: counts, resets and ends
  Fate end_terminated(const Event& event, Session& session, Side from) noexcept;
  void answer_reset(const Event& event) noexcept;
  void tell(Session& session, Side to, const ResetNumbers& numbers, Fate fate, Spares& spares,
            Tick now) noexcept;
  [[nodiscard]] bool goes_on(Session& session, const Generation& generation, Tick now) noexcept;
  bool expire(Session& session, Spares& spares, const Generation& generation, Tick now) noexcept;
  void settle() noexcept;
  void count(Session& session) noexcept;
  void uncount(Session& session) noexcept;
  void begin_handshake(Session& session) noexcept;
  void leave_half_open(Session& session) noexcept;
  void let_go(Session& session) noexcept;
  void terminate(Session& session) noexcept;
  void forget(Session& session) noexcept;
  [[nodiscard]] std::uint32_t lifetime(const Session& session) const noexcept;
  [[nodiscard]] bool terminated(const Session& session) const noexcept;

  // looking.cpp: dumps
  [[nodiscard]] bool matches(const Session& session, const SessionFilter& filter) const noexcept;
  [[nodiscard]] SessionView view(const Session& session, Tick now) const noexcept;

  struct Free {
    void operator()(void* memory) const noexcept;
  };

  Shared& shared_;
  SessionTable table_;
  std::unique_ptr<Counters> own_;  ///< when no memory was given
  Counters& counters_;
  std::array<Counter, kFates>& fates_ = counters_.fates;
  Counter& packets_in_ = counters_.packets_in;
  Counter& terminated_ = counters_.terminated;
  Counter& resets_ = counters_.resets;
  Counter& opened_ = counters_.opened;
  Counter& opened_tcp_ = counters_.opened_tcp;
  std::span<Traffic> traffic_ = counters_.traffic;  ///< by binding
  Counter& errors_built_ = counters_.errors_built;
  Counter& errors_withheld_ = counters_.errors_withheld;
  Counter half_open_;
  Counter& answered_tcp_ = counters_.answered_tcp;
  std::vector<Counted> counted_;    ///< by binding
  std::vector<Counter> held_;       ///< by binding
  std::vector<KnownWay> to_reals_;  ///< by binding
  NextHop last_client_;             ///< of the session opened last: as a rule all are behind few gateways
  KnownWay to_last_client_;
  /// Entries of client persistence that sessions hold, by position in the table. A session's own line has no
  /// room; pages of a table without persistence are never touched.
  std::unique_ptr<Persistence::Use[], Free> uses_;
  /// Likewise what clients asked for that have a connection.
  std::unique_ptr<TcpLife::Asked[], Free> asked_;
  Tick now_;  ///< of the last burst or sweep
  Fragments fragments_;
  AnswerLimits limits_;
  unsigned worker_;
  unsigned workers_;
  std::uint64_t closings_seen_ = 0;
  std::size_t sweep_at_ = 0;
};

}  // namespace headgate::core
