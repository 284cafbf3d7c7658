// SPDX-License-Identifier: Apache-2.0
#include "tests/packet/bench.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <new>
#include <utility>

#include <gtest/gtest.h>

#include "dataplane/core/owner.h"

namespace headgate::testing {
namespace {

constexpr Ipv4 kFirstVip{0x0a0a0163};  // 10.10.1.99, plus the number of the virtual server
constexpr Ipv4 kFirstReal{0x0a0a020a};

}  // namespace

// ---- Site

Site::Site() {
  generation_.set_number(1);
  generation_.mutable_ageing()->set_closed_seconds(1);
  for (const unsigned number : {kClientPort, kServerPort}) generation_.add_port()->set_number(number);
  ports(true, true);
}

Site& Site::ports(bool client_side_serves_clients, bool server_side_serves_servers) {
  generation_.mutable_port(0)->set_client(client_side_serves_clients);
  generation_.mutable_port(1)->set_server(server_side_serves_servers);
  return *this;
}

Site& Site::service(std::uint32_t virt, std::uint16_t vport, std::uint16_t rport,
                    std::vector<std::uint32_t> reals, forwarding::Metric metric) {
  auto& service = *generation_.add_service();
  service.set_virt(virt);
  service.set_vip(Ip(Ipv4{kFirstVip.value + virt}).wire());
  service.set_vport(vport);
  service.set_protocol(6);
  service.set_group(1);
  service.set_metric(metric);
  for (const std::uint32_t real : reals) {
    auto& member = *service.add_member();
    member.set_real(real);
    member.set_rip(Ip(Ipv4{kFirstReal.value + real}).wire());
    member.set_rport(rport);
    member.set_weight(1);
    member.set_idle_seconds(600);
    auto& target = *member.mutable_target();
    target.set_real(real);
    target.set_port(rport);
    target.set_protocol(6);
    target.set_check("tcp");
  }
  return *this;
}

Site& Site::udp() {
  auto& service = *generation_.mutable_service()->rbegin();
  service.set_protocol(kUdp);
  for (auto& member : *service.mutable_member()) {
    member.mutable_target()->set_protocol(kUdp);
    member.mutable_target()->set_check("udp");
  }
  return *this;
}

Site& Site::ipv6() {
  auto& service = *generation_.mutable_service()->rbegin();
  const auto within = [](std::string_view network, std::uint32_t number) {
    Ip address = host(network);
    address.octets[15] = static_cast<std::uint8_t>(number);
    return address.wire();
  };
  service.set_vip(within("2001:db8:1::", 99 + service.virt()));
  for (auto& member : *service.mutable_member()) member.set_rip(within("2001:db8:2::", 10 + member.real()));
  return *this;
}

Site& Site::weight(std::uint32_t real, std::uint32_t weight) {
  for (auto& service : *generation_.mutable_service()) {
    for (auto& member : *service.mutable_member()) {
      if (member.real() == real) member.set_weight(weight);
    }
  }
  return *this;
}

Site& Site::idle(std::uint32_t seconds) {
  for (auto& service : *generation_.mutable_service()) {
    for (auto& member : *service.mutable_member()) member.set_idle_seconds(seconds);
  }
  return *this;
}

Site web(unsigned servers, forwarding::Metric metric) {
  std::vector<std::uint32_t> reals;
  for (unsigned real = 1; real <= servers; ++real) reals.push_back(real);
  return Site().service(1, 80, 8080, reals, metric);
}

// ---- Memory

TableMemory::TableMemory(std::size_t sessions)
    : size_(core::SessionTable::bytes_needed(sessions)),
      memory_(static_cast<std::byte*>(::operator new (size_, std::align_val_t{64}))) {
  std::memset(memory_.get(), 0, size_);
}

void TableMemory::Free::operator()(std::byte* memory) const {
  ::operator delete (memory, std::align_val_t{64});
}

// ---- Bench

std::vector<core::Route> Bench::connected() {
  return {{.prefix = address("10.10.1.0"), .length = 24, .port = 0},
          {.prefix = address("10.10.2.0"), .length = 24, .port = 1},
          {.prefix = core::kAnyIpv4, .length = 0, .port = 0, .gateway = address("10.10.1.1")},
          {.prefix = host("2001:db8:1::"), .length = 64, .port = 0},
          {.prefix = host("2001:db8:2::"), .length = 64, .port = 1},
          {.prefix = {}, .length = 0, .port = 0, .gateway = host("2001:db8:1::1")}};
}

// A frame in a heap buffer of its own, no larger than the core may write.
struct Bench::Loaded {
  std::unique_ptr<std::uint8_t[]> buffer;
  core::Frame frame;

