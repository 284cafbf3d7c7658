// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dataplane/core/switch.h"
#include "dataplane/shell/doorbell.h"
#include "dataplane/shell/hold_queue.h"
#include "dataplane/shell/park_queue.h"
#include "dataplane/shell/plan.h"
#include "dataplane/shell/published.h"
#include "dataplane/shell/session_task.h"
#include "dataplane/shell/sweep_pace.h"
#include "dataplane/shell/tx_batches.h"

struct rte_mbuf;
struct rte_mempool;
struct rte_ring;

namespace headgate::shell {

/// The rings over which workers hand packets to each other: one for each ordered pair and purpose.
class Handover {
 public:
  enum class Purpose : std::uint8_t {
    process,   ///< the receiver owns the session
    gathered,  ///< likewise, a fragment whose ports the giver found
    transmit,  ///< the receiver owns the port of the way out
    kernel,    ///< the receiver owns the twin of the port of the way in
  };
  static constexpr std::size_t kPurposes = 4;
  explicit Handover(unsigned workers);
  ~Handover();
  Handover(const Handover&) = delete;
  Handover& operator=(const Handover&) = delete;

  /// False when the ring is full: the packet is still the caller's.
  [[nodiscard]] bool give(unsigned from, unsigned to, Purpose purpose, rte_mbuf* packet) noexcept;
  /// Fills `out` with what `from` handed to `to`; returns how many.
  [[nodiscard]] unsigned take(unsigned from, unsigned to, Purpose purpose, std::span<rte_mbuf*> out) noexcept;

 private:
  [[nodiscard]] rte_ring* ring(unsigned from, unsigned to, Purpose purpose) const noexcept {
    return rings_[(from * workers_ + to) * kPurposes + static_cast<unsigned>(purpose)];
  }
  unsigned workers_;
  std::vector<rte_ring*> rings_;
};

/// What all workers have in common.
struct Workplace {
  core::Shared& shared;
  Published<Plan>& plans;
  Handover& handover;
  Doorbell& doorbell;
  rte_mempool* buffers;
  unsigned workers;
  bool poll;  ///< never sleep
};

/// One thread of the packet path: receives on its ports, switches what it owns, sends.
class Worker {
 public:
  Worker(unsigned number, const Workplace& workplace, const core::Switch::Config& config);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// The thread's body; returns after stop().
  void run() noexcept;
  /// One round of it, without a rest: polls each port once, and does what is due between bursts. Returns the
  /// packets it handled. The thread must have joined the plans.
  unsigned round() noexcept;
  /// Any thread.
  void stop() noexcept { stop_.store(true, std::memory_order_release); }

  /// Control thread: hands over a task; one at a time. It is the worker's until finished() and the doorbell
  /// rings.
  void post(SessionTask& task) noexcept { task_.store(&task, std::memory_order_release); }
  [[nodiscard]] bool finished() const noexcept { return task_.load(std::memory_order_acquire) == nullptr; }
  /// Control thread: next hops that packets wait for, into `out`; returns how many.
  [[nodiscard]] std::size_t take_wanted(std::span<core::HopIndex> out) noexcept;

  [[nodiscard]] const core::Switch& packets() const noexcept { return switch_; }
  /// Any thread: packets to a port that did not leave: held in vain, without room in a ring, or refused.
  [[nodiscard]] std::uint64_t lost(core::PortIndex port) const noexcept { return lost_[port].get(); }
  [[nodiscard]] std::uint64_t refused(std::uint16_t device) const noexcept { return tx_.refused(device); }

 private:
  using Packets = std::span<rte_mbuf*>;

  unsigned poll_once(const Plan& plan) noexcept;
  unsigned receive(const Plan& plan, const PlannedPort& port) noexcept;
  unsigned receive_from_kernel(const PlannedPort& port) noexcept;
  unsigned take_handed(const Plan& plan) noexcept;
  std::size_t keep_switched(const Plan& plan, const PlannedPort& port, Packets packets) noexcept;
  std::size_t keep_own(const Plan& plan, Packets packets) noexcept;
  /// What a packet that comes to the core has been through; the number that goes with it is in hash.usr.
  enum class Came : std::uint8_t {
    fresh,
    again,     ///< it was parked; for which datagram
    gathered,  ///< another worker found its ports; which
  };
  void process(const Plan& plan, Packets packets, Came came = Came::fresh) noexcept;
  void give_again(const Plan& plan, std::span<const core::Frame> frames) noexcept;
  void release_impatient(const Plan& plan) noexcept;
  void park(rte_mbuf* packet, const core::Frame& frame) noexcept;
  void hand(const Plan& plan, rte_mbuf* packet, const core::Frame& frame) noexcept;
  [[nodiscard]] bool fill_spares() noexcept;
  void settle(const Plan& plan, rte_mbuf* packet, const core::Frame& frame) noexcept;
  void settle_in_line(const Plan& plan, rte_mbuf* packet, const core::Frame& frame) noexcept;
  void transmit(const Plan& plan, core::PortIndex index, rte_mbuf* packet) noexcept;
  void hold(rte_mbuf* packet, const core::Frame& frame) noexcept;
  void punt(const Plan& plan, rte_mbuf* packet) noexcept;
  void lose(core::PortIndex port, rte_mbuf* packet) noexcept;
  void release_held(const Plan& plan) noexcept;
  void sweep(const Plan& plan) noexcept;
  void settle_spares(const Plan& plan, const core::Spares& spares) noexcept;
  void work_on_task() noexcept;
  void rest(unsigned handled) noexcept;

  const unsigned number_;
  Workplace workplace_;
  core::Switch switch_;
  TxBatches tx_;
  HoldQueue<rte_mbuf> held_;
  ParkQueue<rte_mbuf> parked_;
  std::array<rte_mbuf*, core::kBurst> spares_{};
  std::array<core::Frame, core::kBurst> spare_frames_;
  bool spares_full_ = false;
  rte_ring* wanted_;
  std::array<core::Counter, core::kMaxPorts> lost_{};
  std::uint64_t now_ns_ = 0;
  Tick now_;
  SweepPace sweep_pace_;
  unsigned idle_ = 0;
  std::atomic<SessionTask*> task_{nullptr};
  std::atomic<bool> stop_{false};
};

}  // namespace headgate::shell
