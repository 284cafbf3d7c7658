// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dataplane/core/burst.h"
#include "dataplane/core/ethernet.h"
#include "dataplane/core/hops.h"
#include "dataplane/core/side.h"
#include "model/forwarding.pb.h"
#include "model/ip.h"
#include "model/tick.h"

// What workers and the control thread share beside the generation: flat arrays of words that change quickly.
// Every word has one meaning by itself; nothing here needs two words to agree.
namespace headgate::core {

/// A number that one thread writes and others read; it wraps.
template <class Number>
class BasicCounter {
 public:
  void add(Number n) noexcept { value_.store(get() + n, std::memory_order_relaxed); }
  void subtract(Number n) noexcept { value_.store(get() - n, std::memory_order_relaxed); }
  void clear() noexcept { value_.store(0, std::memory_order_relaxed); }
  [[nodiscard]] Number get() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<Number> value_{0};
};
using Counter = BasicCounter<std::uint64_t>;
using SmallCounter = BasicCounter<std::uint32_t>;

/// One real server of one service: what a session is bound to. Slots are stable: the director gives a binding
/// the same slot in every generation. A slot that is free again is given away only when no session holds it.
using BindingSlot = std::uint16_t;
constexpr BindingSlot kNoBinding = 0xffff;
constexpr std::size_t kMaxBindings = kNoBinding;

/// May its packets pass, and which of its sessions are meant: a session bound in an earlier epoch is
/// terminated.
struct BindingState {
  forwarding::Admission admission = forwarding::CLOSED;
  std::uint16_t epoch = 0;
  bool persistent = false;  ///< draining, but clients that are bound to it may open sessions

  /// Whether it takes new sessions, be it at last.
  [[nodiscard]] bool opens() const noexcept { return admission >= forwarding::OPEN; }
  /// Whether a client that is bound to it may open a session.
  [[nodiscard]] bool opens_for_bound() const noexcept { return opens() || persistent; }
  static_assert(forwarding::LAST > forwarding::OPEN && forwarding::OPEN > forwarding::DRAINING);
  [[nodiscard]] bool serves(std::uint16_t session_epoch) const noexcept {
    return admission != forwarding::CLOSED && epoch == session_epoch;
  }
};

/// Sessions of a real server, or of one within a group or virtual server; all workers count into one.
struct Tally {
  std::atomic<std::uint32_t> current{0};
  std::atomic<std::uint32_t> highest{0};

  /// Counts a new session in `current`, unless there are `limit` already (0: any number): one atomic step, so
  /// that all workers together never exceed a limit, nor fall short of it while there is demand.
  [[nodiscard]] bool reserve(std::uint32_t limit) noexcept;
  /// Takes note of a session that reserve() counted: it has come to be.
  void note() noexcept { note(current.load(std::memory_order_relaxed)); }
  void open() noexcept { note(current.fetch_add(1, std::memory_order_relaxed) + 1); }
  void close(std::uint32_t sessions) noexcept { current.fetch_sub(sessions, std::memory_order_relaxed); }

