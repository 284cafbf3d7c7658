// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/ring_bed.h"

#include <rte_dev.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/packet/wire.h"

namespace headgate::bench {
namespace {

constexpr unsigned kRingSize = 4096;  // twice a fill, so that nothing is ever refused

rte_ring* make_ring(const std::string& name) {
  rte_ring* ring = rte_ring_create(name.c_str(), kRingSize, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
  if (ring == nullptr) std::abort();
  return ring;
}

std::uint16_t start_device(const char* name, rte_ring* in, rte_ring* out, rte_mempool* buffers) {
  const int port = rte_eth_from_rings(name, &in, 1, &out, 1, 0);
  if (port < 0) std::abort();
  const auto device = static_cast<std::uint16_t>(port);
  rte_eth_conf configuration{};
  if (rte_eth_dev_configure(device, 1, 1, &configuration) != 0 ||
      rte_eth_rx_queue_setup(device, 0, RingBed::kDepth, 0, nullptr, buffers) != 0 ||
      rte_eth_tx_queue_setup(device, 0, RingBed::kDepth, 0, nullptr) != 0 || rte_eth_dev_start(device) != 0) {
    std::abort();
  }
  return device;
}

}  // namespace

// ---- A port

RingPort::RingPort(const char* name, rte_mempool* buffers)
    : buffers_(buffers),
      to_switch_(make_ring(std::string("in-") + name)),
      from_switch_(make_ring(std::string("out-") + name)),
      device_(start_device(name, to_switch_, from_switch_, buffers)) {}

RingPort::~RingPort() {
  take_sent();
  rte_eth_dev_info info{};
  const bool known = rte_eth_dev_info_get(device_, &info) == 0;
  rte_eth_dev_stop(device_);
  rte_eth_dev_close(device_);
  if (known) rte_dev_remove(info.device);
  rte_ring_free(to_switch_);
  rte_ring_free(from_switch_);
}

void RingPort::arrive(const std::uint8_t* headers) {
  rte_mbuf* packet = rte_pktmbuf_alloc(buffers_);
  if (packet == nullptr) std::abort();
  std::memcpy(rte_pktmbuf_mtod(packet, std::uint8_t*), headers, kHeaders);
  packet->data_len = kFrame;
  packet->pkt_len = kFrame;
  if (rte_ring_sp_enqueue(to_switch_, packet) != 0) std::abort();
}

std::size_t RingPort::dequeue(std::array<rte_mbuf*, core::kBurst>& packets) noexcept {
  return rte_ring_sc_dequeue_burst(from_switch_, reinterpret_cast<void**>(packets.data()), packets.size(),
                                   nullptr);
}

const std::uint8_t* RingPort::bytes(const rte_mbuf* packet) noexcept {
  return rte_pktmbuf_mtod(packet, const std::uint8_t*);
}

void RingPort::free(std::array<rte_mbuf*, core::kBurst>& packets, std::size_t count) noexcept {
  rte_pktmbuf_free_bulk(packets.data(), static_cast<unsigned>(count));
}

// ---- A worker on two of them

RingBed::RingBed(const shell::Eal& eal, const forwarding::Generation& site, std::uint32_t sessions,
                 unsigned workers)
    : plans_(workers, std::make_unique<const shell::Plan>()),
      handover_(workers),
      ports_{RingPort("bench0", eal.buffers()), RingPort("bench1", eal.buffers())} {
  const shell::Workplace workplace{.shared = shared_,
                                   .plans = plans_,
                                   .handover = handover_,
                                   .doorbell = doorbell_,
                                   .buffers = eal.buffers(),
                                   .workers = workers,
                                   .poll = true};
  std::vector<const core::Switch*> switches;
  for (unsigned number = 0; number < workers; ++number) {
    memories_.push_back(std::make_unique<HugeMemory>(core::SessionTable::bytes_needed(sessions)));
    workers_.push_back(
        std::make_unique<shell::Worker>(number, workplace,
                                        core::Switch::Config{.memory = memories_.back()->bytes(),
                                                             .sessions = sessions,
                                                             .seed = 0x5eed,
                                                             .worker = number,
                                                             .workers = workers}));
    switches.push_back(&workers_.back()->packets());
  }
  director_.set_workers(switches);
  bring_up(director_, shared_, site);
  plans_.publish(plan());
  for (unsigned number = 0; number < workers; ++number) plans_.join(number);
}

RingBed::~RingBed() {
  drain();
  for (unsigned number = 0; number < workers_.size(); ++number) plans_.leave(number);
}

unsigned RingBed::round() noexcept {
  unsigned handled = 0;
  for (const auto& worker : workers_) handled += worker->round();
  return handled;
}

std::unique_ptr<const shell::Plan> RingBed::plan() const {
  auto plan = std::make_unique<shell::Plan>();
  plan->generation = director_.build();
  for (core::PortIndex index = 0; index < ports_.size(); ++index) {
    plan->position[index] = static_cast<std::uint8_t>(plan->ports.size() + 1);
    const auto worker = static_cast<unsigned>(index % workers_.size());
    plan->ports.push_back({.index = index, .device = ports_[index].device(), .worker = worker});
  }
  return plan;
}

void RingBed::apply(const forwarding::Generation& generation) {
  if (!director_.publish(generation)) std::abort();
  plans_.publish(plan());
}

std::uint64_t RingBed::forwarded() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& worker : workers_) {
    for (const core::Fate fate : {core::Fate::to_real, core::Fate::to_client})
      sum += worker->packets().fate(fate);
  }
  return sum;
}

void RingBed::pass(std::uint32_t base, std::uint8_t flags, unsigned services) {
  for (std::uint32_t i = 0; i < core::kBurst; ++i)
    ports_[0].arrive(client_frame(base + i, flags, services).data());
  drain();
}

Pool RingBed::establish(std::uint32_t sessions, unsigned services, std::uint32_t pool_size) {
  const std::uint32_t every = std::max(2 * sessions / pool_size, 1u);
  Pool pool;
  for (std::uint32_t base = 0; base < sessions; base += core::kBurst) {
    pass(base, testing::kSyn, services);
    std::uint32_t session = base;
    ports_[1].take_sent([&](const std::uint8_t* frame) {
      const auto syn = testing::decode({frame, frame + kFrame});
      if (!syn) std::abort();
      ports_[1].arrive(syn->reply(testing::kSyn | testing::kAck).padded(kFrame).in(2).bytes.data());
      if (session++ % every != 0) return;
      pool.add(client_frame(session - 1, testing::kAck, services).data(), 0);
      pool.add(syn->reply(testing::kAck).padded(kFrame).in(2).bytes.data(), 1);
    });
    drain();
    pass(base, testing::kAck, services);
    take_sent();
  }
  return pool;
}

}  // namespace headgate::bench
