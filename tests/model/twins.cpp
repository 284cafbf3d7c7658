// SPDX-License-Identifier: Apache-2.0
#include "tests/model/twins.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headgate::testing {
namespace {

plain::Tally tally_of(const forwarding::SessionCounts& counts) {
  return {.current = counts.current(),
          .highest = counts.highest(),
          .total = counts.total(),
          .packets = counts.packets(),
          .octets = counts.octets()};
}

std::string text(const plain::Tally& tally) {
  return fmt::format("current {} highest {} total {} packets {} octets {}", tally.current, tally.highest,
                     tally.total, tally.packets, tally.octets);
}

}  // namespace

Twins::Twins(const Options& options) : plain_(options.sessions) {
  shared_.persistence = &persistence_;
  std::vector<const core::Switch*> readers;
  for (unsigned index = 0; index < options.workers; ++index) {
    memories_.emplace_back(options.sessions);
    workers_.push_back(std::make_unique<core::Switch>(core::Switch::Config{.memory = memories_.back().bytes(),
                                                                           .sessions = options.sessions,
                                                                           .seed = 7 + index,
                                                                           .worker = index,
                                                                           .workers = options.workers},
                                                      shared_));
    readers.push_back(workers_.back().get());
  }
  director_.set_workers(readers);
  director_.set_ports({PortNumber{1}, PortNumber{2}, PortNumber{3}});
  for (const unsigned port : {1u, 2u, 3u}) set_mtu(port, 1500);
  generation_ = director_.build();
}

// ---- What both are told

void Twins::publish(const forwarding::Generation& generation) {
  if (const Status published = director_.publish(generation); !published.ok())
    return differ("not published: " + published.error().message);
  plain_.publish(generation);
  generation_ = director_.build();
  settle();
}

void Twins::set_states(const forwarding::States& states) {
  director_.set_states(states);
  plain_.set_states(states);
  generation_ = director_.build();
  settle();
}

void Twins::set_routes(const std::vector<core::Route>& routes) {
  director_.set_routes(routes);
  plain_.set_routes(routes);
  generation_ = director_.build();
}

void Twins::set_mtu(unsigned port, std::uint16_t mtu) {
  shared_.set_port(static_cast<core::PortIndex>(port - 1), mac_of_port(port), mtu);
  plain_.set_mtu(port, mtu);
}

void Twins::set_addresses(const std::map<std::pair<unsigned, bool>, Ip>& addresses) {
  core::PortAddresses real;
  for (const auto& [where, address] : addresses) {
    const auto [port, ipv6] = where;
    (ipv6 ? real.v6 : real.v4)[port - 1] = address;
  }
  director_.set_addresses(real);
  plain_.set_addresses(addresses);
  generation_ = director_.build();
}

void Twins::resolve(unsigned port, const Ip& neighbour) {
  shared_.hops.resolve(static_cast<core::PortIndex>(port - 1), neighbour, mac_of_host(neighbour));
  plain_.resolve(port, neighbour);
}

void Twins::forget(unsigned port, const Ip& neighbour) {
  shared_.hops.forget(static_cast<core::PortIndex>(port - 1), neighbour);
  plain_.forget(port, neighbour);
}

void Twins::clear_stats() {
  settle();
  director_.clear_stats();
  plain_.clear_stats();
}

// All workers take note of what the director did, as they do between two bursts.
void Twins::settle() {
  core::Spares none;
  for (const auto& worker : workers_) worker->sweep(now_, 0, none, *generation_);
}

// ---- Time

void Twins::wait(std::uint32_t ticks) {
  now_ = now_.plus(ticks);
  give_up_waiting();
  // Its time over, a datagram is forgotten bit by bit; here at once, so that both forget the same.
  for (std::uint64_t before = 0, left = fragmented(); left != before; left = fragmented()) {
    before = left;
    settle();
  }
  plain_.sweep_fragments(now_);
  persistence_.expire(now_, persistence_.buckets());
  plain_.sweep_clients(now_);
}

// ---- Counts

void Twins::compare_counts() {
  settle();
  const forwarding::Stats stats = director_.stats();
  expect("sessions", stats.current_sessions(), plain_.sessions().size());
  expect("terminated", stats.terminated_sessions(), plain_.terminated());
  expect("resets", stats.resets_built(), plain_.resets());
  expect("sessions that no server took", stats.no_available_real(),
         plain_.fate(core::Fate::reset_no_real) + plain_.fate(core::Fate::drop_no_real));
  expect("errors", stats.errors_built(), plain_.errors());
  expect("errors that a limit kept back", stats.errors_withheld(), plain_.errors_withheld());
  expect("packets in", stats.packets_in(), plain_.packets_in());
  std::uint64_t sum = 0;
  for (int fate = 0; fate < stats.fate_size(); ++fate) {
    sum += stats.fate(fate).packets();
    expect(stats.fate(fate).fate(), stats.fate(fate).packets(), plain_.fate(static_cast<core::Fate>(fate)));
  }
  expect("fragmented datagrams", stats.fragmented_current(), plain_.fragments().current());
  expect("fragmented datagrams ever", stats.fragmented_total(), plain_.fragmented());
  expect("fragments that wait", waiting_in_core(), parked_.size());
  expect("the sum of fates", sum, stats.packets_in());
  expect("half-open sessions", stats.half_open_sessions(), plain_.half_open());
  expect("sessions opened", stats.opened_sessions(), plain_.begun().sessions);
  expect("handshakes begun", stats.opened_tcp_sessions(), plain_.begun().handshakes);
  expect("handshakes settled", stats.answered_tcp_sessions(), plain_.begun().settled);
  compare_rows(stats);
  compare_failures();
  compare_clients();
  compare_sessions();
}

