// SPDX-License-Identifier: Apache-2.0
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <new>

#include <fmt/format.h>

#include "dataplane/shell/worker.h"

namespace headgate::shell {
namespace {

constexpr unsigned kRingSize = 1024;

}  // namespace

Handover::Handover(unsigned workers)
    : workers_(workers), rings_(std::size_t{workers} * workers * kPurposes, nullptr) {
  for (std::size_t i = 0; i < rings_.size(); ++i) {
    const std::size_t from = i / kPurposes / workers;
    if (from == i / kPurposes % workers) continue;  // nobody hands anything to itself
    const std::string name = fmt::format("handover{}", i);
    rings_[i] = rte_ring_create(name.c_str(), kRingSize, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
    if (rings_[i] == nullptr) throw std::bad_alloc();
  }
}

Handover::~Handover() {
  for (rte_ring* ring : rings_) {
    if (ring == nullptr) continue;
    void* packet = nullptr;
    while (rte_ring_sc_dequeue(ring, &packet) == 0) rte_pktmbuf_free(static_cast<rte_mbuf*>(packet));
    rte_ring_free(ring);
  }
}

bool Handover::give(unsigned from, unsigned to, Purpose purpose, rte_mbuf* packet) noexcept {
  return rte_ring_sp_enqueue(ring(from, to, purpose), packet) == 0;
}

unsigned Handover::take(unsigned from, unsigned to, Purpose purpose, std::span<rte_mbuf*> out) noexcept {
  return rte_ring_sc_dequeue_burst(ring(from, to, purpose), reinterpret_cast<void**>(out.data()),
                                   static_cast<unsigned>(out.size()), nullptr);
}

}  // namespace headgate::shell
