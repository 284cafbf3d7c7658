// SPDX-License-Identifier: Apache-2.0
#include "dataplane/shell/control.h"

#include <poll.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <span>

#include "dataplane/core/session.h"
#include "dataplane/shell/clock.h"
#include "dataplane/shell/log.h"

namespace headgate::shell {
namespace {

constexpr std::uint64_t kSecondNs = 1'000'000'000;
constexpr std::uint64_t kFailuresEveryNs = 50'000'000;
constexpr unsigned kReclaimEverySeconds = 10;
/// Clients that persistence remembers at a time, and in how many seconds it looks at all of them.
constexpr std::size_t kMostBoundClients = std::size_t{1} << 20;
constexpr std::size_t kBoundRoundSeconds = 4;

std::set<Ip> vips(const forwarding::Generation& generation) {
  std::set<Ip> all;
  for (const auto& service : generation.service()) all.insert(Ip::from_wire(service.vip()).value_or(Ip{}));
  return all;
}

}  // namespace

Control::Control(const Options& options, const Eal& eal, const SessionFile& sessions)
    : options_(options),
      eal_(eal),
      sessions_(sessions),
      shared_(sessions.part(0)),
      director_(shared_),
      store_(options.state_dir),
      ports_(eal.buffers(), options.steering),
      neighbourhood_(mirror_, shared_.hops),
      server_(
          options.run_dir + "/dataplane.sock",
          [this](Server::ClientId client, const forwarding::Order& order) { take_order(client, order); }) {}

Control::~Control() {
  if (crew_) crew_->stop();  // before the ports go away under the workers
}

Status Control::start() {
  if (auto done = server_.listen(); !done) return done;
  if (auto done = mirror_.open(); !done) return done;
  std::uint64_t seed = 0;
  if (getrandom(&seed, sizeof seed, 0) != sizeof seed) return Error{"no random numbers"};
  const std::size_t bound = std::min<std::size_t>(options_.sessions, kMostBoundClients);
  persistence_ = std::make_unique<core::Persistence>(bound, seed);
  shared_.persistence = persistence_.get();
  auto crew = Crew::start(options_, eal_, sessions_, shared_);
  if (!crew) return crew.error();
  crew_ = std::move(*crew);
  jobs_ = std::make_unique<SessionJobs>(*crew_, director_, *persistence_, server_);
  director_.set_workers(crew_->switches());
  for (const core::Switch* worker : crew_->switches())
    refused_told_ += worker->fate(core::Fate::drop_table_full);
  recall();
  restore();
  return Done{};
}

void Control::restore() {
  const auto states = store_.states();
  const auto generation = store_.generation();
  if (!states) log("stored states: {}", states.error().message);
  if (!generation) log("stored generation: {}", generation.error().message);
  if (states && states->has_value()) director_.set_states(**states);
  if (!generation || !generation->has_value()) {
    swap_plan();
    return;
  }
  if (auto done = director_.publish(**generation); !done) {
    log("stored generation {}: {}", (*generation)->number(), done.error().message);
    swap_plan();
    return;
  }
  steering_stale_ = true;
  log("going on with the stored generation {}", director_.published().number());
  ports_.want(director_.published());
  bring_ports(monotonic_ns());
  swap_plan();
}

void Control::recall() {
  if (!sessions_.survived()) return;
  auto slots = store_.slots();
  if (!slots) log("stored slots: {}", slots.error().message);
  const bool known = slots && slots->has_value() && (*slots)->memory() == sessions_.seed();
  // Without them all sessions are closed, and age.
  director_.recall(known ? **slots : memory::Slots{});
  if (known) ports_.recall(**slots);
  log("going on with {} sessions of before{}", director_.stats().current_sessions(),
      known ? "" : ", closed, since what they belong to is not known");
}

void Control::store_slots() {
  memory::Slots slots = director_.slots();
  slots.set_memory(sessions_.seed());
  ports_.remember(slots);
  if (auto done = store_.save(slots); !done) log("a restart would lose sessions: {}", done.error().message);
}

Status Control::run(int stop_fd) {
  std::vector<pollfd> fds;
  for (;;) {
    fds.assign({{stop_fd, POLLIN, 0}, {mirror_.fd(), POLLIN, 0}, {crew_->doorbell().fd(), POLLIN, 0}});
    server_.add_to(fds);
    if (poll(fds.data(), fds.size(), milliseconds_to_next(monotonic_ns())) < 0 && errno != EINTR) {
      return Error{std::string("poll: ") + std::strerror(errno)};
    }
    if (fds[0].revents != 0) break;
    if (fds[1].revents != 0) follow_kernel();
    if (fds[2].revents != 0) follow_workers();
    server_.handle(fds);
    jobs_->advance();
    run_timers();
  }
  store_states();
  crew_->stop();
  return Done{};
}

int Control::milliseconds_to_next(std::uint64_t now_ns) const {
  std::uint64_t next = next_second_ns_;
  if (server_.anyone()) next = std::min(next, next_failures_ns_);
  if (store_states_ns_ != 0) next = std::min(next, store_states_ns_);
  next = std::min(next, ports_.next_try_ns().value_or(next));
  return next <= now_ns ? 0 : static_cast<int>((next - now_ns) / 1'000'000 + 1);
}

void Control::run_timers() {
  const std::uint64_t now_ns = monotonic_ns();
  if (store_states_ns_ != 0 && now_ns >= store_states_ns_) store_states();
  if (now_ns >= next_failures_ns_) {
    next_failures_ns_ = now_ns + kFailuresEveryNs;
    if (server_.anyone()) report_failures();
  }
  if (now_ns >= next_second_ns_) {
    next_second_ns_ = now_ns + kSecondNs;
    every_second();
  }
  if (now_ns >= ports_.next_try_ns().value_or(now_ns + 1)) bring_ports(now_ns);
}

void Control::every_second() {
  bring_ports(monotonic_ns());
  for (const OpenPort& port : ports_.open()) count(port);
  follow_kernel();  // tries again what failed
  follow_links();
  report_full_table();
  persistence_->expire(tick_now(), persistence_->buckets() / kBoundRoundSeconds + 1);
  if (director_.tick(tick_now())) swap_plan();
  const std::size_t forgotten = neighbourhood_.renew(tick_now(), monotonic_ns());
  if (++seconds_ % kReclaimEverySeconds == 0 && forgotten > 0) reclaim_hops();
}

void Control::report_full_table() {
  std::uint64_t refused = 0;
  for (const core::Switch* worker : crew_->switches()) refused += worker->fate(core::Fate::drop_table_full);
  const std::uint64_t fresh = refused - std::exchange(refused_told_, refused);
  if (fresh > 0) log("the table of sessions is full: {} packets for new ones were dropped", fresh);
}

void Control::reclaim_hops() {
  director_.renew_hops();
  swap_plan();  // returns when no worker holds an index of before
  const Tick now = tick_now();
  const auto freed = shared_.hops.reclaim({now.value - Neighbourhood::kForgottenSeconds * Tick::kPerSecond});
  if (freed > 0) log("{} neighbours that do not answer are forgotten", freed);
}

void Control::store_states() {
  if (store_states_ns_ == 0) return;
  store_states_ns_ = 0;
  if (auto done = store_.save(director_.states()); !done) log("{}", done.error().message);
}

void Control::report_failures() {
  for (const forwarding::TrafficFailure& failure : director_.traffic_failures(tick_now())) {
    forwarding::Report report;
    *report.mutable_traffic_failure() = failure;
    server_.broadcast(report);
  }
}

// ---- Ports, kernel and workers

void Control::bring_ports(std::uint64_t now_ns) {
  std::vector<OpenPort> unwanted = ports_.take_unwanted();
  for (const OpenPort& port : unwanted) count(port);
  if (!unwanted.empty()) {
    ports_changed();  // workers have let go of them when it returns
    unwanted.clear();
  }
  const std::size_t before = ports_.open().size();
  renew_steering();  // a gate must not open on what was in force before
  if (!ports_.open_missing(tables_, now_ns)) return;
  for (OpenPort& port : std::span(ports_.open()).subspan(before)) begin_counts(port);
  ports_changed();
}

std::uint64_t Control::lost(const OpenPort& port) const {
  return crew_->lost(port.index, port.device.id());
}

void Control::begin_counts(OpenPort& port) {
  core::Totals::Port& kept = shared_.totals.ports[port.index];
  if (kept.number != port.config.number()) {
    kept = {};
    core::in_this_order();  // never the counts of one port under the number of another
    kept.number = port.config.number();
  }
  port.before = kept;
  port.lost_base = lost(port);
}

const core::Totals::Port& Control::count(const OpenPort& port) {
  core::Totals::Port& kept = shared_.totals.ports[port.index];
  const DeviceCounts now = port.device.counts();
  // A device that is gone counts nothing any more.
  const auto keep = [](std::uint64_t& known, std::uint64_t sum) { known = std::max(known, sum); };
  keep(kept.rx_packets, port.before.rx_packets + now.rx_packets);
  keep(kept.tx_packets, port.before.tx_packets + now.tx_packets);
  keep(kept.rx_bytes, port.before.rx_bytes + now.rx_bytes);
  keep(kept.tx_bytes, port.before.tx_bytes + now.tx_bytes);
  keep(kept.rx_missed, port.before.rx_missed + now.rx_missed);
  keep(kept.tx_dropped, port.before.tx_dropped + lost(port) - port.lost_base);
  return kept;
}

void Control::ports_changed() {
  if (auto done = mirror_.read(); !done) log("{}", done.error().message);  // twins and their links
  for (const OpenPort& port : ports_.open()) set_port_words(port);
  neighbourhood_.set_ports(ports_);
  steering_stale_ = true;
  neighbourhood_.sync_all();
  director_.set_ports(ports_.by_index());
  director_.set_routes(neighbourhood_.routes());
  swap_plan();
  follow_links();
}

void Control::set_port_words(const OpenPort& port) {
  const netlink::Link* link = mirror_.link(port.kernel_interface);
  const Mac mac = link != nullptr ? link->mac : port.device.mac();
  const auto mtu = link != nullptr ? static_cast<std::uint16_t>(link->mtu) : port.device.mtu();
  shared_.set_port(port.index, mac, mtu);
}

void Control::renew_steering() {
  if (!std::exchange(steering_stale_, false)) return;
  SteeringTables tables = steering_tables(director_.published(), mirror_.addresses());
  director_.set_addresses(neighbourhood_.addresses(vips(director_.published())));
  if (steering_ && tables == tables_) return;
  steering_ = std::make_shared<const Steering>(tables);
  tables_ = std::move(tables);
  programs_stale_ = true;
}

void Control::swap_plan() {
  renew_steering();
  auto plan = std::make_unique<Plan>();
  plan->generation = director_.build();
  plan->steering = steering_;
  plan_ports(ports_, crew_->size(), *plan);
  crew_->publish(std::move(plan));
  if (std::exchange(programs_stale_, false)) ports_.steer(tables_);
}

void Control::follow_kernel() {
  if (auto done = mirror_.read(); !done) log("{}", done.error().message);
  const KernelMirror::Changes changes = mirror_.take_changes();
  if (!changes.any()) return;
  if (changes.links) {
    for (const OpenPort& port : ports_.open()) set_port_words(port);
    neighbourhood_.set_ports(ports_);
    follow_links();
  }
  if (changes.all_neighbours || changes.links) {
    neighbourhood_.sync_all();
  } else {
    neighbourhood_.sync(changes.neighbours);
  }
  if (changes.links || changes.addresses) steering_stale_ = true;
  if (changes.links || changes.routes) director_.set_routes(neighbourhood_.routes());
  if (changes.links || changes.routes || changes.addresses) swap_plan();
}

void Control::follow_workers() {
  crew_->doorbell().answer();
  std::array<core::HopIndex, 64> wanted;
  for (unsigned number = 0; number < crew_->size(); ++number) {
    std::size_t count = 0;
    while ((count = crew_->worker(number).take_wanted(wanted)) > 0) {
      neighbourhood_.want({wanted.data(), count}, monotonic_ns());
    }
  }
}

bool Control::is_up(const OpenPort& port) const {
  if (port.twin) return port.device.link_up();
  const netlink::Link* link = mirror_.link(port.kernel_interface);
  return link != nullptr && link->up;
}

void Control::follow_links() {
  for (OpenPort& port : ports_.open()) {
    const bool up = is_up(port);
    if (up == port.up) continue;
    port.up = up;
    log("port {} ({}) is {}", port.config.number(), port.config.device(), up ? "up" : "down");
    forwarding::Report report;
    report.mutable_port_change()->set_port(port.config.number());
    report.mutable_port_change()->set_up(up);
    server_.broadcast(report);
  }
}

}  // namespace headgate::shell