  explicit Loaded(const Wire& wire) : Loaded(wire.bytes.size() + core::kAnswerRoom + 20) {
    std::ranges::copy(wire.bytes, buffer.get());
    frame.length = static_cast<std::uint16_t>(wire.bytes.size());
    frame.port = static_cast<core::PortIndex>(wire.port - 1);
  }
  explicit Loaded(std::size_t size) : buffer(new std::uint8_t[size]()) {
    frame.data = buffer.get();
    frame.capacity = static_cast<std::uint16_t>(size);
  }
};

/// A fragment that the core wants to see again (core::Action::park).
struct Bench::Parked {
  std::size_t worker;
  Tick since;
  Loaded loaded;
};

Bench::Bench(const Site& site, Options options) {
  shared.persistence = &persistence;
  std::vector<const core::Switch*> readers;
  for (unsigned index = 0; index < options.workers; ++index) {
    memories.emplace_back(options.sessions);
    workers.push_back(std::make_unique<core::Switch>(core::Switch::Config{.memory = memories.back().bytes(),
                                                                          .sessions = options.sessions,
                                                                          .seed = 42 + index,
                                                                          .worker = index,
                                                                          .workers = options.workers},
                                                     shared));
    readers.push_back(workers.back().get());
  }
  director.set_workers(readers);
  director.set_ports({PortNumber{kClientPort}, PortNumber{kServerPort}});
  for (const unsigned port : {kClientPort, kServerPort}) {
    shared.set_port(static_cast<core::PortIndex>(port - 1), mac_of_port(port), 1500);
  }
  routes(connected());
  publish(site);
  if (!options.open) return;
  for (const auto& service : site.generation().service()) {
    for (const auto& member : service.member()) admit(member.target(), forwarding::OPEN);
  }
}

Bench::~Bench() {
  for (const auto& worker : workers) {
    std::uint64_t sum = 0;
    for (std::size_t fate = 0; fate < core::kFates; ++fate)
      sum += worker->fate(static_cast<core::Fate>(fate));
    EXPECT_EQ(worker->packets_in(), sum) << "packets in = sum of fates";
  }
}

void Bench::publish(const Site& site) {
  const Status published = director.publish(site.generation());
  ASSERT_TRUE(published.ok()) << published.error().message;
  generation = director.build();
}

namespace {

forwarding::Target tcp_target(std::uint32_t real, std::uint32_t port) {
  forwarding::Target target;
  target.set_real(real);
  target.set_port(port);
  target.set_protocol(kTcp);
  target.set_check("tcp");
  return target;
}

}  // namespace

void Bench::admit(std::uint32_t real, forwarding::Admission admission, std::uint32_t port) {
  admit(tcp_target(real, port), admission);
}

void Bench::admit(const forwarding::Target& target, forwarding::Admission admission) {
  forwarding::TargetState state;
  *state.mutable_target() = target;
  state.set_admission(admission);
  take(state);
}

void Bench::admit_bound(std::uint32_t real) {
  forwarding::TargetState state;
  *state.mutable_target() = tcp_target(real, 8080);
  state.set_admission(forwarding::DRAINING);
  state.set_persistent(true);
  take(state);
}

void Bench::responds(std::uint32_t real, std::uint32_t microseconds) {
  forwarding::TargetState state;
  *state.mutable_target() = tcp_target(real, 8080);
  state.set_admission(forwarding::OPEN);
  state.set_response_us(microseconds);
  take(state);
}

void Bench::take(const forwarding::TargetState& state) {
  forwarding::States states;
  *states.add_target() = state;
  director.set_states(states);
  generation = director.build();
}

void Bench::tick() {
  if (director.tick(now)) generation = director.build();
}

void Bench::routes(std::vector<core::Route> routes) {
  routes_ = routes;
  director.set_routes(std::move(routes));
  generation = director.build();
}

void Bench::addresses(const core::PortAddresses& addresses) {
  director.set_addresses(addresses);
  generation = director.build();
}

void Bench::learn(const Packet& packet) {
  const core::Routes table(routes_);
  for (const auto& service : generation->layout->services) {
    for (const auto& member : service.members) {
      if (const auto hop = table.lookup(member.rip))
        shared.hops.resolve(hop->port, hop->address, mac_of_host(hop->address));
    }
  }
  for (const Ip& host : {packet.source, packet.destination}) {
    if (const auto hop = table.lookup(host))
      shared.hops.resolve(hop->port, hop->address, mac_of_host(hop->address));
  }
}

std::vector<Wire> Bench::pass(const std::vector<Packet>& packets, unsigned port) {
  std::vector<Wire> frames;
  for (const Packet& packet : packets) frames.push_back(packet.in(port));
  return pass(frames);
}

std::vector<Wire> Bench::pass(const std::vector<Wire>& frames) {
  held.clear();
  punted.clear();
  fated.clear();
  owners.clear();
  std::vector<Wire> sent;
  for (std::size_t at = 0; at < frames.size(); at += core::kBurst) {
    const std::size_t count = std::min(core::kBurst, frames.size() - at);
    pass_burst(std::span(frames).subspan(at, count), sent);
  }
  return sent;
}

std::size_t Bench::owner(const core::Frame& frame) const {
  return core::owner(frame, *generation, static_cast<unsigned>(workers.size()));
}

void Bench::pass_burst(std::span<const Wire> frames, std::vector<Wire>& sent) {
  for (std::size_t worker = 0; worker < workers.size(); ++worker) {
    std::vector<Loaded> loaded;
    for (const Wire& wire : frames) {
      Loaded next(wire);
      if (owner(next.frame) != worker) continue;
      if (const auto packet = decode(wire.bytes); packet && know_neighbours) learn(*packet);
      loaded.push_back(std::move(next));
    }
    process(worker, std::move(loaded), sent);
  }
}

void Bench::process(std::size_t worker, std::vector<Loaded> loaded, std::vector<Wire>& sent) {
  if (loaded.empty()) return;
  constexpr std::size_t kSpare = 1600;
  std::vector<Loaded> room;
  std::vector<core::Frame> burst;
  std::vector<core::Frame> spare;
  for (const Loaded& next : loaded) {
    burst.push_back(next.frame);
    room.emplace_back(kSpare);
    spare.push_back(room.back().frame);
  }
  core::Spares spares{spare};
  workers[worker]->process(burst, spares, *generation, now);
  for (const core::Frame& frame : burst) {
    collect(frame, sent);
    if (frame.action == core::Action::park || frame.action == core::Action::hand) continue;
    fated.push_back(frame.fate);
    owners.push_back(static_cast<unsigned>(worker));
  }
  for (std::size_t i = 0; i < spares.used; ++i) collect(spare[i], sent);
  settle(worker, std::move(loaded), burst, sent);
}

// Does with fragments what the core asks for, as the shell's worker does.
void Bench::settle(std::size_t worker, std::vector<Loaded> loaded, std::span<const core::Frame> burst,
                   std::vector<Wire>& sent) {
  for (std::size_t i = 0; i < burst.size(); ++i) {
    loaded[i].frame.datagram = burst[i].datagram;
    loaded[i].frame.ports = burst[i].ports;
    if (burst[i].action == core::Action::park) {
      parked_.push_back({worker, now, std::move(loaded[i])});
    } else if (burst[i].action == core::Action::hand) {
      loaded[i].frame.datagram = 0;
      std::vector<Loaded> handed;
      handed.push_back(std::move(loaded[i]));
      const std::size_t session_owner = owner(handed[0].frame);
      process(session_owner, std::move(handed), sent);
    }
  }
  for (const core::Frame& frame : burst) {
    if (frame.datagram == 0 || frame.action == core::Action::park) continue;
    std::vector<Loaded> again;
    for (Parked& one : take_parked(worker, frame.datagram)) again.push_back(std::move(one.loaded));
    process(worker, std::move(again), sent);
  }
}

std::vector<Bench::Parked> Bench::take_parked(std::size_t worker, std::uint32_t datagram) {
  const auto others = std::stable_partition(parked_.begin(), parked_.end(), [&](const Parked& one) {
    return one.worker != worker || one.loaded.frame.datagram != datagram;
  });
  std::vector<Parked> taken(std::make_move_iterator(others), std::make_move_iterator(parked_.end()));
  parked_.erase(others, parked_.end());
  return taken;
}

void Bench::release_impatient() {
  std::vector<Wire> sent;
  for (Parked& one : std::exchange(parked_, {})) {
    if (now.since(one.since) < static_cast<std::int32_t>(core::Fragments::kPatience)) {
      parked_.push_back(std::move(one));
      continue;
    }
    std::vector<Loaded> again;
    again.push_back(std::move(one.loaded));
    process(one.worker, std::move(again), sent);
  }
}

std::size_t Bench::parked() const {
  return parked_.size();
}

void Bench::collect(const core::Frame& frame, std::vector<Wire>& sent) {
  Wire wire{frame.port + 1u, Bytes(frame.data, frame.data + frame.length)};
  if (frame.action == core::Action::transmit)
    sent.push_back(std::move(wire));
  else if (frame.action == core::Action::hold)
    held.push_back(std::move(wire));
  else if (frame.action == core::Action::punt)
    punted.push_back(std::move(wire));
}

std::size_t Bench::sweep() {
  std::size_t forgotten = 0;
  told.clear();
  for (const auto& worker : workers) {
    std::vector<Loaded> room;
    std::vector<core::Frame> spare;
    for (int i = 0; i < 1000; ++i) room.emplace_back(std::size_t{80});
    for (const Loaded& next : room) spare.push_back(next.frame);
    core::Spares spares{spare};
    forgotten += worker->sweep(now, std::numeric_limits<std::size_t>::max(), spares, *generation);
    for (std::size_t i = 0; i < spares.used; ++i) collect(spare[i], told);
  }
  return forgotten;
}

Fates Bench::fates() {
  Fates fresh;
  for (std::size_t index = 0; index < core::kFates; ++index) {
    const auto fate = static_cast<core::Fate>(index);
    std::uint64_t all = 0;
    for (const auto& worker : workers) all += worker->fate(fate);
    if (all != seen_[fate]) fresh[fate] = all - seen_[fate];
    seen_[fate] = all;
  }
  return fresh;
}

std::uint64_t Bench::sessions() const {
  std::uint64_t sum = 0;
  for (const auto& worker : workers) sum += worker->sessions();
  return sum;
}

std::uint64_t Bench::current(std::uint32_t real) const {
  const forwarding::Stats all = stats();
  for (const auto& row : all.real()) {
    if (row.real() == real) return row.counts().current();
  }
  return 0;
}

std::uint64_t Bench::total(std::uint32_t real) const {
  const forwarding::Stats all = stats();
  for (const auto& row : all.real()) {
    if (row.real() == real) return row.counts().total();
  }
  return 0;
}

std::vector<std::string> Bench::states() {
  std::vector<std::string> out;
  for (unsigned index = 0; index < workers.size(); ++index) {
    std::vector<core::SessionView> views;
    std::size_t cursor = 0;
    while (workers[index]->dump(cursor, 64, {}, now, views)) {
    }
    for (const auto& view : views) out.push_back(director.describe(view, index).state());
  }
  return out;
}

// ---- Connection

Connection Connection::begin(Bench& bench, std::uint16_t client_port, std::string_view client,
                             std::string_view vip, std::uint16_t vport) {
  Connection made;
  made.client = ip(client, vip).tcp(client_port, vport, kSyn).seq(1000);
  const auto sent = bench.from_client(made.client);
  const auto at_server = sent.size() == 1 ? decode(sent[0].bytes) : std::nullopt;
  if (!at_server || (at_server->flags & kRst) != 0) {
    ADD_FAILURE() << "no server took the connection from port " << client_port;
    return made;
  }
  made.server = at_server->reply(kSyn | kAck);
  return made;
}

Connection Connection::open(Bench& bench, std::uint16_t client_port, std::string_view client,
                            std::string_view vip, std::uint16_t vport) {
  Connection made = begin(bench, client_port, client, vip, vport);
  bench.from_server(made.server.seq(5000).ack(1001));
  bench.from_client(made.says(kAck));
  return made;
}

Packet Connection::says(std::uint8_t flags, std::string_view payload) const {
  return ip(client.source, client.destination)
      .tcp(client.source_port, client.destination_port, flags, payload)
      .seq(1001)
      .ack((flags & kAck) != 0 ? 5001 : 0);
}

Packet Connection::answers(std::uint8_t flags, std::string_view payload) const {
  return ip(server.source, server.destination)
      .tcp(server.source_port, server.destination_port, flags, payload)
      .seq(5001)
      .ack((flags & kAck) != 0 ? 1001 : 0);
}

Packet Connection::at_server(const Packet& sent) const {
  Packet out = sent.ttl(static_cast<std::uint8_t>(sent.time_to_live - 1));
  out.destination = server.source;
  out.destination_port = server.source_port;
  return out;
}

Packet Connection::at_client(const Packet& sent) const {
  Packet out = sent.ttl(static_cast<std::uint8_t>(sent.time_to_live - 1));
  out.source = client.destination;
  out.source_port = client.destination_port;
  return out;
}

}  // namespace headgate::testing