 private:
  void note(std::uint32_t now) noexcept {
    std::uint32_t most = highest.load(std::memory_order_relaxed);
    while (now > most && !highest.compare_exchange_weak(most, now, std::memory_order_relaxed)) {
    }
  }
};
using TallySlot = std::uint32_t;
constexpr std::size_t kMaxTallies =
    6 * kMaxBindings;  // two layouts' worth: the next one is placed beside the present

/// What is no single worker's and must not fall when a process takes over: it lies in the memory that
/// outlasts the process. A clear begins the ports anew.
struct Totals {
  /// What a port has counted since the last clear, over all processes that had it open.
  struct Port {
    std::uint32_t number = 0;  ///< the administrator's
    std::uint64_t rx_packets = 0;
    std::uint64_t tx_packets = 0;
    std::uint64_t rx_bytes = 0;
    std::uint64_t tx_bytes = 0;
    std::uint64_t rx_missed = 0;
    std::uint64_t tx_dropped = 0;
  };
  // How often a stand-in began to take sessions: of what is down, of what is at its limit. Few enough to
  // share.
  std::atomic<std::uint64_t> backup_activations{0};
  std::atomic<std::uint64_t> overflow_activations{0};
  std::atomic<std::uint64_t> bound_refused{0};  ///< clients that persistence had no room for
  std::array<Port, kMaxPorts> ports{};          ///< the control thread's
};

class Persistence;

struct Shared {
  Shared();
  /// On memory that outlasts the process: kBytes at a 64-byte boundary, zeroed or left by a process before.
  /// Bindings, totals and highest values are then as they were; no session is counted yet.
  explicit Shared(std::span<std::byte> memory);
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  struct alignas(64) Binding {
    /// How one end of its sessions is known to the other: the client's end is the VIP, the real server's its
    /// own address. What translation changes of checksums (checksum.h) is that of packets from this end.
    struct alignas(32) End {
      Ip address;  // the addresses are written while no session holds the slot
      L4Port port = 0;
      std::uint16_t ip_delta = 0;          ///< of an IPv4 header: the address, and one hop
      std::uint16_t l4_delta = 0;          ///< address and port
      std::atomic<TallySlot> tally{0};     ///< of the virtual server, of the real server
      std::atomic<std::uint32_t> word{0};  ///< state() and rules(), which have no other room
    };
    BySide<End> end;

    /// persistent << 24 | admission << 16 | epoch
    [[nodiscard]] std::atomic<std::uint32_t>& state() noexcept { return end[Side::client].word; }
    [[nodiscard]] const std::atomic<std::uint32_t>& state() const noexcept { return end[Side::client].word; }
    [[nodiscard]] const std::atomic<std::uint32_t>& rules() const noexcept { return end[Side::real].word; }

    static constexpr std::uint32_t kResetOnExpiry = 1u << 31;  ///< clsrst
    static constexpr std::uint32_t kFastUdp = 1u << 30;        ///< udpage
    static constexpr std::uint32_t kDropFragments = 1u << 29;  ///< frag dis
    static constexpr std::uint32_t kIdleSeconds = (1u << 27) - 1;

    /// Sets whom a slot that no session holds stands for.
    void assign(const Ip& vip, L4Port vport, const Ip& rip, L4Port rport) noexcept;
    /// Control: an open session's life without packets, at most kIdleSeconds, and any of the rules above.
    void set_rules(std::uint32_t idle_seconds, std::uint32_t any) noexcept {
      end[Side::real].word.store(idle_seconds | any, std::memory_order_relaxed);
    }
    [[nodiscard]] std::uint32_t idle_ticks() const noexcept {
      return (rules().load(std::memory_order_relaxed) & kIdleSeconds) * Tick::kPerSecond;
    }
    [[nodiscard]] bool has(std::uint32_t rule) const noexcept {
      return (rules().load(std::memory_order_relaxed) & rule) != 0;
    }
    [[nodiscard]] const Ip& vip() const noexcept { return end[Side::client].address; }
    [[nodiscard]] const Ip& rip() const noexcept { return end[Side::real].address; }
    [[nodiscard]] L4Port vport() const noexcept { return end[Side::client].port; }
    [[nodiscard]] L4Port rport() const noexcept { return end[Side::real].port; }
  };
  static_assert(sizeof(Binding) == 64);

  // Where its parts begin in the memory that outlasts the process.
  static constexpr std::size_t kTalliesAt = (kMaxBindings + 1) * sizeof(Binding);
  static constexpr std::size_t kGroupsAt = kTalliesAt + kMaxTallies * sizeof(Tally);
  static constexpr std::size_t kTotalsAt = kGroupsAt + (kMaxBindings + 1) * sizeof(std::atomic<TallySlot>);
  static constexpr std::size_t kBytes = kTotalsAt + sizeof(Totals);

  std::span<Binding> bindings;
  std::span<Tally> tallies;
  std::span<std::atomic<TallySlot>> groups;  ///< by binding: the tally of its group
  Totals& totals;
  std::vector<std::atomic<std::uint32_t>>
      current;  ///< by binding: its sessions, for svcleast and for counts of services
  Hops hops;

