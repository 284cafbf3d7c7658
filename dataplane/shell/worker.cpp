// SPDX-License-Identifier: Apache-2.0
#include "dataplane/shell/worker.h"

#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_pause.h>
#include <rte_ring.h>
#include <sys/prctl.h>

#include <algorithm>
#include <ctime>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "dataplane/core/owner.h"
#include "dataplane/shell/clock.h"

namespace headgate::shell {
namespace {

constexpr unsigned kWantedSize = 256;
/// Empty polls before a worker sleeps, and how its sleep grows.
constexpr unsigned kPatientPolls = 32;
constexpr std::uint64_t kFirstSleepNs = 5'000;
constexpr std::uint64_t kLongestSleepNs = 200'000;

core::Frame frame_of(rte_mbuf* packet) noexcept {
  return {.data = rte_pktmbuf_mtod(packet, std::uint8_t*),
          .length = packet->data_len,
          .capacity = static_cast<std::uint16_t>(packet->buf_len - packet->data_off),
          .port = static_cast<core::PortIndex>(packet->port)};
}

}  // namespace

Worker::Worker(unsigned number, const Workplace& workplace, const core::Switch::Config& config)
    : number_(number),
      workplace_(workplace),
      switch_(config, workplace.shared),
      wanted_(rte_ring_create(fmt::format("wanted{}", number).c_str(), kWantedSize, SOCKET_ID_ANY,
                              RING_F_SP_ENQ | RING_F_SC_DEQ)) {
  if (wanted_ == nullptr) throw std::bad_alloc();
}

Worker::~Worker() {
  rte_ring_free(wanted_);
}

void Worker::run() noexcept {
  rte_thread_register();              // gives the thread a cache of packet buffers
  prctl(PR_SET_TIMERSLACK, 1'000UL);  // else the kernel stretches short sleeps by 50 us
  workplace_.plans.join(number_);
  while (!stop_.load(std::memory_order_acquire)) {
    rest(round());
  }
  held_.release(
      now_, [](core::HopIndex) { return false; }, [](rte_mbuf*, core::HopIndex) {},
      [](rte_mbuf* packet) { rte_pktmbuf_free(packet); });
  std::array<rte_mbuf*, ParkQueue<rte_mbuf>::kCapacity> parked;
  rte_pktmbuf_free_bulk(parked.data(), static_cast<unsigned>(parked_.take_all(parked)));
  for (rte_mbuf*& spare : spares_) rte_pktmbuf_free(std::exchange(spare, nullptr));
  workplace_.plans.leave(number_);
  rte_thread_unregister();
}

unsigned Worker::round() noexcept {
  const Plan& plan = workplace_.plans.enter(number_);
  const unsigned handled = poll_once(plan);
  sweep(plan);
  work_on_task();
  return handled;
}

unsigned Worker::poll_once(const Plan& plan) noexcept {
  now_ns_ = monotonic_ns();
  now_ = tick_at(now_ns_);
  if (!held_.empty()) release_held(plan);
  unsigned handled = 0;
  for (const PlannedPort& port : plan.ports) {
    if (port.worker != number_) continue;
    handled += receive(plan, port);
    if (port.twin != kNoDevice) handled += receive_from_kernel(port);
  }
  if (workplace_.workers > 1) handled += take_handed(plan);
  if (!parked_.empty()) release_impatient(plan);
  tx_.flush();
  return handled;
}

unsigned Worker::receive(const Plan& plan, const PlannedPort& port) noexcept {
  std::array<rte_mbuf*, core::kBurst> packets;
  const unsigned count = rte_eth_rx_burst(port.device, 0, packets.data(), core::kBurst);
  if (count == 0) return 0;
  for (unsigned i = 0; i < count; ++i) __builtin_prefetch(packets[i]);
  for (unsigned i = 0; i < count; ++i) {
    packets[i]->port = port.index;
    __builtin_prefetch(rte_pktmbuf_mtod(packets[i], const void*));
  }
  std::size_t left = keep_switched(plan, port, {packets.data(), count});
  left = keep_own(plan, {packets.data(), left});
  process(plan, {packets.data(), left});
  return count;
}

unsigned Worker::receive_from_kernel(const PlannedPort& port) noexcept {
  std::array<rte_mbuf*, core::kBurst> packets;
  const unsigned count = rte_eth_rx_burst(port.twin, 0, packets.data(), core::kBurst);
  for (unsigned i = 0; i < count; ++i) tx_.add(port.device, packets[i]);
  return count;
}

unsigned Worker::take_handed(const Plan& plan) noexcept {
  unsigned handled = 0;
  std::array<rte_mbuf*, core::kBurst> packets;
  for (unsigned from = 0; from < workplace_.workers; ++from) {
    if (from == number_) continue;
    unsigned count = workplace_.handover.take(from, number_, Handover::Purpose::process, packets);
    process(plan, {packets.data(), count});
    handled += count;
    count = workplace_.handover.take(from, number_, Handover::Purpose::gathered, packets);
    process(plan, {packets.data(), count}, Came::gathered);
    handled += count;
    count = workplace_.handover.take(from, number_, Handover::Purpose::transmit, packets);
    for (unsigned i = 0; i < count; ++i) {
      transmit(plan, static_cast<core::PortIndex>(packets[i]->port), packets[i]);
    }
    handled += count;
    count = workplace_.handover.take(from, number_, Handover::Purpose::kernel, packets);
    for (unsigned i = 0; i < count; ++i) punt(plan, packets[i]);
    handled += count;
  }
  return handled;
}

/// Leaves the switch's packets in front, hands the kernel's to it; returns how many are the switch's.
std::size_t Worker::keep_switched(const Plan& plan, const PlannedPort& port, Packets packets) noexcept {
  if (port.twin == kNoDevice) return packets.size();  // an XDP program chose already
  std::size_t kept = 0;
  for (rte_mbuf* packet : packets) {
    const std::span bytes(rte_pktmbuf_mtod(packet, const std::uint8_t*), packet->data_len);
    if (plan.steering && plan.steering->takes(bytes)) {
      packets[kept++] = packet;
    } else {
      tx_.add(port.twin, packet);
    }
  }
  return kept;
}

/// Leaves the packets whose sessions this worker owns in front, hands the others over; returns how many are
/// left.
std::size_t Worker::keep_own(const Plan& plan, Packets packets) noexcept {
  if (workplace_.workers == 1 || !plan.generation) return packets.size();
  std::size_t kept = 0;
  for (rte_mbuf* packet : packets) {
    const unsigned owner = core::owner(frame_of(packet), *plan.generation, workplace_.workers);
    if (owner == number_) {
      packets[kept++] = packet;
    } else if (!workplace_.handover.give(number_, owner, Handover::Purpose::process, packet)) {
      lose(static_cast<core::PortIndex>(packet->port), packet);
    }
  }
  return kept;
}

void Worker::process(const Plan& plan, Packets packets, Came came) noexcept {
  if (packets.empty()) return;
  const bool spare = fill_spares();
  // The core counts on seeing again what it had parked, spares or not.
  if (!plan.generation || (!spare && came != Came::again)) {
    for (rte_mbuf* packet : packets) lose(static_cast<core::PortIndex>(packet->port), packet);
    return;
  }
  std::array<core::Frame, core::kBurst> frames;
  std::transform(packets.begin(), packets.end(), frames.begin(), frame_of);
  for (std::size_t i = 0; i < packets.size() && came != Came::fresh; ++i)
    (came == Came::again ? frames[i].datagram : frames[i].ports) = packets[i]->hash.usr;
  core::Spares spares{.frames = {spare_frames_.data(), spare ? packets.size() : 0}};
  switch_.process({frames.data(), packets.size()}, spares, *plan.generation, now_);

  std::size_t settled = 0;
  for (; settled < packets.size() && held_.empty(); ++settled)
    settle(plan, packets[settled], frames[settled]);
  for (; settled < packets.size(); ++settled) settle_in_line(plan, packets[settled], frames[settled]);
  settle_spares(plan, spares);
  if (!parked_.empty()) give_again(plan, {frames.data(), packets.size()});
}

void Worker::settle_spares(const Plan& plan, const core::Spares& spares) noexcept {
  for (std::size_t i = 0; i < spares.used; ++i) {
    settle_in_line(plan, std::exchange(spares_[i], nullptr), spares.frames[i]);
  }
  if (spares.used > 0) spares_full_ = false;
}

/// Processes the parked fragments of the datagrams that a burst has released. They release none themselves.
void Worker::give_again(const Plan& plan, std::span<const core::Frame> frames) noexcept {
  for (const core::Frame& frame : frames) {
    if (frame.datagram == 0 || frame.action == core::Action::park) continue;
    std::array<rte_mbuf*, core::kBurst> packets;
    while (const std::size_t count = parked_.take(frame.datagram, packets))
      process(plan, {packets.data(), count}, Came::again);
  }
}

void Worker::release_impatient(const Plan& plan) noexcept {
  std::array<rte_mbuf*, core::kBurst> packets;
  while (const std::size_t count = parked_.take_impatient(now_, packets))
    process(plan, {packets.data(), count}, Came::again);
}

bool Worker::fill_spares() noexcept {
  if (spares_full_) return true;
  for (std::size_t i = 0; i < spares_.size(); ++i) {
    if (spares_[i] != nullptr) continue;
    spares_[i] = rte_pktmbuf_alloc(workplace_.buffers);
    if (spares_[i] == nullptr) return false;
    spare_frames_[i] = frame_of(spares_[i]);
  }
  spares_full_ = true;
  return true;
}

void Worker::settle(const Plan& plan, rte_mbuf* packet, const core::Frame& frame) noexcept {
  switch (frame.action) {
    case core::Action::drop:
      rte_pktmbuf_free(packet);
      return;
    case core::Action::punt:
      punt(plan, packet);
      return;
    case core::Action::hold:
      packet->data_len = frame.length;
      packet->pkt_len = frame.length;
      hold(packet, frame);
      return;
    case core::Action::park:
      park(packet, frame);
      return;
    case core::Action::hand:
      hand(plan, packet, frame);
      return;
    case core::Action::transmit:
      packet->data_len = frame.length;
      packet->pkt_len = frame.length;
      transmit(plan, frame.port, packet);
      return;
  }
}

/// Settles a frame behind those that wait for the same neighbour: it may have become known since, and theirs
/// is the first turn.
void Worker::settle_in_line(const Plan& plan, rte_mbuf* packet, const core::Frame& frame) noexcept {
  const auto overtakes = [&] { return frame.action == core::Action::transmit && held_.holds(frame.hop); };
  if (overtakes()) release_held(plan);
  core::Frame last = frame;
  if (overtakes()) last.action = core::Action::hold;
  settle(plan, packet, last);
}

void Worker::transmit(const Plan& plan, core::PortIndex index, rte_mbuf* packet) noexcept {
  const PlannedPort* port = plan.port(index);
  if (port == nullptr) {
    lose(index, packet);
  } else if (port->worker == number_) {
    tx_.add(port->device, packet);
  } else {
    packet->port = index;
    if (!workplace_.handover.give(number_, port->worker, Handover::Purpose::transmit, packet))
      lose(index, packet);
  }
}

void Worker::hold(rte_mbuf* packet, const core::Frame& frame) noexcept {
  using Put = HoldQueue<rte_mbuf>::Put;
  const Put put = held_.put(packet, frame.hop, now_);
  packet->port = frame.port;
  if (put == Put::full) {
    lose(frame.port, packet);
  } else if (put == Put::first) {
    // A full ring means that the control thread is behind; the next packet after this one's patience asks
    // again.
    static_cast<void>(rte_ring_sp_enqueue(wanted_, reinterpret_cast<void*>(std::uintptr_t{frame.hop} + 1)));
    workplace_.doorbell.ring();
  }
}

void Worker::park(rte_mbuf* packet, const core::Frame& frame) noexcept {
  packet->hash.usr = frame.datagram;
  if (!parked_.put(packet, frame.datagram, now_)) lose(static_cast<core::PortIndex>(packet->port), packet);
}

void Worker::hand(const Plan& plan, rte_mbuf* packet, const core::Frame& frame) noexcept {
  packet->hash.usr = frame.ports;
  const unsigned owner = core::owner(frame, *plan.generation, workplace_.workers);
  if (!workplace_.handover.give(number_, owner, Handover::Purpose::gathered, packet))
    lose(static_cast<core::PortIndex>(packet->port), packet);
}

void Worker::punt(const Plan& plan, rte_mbuf* packet) noexcept {
  const PlannedPort* port = plan.port(static_cast<core::PortIndex>(packet->port));
  const auto index = static_cast<core::PortIndex>(packet->port);
  if (port == nullptr || port->twin == kNoDevice) {
    lose(index, packet);  // behind an XDP program there is no way back
  } else if (port->worker == number_) {
    tx_.add(port->twin, packet);
  } else if (!workplace_.handover.give(number_, port->worker, Handover::Purpose::kernel, packet)) {
    lose(index, packet);
  }
}

void Worker::lose(core::PortIndex port, rte_mbuf* packet) noexcept {
  if (port < lost_.size()) lost_[port].add(1);
  rte_pktmbuf_free(packet);
}

void Worker::release_held(const Plan& plan) noexcept {
  core::Hops& hops = workplace_.shared.hops;
  const auto send = [&](rte_mbuf* packet, core::HopIndex index) {
    const core::Hops::Hop hop = hops.use(index, now_);
    core::write_ethernet(rte_pktmbuf_mtod(packet, std::uint8_t*), hop.mac, workplace_.shared.mac(hop.port));
    transmit(plan, hop.port, packet);
  };
  held_.release(
      now_, [&](core::HopIndex index) { return hops.use(index, now_).resolved; }, send,
      [&](rte_mbuf* packet) { lose(static_cast<core::PortIndex>(packet->port), packet); });
}

void Worker::sweep(const Plan& plan) noexcept {
  const std::size_t due = sweep_pace_.due(switch_.capacity(), now_ns_);
  if (due == 0 || !plan.generation || !fill_spares()) return;
  core::Spares spares{.frames = spare_frames_};
  switch_.sweep(now_, due, spares, *plan.generation);
  settle_spares(plan, spares);
}

void Worker::work_on_task() noexcept {
  SessionTask* task = task_.load(std::memory_order_acquire);
  if (task == nullptr) return;
  if (task->kind == SessionTask::Kind::dump) {
    task->more = switch_.dump(task->cursor, SessionTask::kPiece, task->filter, now_, task->views);
  } else {
    task->more = switch_.clear(task->cursor, SessionTask::kPiece, task->filter, task->cleared);
  }
  task_.store(nullptr, std::memory_order_release);
  workplace_.doorbell.ring();
}

void Worker::rest(unsigned handled) noexcept {
  if (handled != 0) {
    idle_ = 0;
    return;
  }
  if (++idle_ < kPatientPolls || workplace_.poll) {
    rte_pause();
    return;
  }
  const std::uint64_t ns = std::min(kFirstSleepNs * (idle_ - kPatientPolls + 1), kLongestSleepNs);
  const timespec pause{0, static_cast<long>(ns)};
  workplace_.plans.leave(number_);
  clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);  // waking early, by a signal, does no harm
  workplace_.plans.join(number_);
}

std::size_t Worker::take_wanted(std::span<core::HopIndex> out) noexcept {
  std::size_t count = 0;
  void* entry = nullptr;
  while (count < out.size() && rte_ring_sc_dequeue(wanted_, &entry) == 0) {
    out[count++] = static_cast<core::HopIndex>(reinterpret_cast<std::uintptr_t>(entry) - 1);
  }
  return count;
}

}  // namespace headgate::shell
