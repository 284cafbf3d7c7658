// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "dataplane/core/burst.h"
#include "dataplane/core/ethernet.h"
#include "dataplane/core/hops.h"
#include "model/forwarding.pb.h"
#include "model/ip.h"
#include "model/tick.h"

// What workers and the control thread share beside the generation: flat arrays of words that change quickly.
// Every word has one meaning by itself; nothing here needs two words to agree.
namespace headgate::core {

/// A number that one thread writes and others read.
class Counter {
 public:
  void add(std::uint64_t n) noexcept { value_.store(get() + n, std::memory_order_relaxed); }
  void subtract(std::uint64_t n) noexcept { value_.store(get() - n, std::memory_order_relaxed); }
  void clear() noexcept { value_.store(0, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

/// One real server of one service: what a session is bound to. Slots are stable: the director gives a binding
/// the same slot in every generation. A slot that is free again is used last of all, and in a later epoch, so
/// that sessions which still hold it stay terminated.
using BindingSlot = std::uint32_t;
constexpr std::size_t kMaxBindings = 65536;
constexpr BindingSlot kNoBinding = 0xffffffff;

/// May its packets pass, and which of its sessions are meant: a session bound in an earlier epoch is
/// terminated.
struct BindingState {
  forwarding::Admission admission = forwarding::CLOSED;
  std::uint16_t epoch = 0;

  [[nodiscard]] bool opens() const noexcept { return admission == forwarding::OPEN; }
  [[nodiscard]] bool serves(std::uint16_t session_epoch) const noexcept {
    return admission != forwarding::CLOSED && epoch == session_epoch;
  }
};

/// Sessions of a real server, or of one within a group or virtual server; all workers count into one.
struct Tally {
  std::atomic<std::uint32_t> current{0};
  std::atomic<std::uint32_t> highest{0};
  std::atomic<std::uint64_t> total{0};

  void open() noexcept;
  void close(std::uint32_t sessions) noexcept { current.fetch_sub(sessions, std::memory_order_relaxed); }
};
using TallySlot = std::uint32_t;
constexpr std::size_t kMaxTallies =
    6 * kMaxBindings;  // two layouts' worth: the next one is placed beside the present

struct Shared {
  Shared();

  struct alignas(32) Binding {
    std::atomic<std::uint32_t> state{0};       ///< admission << 16 | epoch
    std::atomic<std::uint32_t> idle_ticks{0};  ///< an open session's life without packets
    std::atomic<TallySlot> real{0};
    std::atomic<TallySlot> group{0};
    std::atomic<TallySlot> virt{0};
  };
  std::vector<Binding> bindings;
  std::vector<Tally> tallies;
  Hops hops;

  /// Bindings whose epoch ended, in order; a worker follows `closings_head` and gives up its counts.
  static constexpr std::size_t kClosings = 2 * kMaxBindings;
  std::vector<std::atomic<BindingSlot>> closings;
  std::atomic<std::uint64_t> closings_head{0};

  /// How long a closed session stays, so that late packets of both ends still find their way.
  std::atomic<std::uint32_t> closed_ticks{2 * Tick::kPerSecond};

  struct Port {
    std::atomic<std::uint64_t> mac{0};  ///< a MacWord
    std::atomic<std::uint16_t> mtu{1500};
  };
  std::array<Port, kMaxPorts> ports;

  [[nodiscard]] BindingState state(BindingSlot slot) const noexcept {
    const std::uint32_t value = bindings[slot].state.load(std::memory_order_acquire);
    return {static_cast<forwarding::Admission>(value >> 16), static_cast<std::uint16_t>(value)};
  }
  /// Control: what a binding admits from now on. Closing it ends its epoch: its sessions are terminated.
  void admit(BindingSlot slot, forwarding::Admission admission) noexcept;
  void set_port(PortIndex port, const Mac& mac, std::uint16_t mtu) noexcept;
  [[nodiscard]] MacWord mac(PortIndex port) const noexcept {
    return MacWord(ports[port].mac.load(std::memory_order_relaxed));
  }
  /// Whether a frame of so many bytes may leave by a port.
  [[nodiscard]] bool fits(PortIndex port, std::uint16_t length) const noexcept {
    return length <= kEthernetHeader + ports[port].mtu.load(std::memory_order_relaxed);
  }
};

}  // namespace headgate::core