  /// Which clients stay with which server; null: nobody does. Set before workers begin.
  Persistence* persistence = nullptr;
  /// By binding: how long its clients stay after their last session.
  std::vector<std::atomic<std::uint32_t>> persist_seconds;

  /// By binding: whose new sessions go elsewhere because a limit is reached.
  static constexpr std::uint8_t kServerOverflows = 1;  ///< this server's, to its stand-in
  static constexpr std::uint8_t kGroupOverflows = 2;   ///< its service's group's, to the next group, of which
                                                       ///< this is the first server
  std::vector<std::atomic<std::uint8_t>> overflows;

  /// Bindings whose epoch ended, in order; a worker follows `closings_head` and gives up its counts.
  static constexpr std::size_t kClosings = 2 * kMaxBindings;
  std::vector<std::atomic<BindingSlot>> closings;
  std::atomic<std::uint64_t> closings_head{0};

  /// How long a closed session stays, so that late packets of both ends still find their way.
  std::atomic<std::uint32_t> closed_ticks{2 * Tick::kPerSecond};

  /// A reset that is not in its connection's window is dropped (rstchk).
  std::atomic<bool> check_resets{false};
  /// UDP for a VIP on a port without service is answered with "port unreachable".
  std::atomic<bool> answer_closed_ports{false};

  struct Port {
    std::atomic<std::uint64_t> mac{0};  ///< a MacWord
    std::atomic<std::uint32_t> longest{kEthernetHeader +
                                       1500};  ///< bytes of a frame: MTU and Ethernet header

    /// Whether a frame of so many bytes may leave by it.
    [[nodiscard]] bool fits(std::uint16_t length) const noexcept {
      return length <= longest.load(std::memory_order_relaxed);
    }
  };
  std::array<Port, kMaxPorts> ports;

  [[nodiscard]] BindingState state(BindingSlot slot) const noexcept {
    const std::uint32_t value = bindings[slot].state().load(std::memory_order_acquire);
    return {.admission = static_cast<forwarding::Admission>(value >> 16 & 0xff),
            .epoch = static_cast<std::uint16_t>(value),
            .persistent = value >> 24 != 0};
  }
  /// The three tallies that count a binding's sessions: of its real server, its group and its virtual server.
  [[nodiscard]] std::array<Tally*, 3> tallies_of(BindingSlot slot) noexcept {
    const auto at = [&](const std::atomic<TallySlot>& tally) {
      return &tallies[tally.load(std::memory_order_relaxed)];
    };
    return {at(bindings[slot].end[Side::real].tally), at(groups[slot]),
            at(bindings[slot].end[Side::client].tally)};
  }
  /// Control: what a binding admits from now on. Closing it ends its epoch: its sessions are terminated.
  /// `persistent` counts while it drains.
  void admit(BindingSlot slot, forwarding::Admission admission, bool persistent = false) noexcept;
  /// Worker: whether the session it reserved just now overflowed. Stores only when that is a change.
  void note_overflow(BindingSlot slot, std::uint8_t kind, bool overflowed) noexcept;
  /// Worker: a session that pick() reserved does not come to be.
  void give_back(TallySlot real) noexcept { tallies[real].close(1); }
  void set_port(PortIndex port, const Mac& mac, std::uint16_t mtu) noexcept;
  [[nodiscard]] MacWord mac(PortIndex port) const noexcept {
    return MacWord(ports[port].mac.load(std::memory_order_relaxed));
  }
  [[nodiscard]] std::uint16_t mtu(PortIndex port) const noexcept {
    return static_cast<std::uint16_t>(ports[port].longest.load(std::memory_order_relaxed) - kEthernetHeader);
  }
  /// Whether a frame of so many bytes may leave by a port.
  [[nodiscard]] bool fits(PortIndex port, std::uint16_t length) const noexcept {
    return ports[port].fits(length);
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept;
  };
  explicit Shared(std::unique_ptr<std::byte, Free> own);
  std::unique_ptr<std::byte, Free> own_;  ///< when no memory was given
};

}  // namespace headgate::core
