// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "dataplane/core/director.h"
#include "dataplane/core/shared.h"
#include "dataplane/shell/eal.h"
#include "dataplane/shell/worker.h"
#include "tests/bench/huge_memory.h"
#include "tests/bench/site.h"

struct rte_mempool;
struct rte_ring;

namespace headgate::bench {

/// A DPDK port whose wire is in the hands of a benchmark: one ring that it fills, one that it empties.
class RingPort {
 public:
  RingPort(const char* name, rte_mempool* buffers);
  ~RingPort();
  RingPort(const RingPort&) = delete;
  RingPort& operator=(const RingPort&) = delete;

  [[nodiscard]] std::uint16_t device() const noexcept { return device_; }
  /// Has a frame of kFrame bytes with these headers arrive. There must be room, and a buffer.
  void arrive(const std::uint8_t* headers);
  /// Takes what was sent off the wire; calls `look(frame)` with the bytes of each.
  template <class Look>
  std::size_t take_sent(Look&& look);
  /// Frees what was sent; returns how many.
  std::size_t take_sent() {
    return take_sent([](const std::uint8_t*) {});
  }

 private:
  [[nodiscard]] std::size_t dequeue(std::array<rte_mbuf*, core::kBurst>& packets) noexcept;
  [[nodiscard]] static const std::uint8_t* bytes(const rte_mbuf* packet) noexcept;
  static void free(std::array<rte_mbuf*, core::kBurst>& packets, std::size_t count) noexcept;

  rte_mempool* buffers_;
  rte_ring* to_switch_;
  rte_ring* from_switch_;
  std::uint16_t device_ = 0;
};

/// One or two workers of the dataplane on two ring ports, as headgate-dataplane has them, all on the calling
/// thread: of two workers each has a port, and passes on to the other what is the other's.
class RingBed {
 public:
  /// Packets of a fill: as deep as the receive ring of a port.
  static constexpr std::size_t kDepth = 2048;

  RingBed(const shell::Eal& eal, const forwarding::Generation& site, std::uint32_t sessions,
          unsigned workers = 1);
  ~RingBed();

  /// Opens sessions 0 to `sessions` - 1 of the site; `pool_size` packets that may follow, of both directions.
  [[nodiscard]] Pool establish(std::uint32_t sessions, unsigned services, std::uint32_t pool_size);
  void arrive(const Pool& pool, std::uint32_t packet) { ports_[pool.ports[packet]].arrive(pool.at(packet)); }
  /// A round of each worker; returns the packets they handled, those that they passed on counted twice.
  unsigned round() noexcept;
  /// Rounds until nothing arrives any more.
  void drain() noexcept {
    while (round() > 0) {
    }
  }
  std::size_t take_sent() { return ports_[0].take_sent() + ports_[1].take_sent(); }

  /// Any thread: takes a configuration over, as an apply does, and returns when the worker uses it.
  void apply(const forwarding::Generation& generation);

  [[nodiscard]] std::uint64_t forwarded() const noexcept;
  [[nodiscard]] const char* pages() const noexcept { return memories_.front()->pages(); }

 private:
  [[nodiscard]] std::unique_ptr<const shell::Plan> plan() const;
  void pass(std::uint32_t base, std::uint8_t flags, unsigned services);

  std::vector<std::unique_ptr<HugeMemory>> memories_;  ///< by worker
  core::Shared shared_;
  core::Director director_{shared_};
  shell::Published<shell::Plan> plans_;
  shell::Handover handover_;
  shell::Doorbell doorbell_;
  std::array<RingPort, 2> ports_;
  std::vector<std::unique_ptr<shell::Worker>> workers_;
};

template <class Look>
std::size_t RingPort::take_sent(Look&& look) {
  std::array<rte_mbuf*, core::kBurst> packets;
  std::size_t taken = 0;
  while (const std::size_t count = dequeue(packets)) {
    for (std::size_t i = 0; i < count; ++i) look(bytes(packets[i]));
    free(packets, count);
    taken += count;
  }
  return taken;
}

}  // namespace headgate::bench
