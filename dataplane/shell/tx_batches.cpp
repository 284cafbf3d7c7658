// SPDX-License-Identifier: Apache-2.0
#include "dataplane/shell/tx_batches.h"

#include <rte_ethdev.h>
#include <rte_mbuf.h>

namespace headgate::shell {

void TxBatches::add(std::uint16_t device, rte_mbuf* packet) noexcept {
  Batch& batch = batches_[device];
  if (batch.count == kBatch) send(device);
  if (batch.count == 0) {
    bool listed = false;
    for (std::size_t i = 0; i < used_count_; ++i) listed |= used_[i] == device;
    if (!listed) used_[used_count_++] = device;
  }
  batch.packets[batch.count++] = packet;
}

void TxBatches::flush() noexcept {
  for (std::size_t i = 0; i < used_count_; ++i) send(used_[i]);
  used_count_ = 0;
}

void TxBatches::send(std::uint16_t device) noexcept {
  Batch& batch = batches_[device];
  if (batch.count == 0) return;
  const std::uint16_t sent = rte_eth_tx_burst(device, 0, batch.packets.data(), batch.count);
  if (sent < batch.count) {
    const auto left = static_cast<std::uint16_t>(batch.count - sent);
    rte_pktmbuf_free_bulk(batch.packets.data() + sent, left);
    batch.refused.add(left);
  }
  batch.count = 0;
}

}  // namespace headgate::shell
