// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rte_config.h>

#include <array>
#include <cstdint>

#include "dataplane/core/shared.h"

struct rte_mbuf;

namespace headgate::shell {

/// Collects what one worker sends, by device, so that a driver gets bursts. Everything must be flushed before
/// the worker passes between two plans.
class TxBatches {
 public:
  /// Takes the packet over; a batch that is full is sent before.
  void add(std::uint16_t device, rte_mbuf* packet) noexcept {
    Batch& batch = batches_[device];
    if (batch.count % kBatch == 0) [[unlikely]]
      begin(device);
    batch.packets[batch.count++] = packet;
  }
  /// Sends all that was collected.
  void flush() noexcept;
  /// Any thread: packets that the driver did not take; they are freed.
  [[nodiscard]] std::uint64_t refused(std::uint16_t device) const noexcept {
    return batches_[device].refused.get();
  }

 private:
  static constexpr std::uint16_t kBatch = 32;
  struct Batch {
    std::array<rte_mbuf*, kBatch> packets{};
    std::uint16_t count = 0;
    core::Counter refused;
  };
  /// Makes room for the first packet of a batch.
  void begin(std::uint16_t device) noexcept;
  void send(std::uint16_t device) noexcept;

  std::array<Batch, RTE_MAX_ETHPORTS> batches_{};
  std::array<std::uint16_t, RTE_MAX_ETHPORTS> used_{};  ///< devices with a batch begun since the last flush
  std::size_t used_count_ = 0;
};

}  // namespace headgate::shell
