// SPDX-License-Identifier: Apache-2.0
#include "dataplane/shell/tx_batches.h"

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <algorithm>

namespace headgate::shell {

void TxBatches::begin(std::uint16_t device) noexcept {
  if (batches_[device].count == kBatch) send(device);
  const auto end = used_.begin() + static_cast<std::ptrdiff_t>(used_count_);
  if (std::find(used_.begin(), end, device) == end) used_[used_count_++] = device;
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