void Twins::compare_rows(const forwarding::Stats& stats) {
  std::map<plain::TallyKey, plain::Tally> real;
  for (const auto& row : stats.real()) real[{'r', row.real(), 0}] = tally_of(row.counts());
  for (const auto& row : stats.group()) real[{'g', row.group(), row.real()}] = tally_of(row.counts());
  for (const auto& row : stats.virt()) real[{'v', row.virt(), row.real()}] = tally_of(row.counts());
  expect("rows", real.size(), plain_.tallies().size());
  for (const auto& [key, tally] : plain_.tallies()) {
    if (real[key] == tally) continue;
    const auto [kind, first, second] = key;
    differ(fmt::format("{} {} {}: {}, not {}", kind, first, second, text(real[key]), text(tally)));
  }
  std::uint64_t packets = 0, octets = 0;
  for (const auto& [key, binding] : plain_.bindings()) {
    packets += binding->packets;
    octets += binding->octets;
  }
  for (const auto& row : stats.service()) {
    packets -= row.counts().packets();
    octets -= row.counts().octets();
  }
  expect("packets of services that are not told", packets, 0);
  expect("octets of services that are not told", octets, 0);
}

void Twins::compare_failures() {
  std::map<plain::TargetKey, std::pair<std::uint32_t, std::uint32_t>> real;
  for (const auto& failure : director_.traffic_failures(now_)) {
    const auto& target = failure.target();
    real[{target.real(), target.port(), target.protocol(), target.check()}] = {failure.refused(),
                                                                               failure.unanswered()};
  }
  const auto expected = plain_.take_failures(now_);
  if (real == expected) return;
  std::string what = "failures of targets differ:";
  for (const auto& [key, counts] : real)
    what += fmt::format(" real {} {}/{}", std::get<0>(key), counts.first, counts.second);
  what += ", not";
  for (const auto& [key, counts] : expected)
    what += fmt::format(" real {} {}/{}", std::get<0>(key), counts.first, counts.second);
  differ(what);
}

// What each session has passed, and for how long.
void Twins::compare_sessions() {
  using Key = std::tuple<std::uint8_t, Ip, std::uint16_t, Ip, std::uint16_t>;
  using Volumes = std::array<std::uint64_t, 6>;
  std::map<Key, Volumes> real;
  for (const auto& worker : workers_) {
    std::vector<core::SessionView> views;
    std::size_t cursor = 0;
    while (worker->dump(cursor, 4096, {}, now_, views)) {
    }
    for (const core::SessionView& view : views)
      real[{static_cast<std::uint8_t>(view.protocol), view.client, view.client_port, view.vip, view.vport}] =
          {view.packets_client, view.packets_real, view.octets_client,
           view.octets_real,    view.age_seconds,  view.idle_seconds};
  }
  const auto seconds = [&](Tick since) {
    return static_cast<std::uint32_t>(now_.since(since)) / Tick::kPerSecond;
  };
  for (const plain::Session& session : plain_.sessions()) {
    const auto& key = session.binding->key;
    const Volumes expected = {session.packets_client, session.packets_real,   session.octets_client,
                              session.octets_real,    seconds(session.began), seconds(session.seen)};
    const Volumes& found =
        real[{session.protocol(), session.client, session.client_port, key.vip, session.binding->vport()}];
    if (found != expected)
      differ(fmt::format("session {}:{} has passed {}, not {}", session.client.text(), session.client_port,
                         fmt::join(found, " "), fmt::join(expected, " ")));
  }
}

void Twins::compare_clients() {
  const auto real = clients();
  expect("bound clients", persistence_.size(), plain_.clients().size());
  expect("bound clients that are found", real.size(), plain_.clients().size());
  for (const auto& [key, client] : plain_.clients()) {
    const auto found = real.find(key);
    if (found == real.end()) return differ("client " + key.client.text() + " is not bound");
    const auto& view = found->second;
    const auto gone = static_cast<std::uint32_t>(now_.since(client.last)) / Tick::kPerSecond;
    const std::uint32_t left = client.users != 0 ? 0 : client.seconds - std::min(gone, client.seconds);
    if (view.real == client.real && view.users == client.users && view.left_seconds == left) continue;
    differ(fmt::format("client {} has server {}, {} sessions, {} s, not {}, {}, {}", key.client.text(),
                       view.real, view.users, view.left_seconds, client.real, client.users, left));
  }
}

std::map<plain::ClientKey, core::Persistence::View> Twins::clients() const {
  std::map<plain::ClientKey, core::Persistence::View> out;
  std::size_t cursor = 0;
  persistence_.dump(cursor, persistence_.buckets(), now_, [&](const core::Persistence::View& view) {
    out[{view.key.client, view.key.vip, view.key.group}] = view;
  });
  return out;
}

void Twins::differ(std::string what) {
  if (difference_.empty()) difference_ = std::move(what);
}

void Twins::expect(std::string_view what, std::uint64_t real, std::uint64_t plain) {
  if (real != plain) differ(fmt::format("{}: {}, not {}", what, real, plain));
}

std::uint64_t Twins::fragmented() const {
  std::uint64_t sum = 0;
  for (const auto& worker : workers_) sum += worker->fragments().current();
  return sum;
}

std::uint64_t Twins::waiting_in_core() const {
  std::uint64_t sum = 0;
  for (const auto& worker : workers_) sum += worker->fragments().parked();
  return sum;
}

std::uint64_t Twins::sessions() const {
  std::uint64_t sum = 0;
  for (const auto& worker : workers_) sum += worker->sessions();
  return sum;
}

}  // namespace headgate::testing
