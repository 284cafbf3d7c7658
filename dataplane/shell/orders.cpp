// SPDX-License-Identifier: Apache-2.0
#include "dataplane/shell/clock.h"
#include "dataplane/shell/control.h"
#include "dataplane/shell/log.h"

// What headgated may order.
namespace headgate::shell {
namespace {

constexpr std::uint64_t kStoreAfterNs = 100'000'000;

}  // namespace

void Control::take_order(Server::ClientId client, const forwarding::Order& order) {
  if (order.has_sessions()) {
    jobs_->dump(client, order.id(), order.sessions());
    return;
  }
  if (order.has_drop_sessions()) {
    jobs_->clear(client, order.id(), order.drop_sessions());
    return;
  }
  forwarding::Report report;
  report.set_id(order.id());
  answer(order, report);
  server_.send(client, report);
}

void Control::answer(const forwarding::Order& order, forwarding::Report& report) {
  switch (order.body_case()) {
    case forwarding::Order::kHello:
      fill(*report.mutable_hand_back());
      return;
    case forwarding::Order::kPublish:
      if (auto done = publish(order.publish()); !done) report.set_error(done.error().message);
      return;
    case forwarding::Order::kStates:
      take_states(order.states());
      return;
    case forwarding::Order::kStats:
      fill(*report.mutable_stats());
      return;
    case forwarding::Order::kRestartStats:
      clear_stats();
      return;
    default:
      report.set_error("this dataplane does not know the order");
      return;
  }
}

Status Control::publish(const forwarding::Generation& generation) {
  // All that can fail comes first: a generation that is taken over and given up again would end sessions.
  if (auto done = director_.check(generation); !done) return done;
  if (auto done = store_.save(generation); !done) return done;
  if (auto done = director_.publish(generation); !done) return done;
  steering_stale_ = true;
  store_slots();   // before any session is bound to a new one
  store_states();  // those still to be stored: without them a start on this generation would admit nobody
  ports_.want(generation);
  bring_ports(monotonic_ns());
  swap_plan();
  log("generation {} is in force: {} ports, {} services", generation.number(), generation.port_size(),
      generation.service_size());
  return Done{};
}

void Control::take_states(const forwarding::States& states) {
  director_.set_states(states);
  swap_plan();
  if (store_states_ns_ == 0) store_states_ns_ = monotonic_ns() + kStoreAfterNs;
  if (states.operation_size() > 0)
    store_states();  // at once: no probe would find out a drain that was forgotten
}

void Control::fill(forwarding::HandBack& hand_back) const {
  hand_back.set_generation(director_.published().number());
  *hand_back.mutable_states() = director_.states();
  hand_back.set_version(HEADGATE_VERSION);
  hand_back.set_workers(crew_->size());
}

void Control::fill(forwarding::Stats& stats) {
  stats = director_.stats();
  stats.set_generation(director_.published().number());
  for (const OpenPort& port : ports_.open()) {
    const core::Totals::Port& counts = count(port);
    const Mac mac = port.device.mac();
    forwarding::PortStats& row = *stats.add_port();
    row.set_port(port.config.number());
    row.set_up(port.up);
    row.set_rx_packets(counts.rx_packets);
    row.set_tx_packets(counts.tx_packets);
    row.set_rx_bytes(counts.rx_bytes);
    row.set_tx_bytes(counts.tx_bytes);
    row.set_rx_missed(counts.rx_missed);
    row.set_tx_dropped(counts.tx_dropped);
    row.set_kernel_interface(port.kernel_interface);
    row.set_mac(mac.octets.data(), mac.octets.size());
  }
}

void Control::clear_stats() {
  director_.clear_stats();
  store_slots();
  for (core::Totals::Port& kept : shared_.totals.ports) kept = {.number = kept.number};  // gone ones too
  for (OpenPort& port : ports_.open()) {
    port.device.clear_counts();
    begin_counts(port);
  }
}

}  // namespace headgate::shell
