// SPDX-License-Identifier: Apache-2.0
#include "tests/model/twins.h"

#include <algorithm>
#include <limits>
#include <map>
#include <sstream>

#include <fmt/format.h>

#include "dataplane/core/owner.h"

namespace headgate::testing {
namespace {

constexpr std::size_t kSpare = 128;

std::string text(const plain::Sent& sent) {
  std::ostringstream out;
  out << (sent.held ? "held " : "") << sent.wire;
  return out.str();
}

std::string text(const std::optional<plain::Sent>& sent) {
  return sent ? text(*sent) : "nothing";
}

std::optional<plain::Sent> sent(const core::Frame& frame) {
  const bool held = frame.action == core::Action::hold;
  if (!held && frame.action != core::Action::transmit) return {};
  return plain::Sent{{frame.port + 1u, Bytes(frame.data, frame.data + frame.length)}, held};
}

bool before(const plain::Sent& a, const plain::Sent& b) {
  return std::tie(a.wire.port, a.wire.bytes) < std::tie(b.wire.port, b.wire.bytes);
}

std::vector<plain::Sent> sorted(std::vector<plain::Sent> all) {
  std::ranges::sort(all, before);
  return all;
}

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

/// Memory of exactly the size that the core may write, so that a sanitizer sees an octet touched outside.
struct Twins::Buffer {
  explicit Buffer(std::size_t size, const Bytes& from = {})
      : size(size), octets(std::make_unique<std::uint8_t[]>(size)) {
    std::ranges::copy(from, octets.get());
  }
  [[nodiscard]] core::Frame frame(std::size_t length = 0, unsigned port = 1) const {
    return {.data = octets.get(),
            .length = static_cast<std::uint16_t>(length),
            .capacity = static_cast<std::uint16_t>(size),
            .port = static_cast<core::PortIndex>(port - 1)};
  }
  std::size_t size;
  std::unique_ptr<std::uint8_t[]> octets;
};

Twins::Twins(const Options& options) : plain_(options.sessions) {
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

// ---- Packets

void Twins::pass(const std::vector<Wire>& frames) {
  const auto workers = static_cast<unsigned>(workers_.size());
  std::vector<std::vector<Wire>> parts(workers);
  for (const Wire& wire : frames) {
    const Buffer buffer(wire.bytes.size(), wire.bytes);
    const core::Frame frame = buffer.frame(wire.bytes.size(), wire.port);
    parts[core::owner(frame, *generation_, workers)].push_back(wire);
  }
  for (unsigned worker = 0; worker < workers; ++worker) pass_worker(worker, parts[worker]);
}

void Twins::pass_worker(unsigned worker, const std::vector<Wire>& frames) {
  std::vector<Buffer> buffers, room;
  std::vector<core::Frame> burst, spare;
  for (const Wire& wire : frames) {
    // As much as a reset or an ICMP error in the frame's place may need.
    buffers.emplace_back(std::max<std::size_t>(wire.bytes.size() + core::kAnswerRoom, 64), wire.bytes);
    burst.push_back(buffers.back().frame(wire.bytes.size(), wire.port));
    room.emplace_back(kSpare);
    spare.push_back(room.back().frame());
  }
  core::Spares spares{spare};
  workers_[worker]->process(burst, spares, *generation_, now_);
  std::vector<plain::Sent> own;
  for (std::size_t i = 0; i < frames.size() && difference_.empty(); ++i)
    compare(worker, frames[i], burst[i], own);
  std::vector<plain::Sent> made;
  for (std::size_t i = 0; i < spares.used; ++i) {
    if (const auto packet = sent(spare[i])) made.push_back(*packet);
  }
  if (!difference_.empty() || made == own) return;
  std::string all = "packets of its own differ; the real switch made";
  for (const auto& packet : made) all += "\n  " + text(packet);
  all += "\nthe plain one";
  for (const auto& packet : own) all += "\n  " + text(packet);
  differ(all);
}

void Twins::compare(unsigned worker, const Wire& in, const core::Frame& out, std::vector<plain::Sent>& own) {
  const auto real = sent(out);
  plain::Choice choice{.fate = out.fate,
                       .server = {},
                       .port = 0,
                       .worker = worker,
                       .remembers = [&](const plain::Session& session) { return remembers(session); }};
  if (out.fate == core::Fate::to_real && real) {
    const plain::View view = plain::look(real->wire.bytes);
    choice.server = view.destination;
    choice.port = view.destination_port;
  }
  plain::Outcome expected = plain_.pass(in, choice, now_);
  own.insert(own.end(), expected.own.begin(), expected.own.end());
  const bool same = expected.fate == out.fate && expected.sent == real;
  if (same && plain_.complaint().empty()) return;
  std::ostringstream what;
  what << "for " << in << "\nthe real switch: " << core::name(out.fate) << ", " << text(real)
       << "\nthe plain switch: " << core::name(expected.fate) << ", " << text(expected.sent) << "\n";
  if (real && expected.sent) what << differences(expected.sent->wire, real->wire);
  differ(what.str() + plain_.complaint());
}

bool Twins::remembers(const plain::Session& session) const {
  const auto& key = session.binding->key;
  const core::SessionFilter filter{.client = session.client,
                                   .client_port = session.client_port,
                                   .vip = key.vip,
                                   .vport = session.binding->vport()};
  return std::ranges::any_of(workers_, [&](const auto& worker) {
    std::vector<core::SessionView> views;
    std::size_t cursor = 0;
    while (worker->dump(cursor, 4096, filter, now_, views)) {
    }
    return std::ranges::any_of(views, [&](const core::SessionView& view) {
      return static_cast<std::uint8_t>(view.protocol) == session.protocol();
    });
  });
}

// ---- Time

void Twins::sweep() {
  std::vector<plain::Sent> made;
  for (const auto& worker : workers_) {
    std::size_t work = 1;
    while (work > 0) {
      std::vector<Buffer> room;
      std::vector<core::Frame> spare;
      for (std::size_t i = 0; i < core::kBurst; ++i) room.emplace_back(kSpare);
      for (const Buffer& buffer : room) spare.push_back(buffer.frame());
      core::Spares spares{spare};
      work = worker->sweep(now_, std::numeric_limits<std::size_t>::max(), spares, *generation_) + spares.used;
      for (std::size_t i = 0; i < spares.used; ++i) {
        if (const auto packet = sent(spare[i])) made.push_back(*packet);
      }
    }
  }
  const auto expected = plain_.sweep(now_);
  if (sorted(made) != sorted(expected))
    differ(fmt::format("resets on expiry differ: {} made, {} expected", made.size(), expected.size()));
  expect("sessions", sessions(), plain_.sessions().size());
}

// ---- Counts

void Twins::compare_counts() {
  settle();
  const forwarding::Stats stats = director_.stats();
  expect("sessions", stats.current_sessions(), plain_.sessions().size());
  expect("terminated", stats.terminated_sessions(), plain_.terminated());
  expect("resets", stats.resets_built(), plain_.resets());
  expect("errors", stats.errors_built(), plain_.errors());
  expect("errors that a limit kept back", stats.errors_withheld(), plain_.errors_withheld());
  expect("packets in", stats.packets_in(), plain_.packets_in());
  std::uint64_t sum = 0;
  for (int fate = 0; fate < stats.fate_size(); ++fate) {
    sum += stats.fate(fate).packets();
    expect(stats.fate(fate).fate(), stats.fate(fate).packets(), plain_.fate(static_cast<core::Fate>(fate)));
  }
  expect("the sum of fates", sum, stats.packets_in());
  std::uint64_t half_open = 0;
  for (const auto& worker : workers_) half_open += worker->half_open();
  expect("half-open sessions", half_open, plain_.half_open());
  compare_rows(stats);
  compare_failures();
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

void Twins::differ(std::string what) {
  if (difference_.empty()) difference_ = std::move(what);
}

void Twins::expect(std::string_view what, std::uint64_t real, std::uint64_t plain) {
  if (real != plain) differ(fmt::format("{}: {}, not {}", what, real, plain));
}

std::uint64_t Twins::sessions() const {
  std::uint64_t sum = 0;
  for (const auto& worker : workers_) sum += worker->sessions();
  return sum;
}

}  // namespace headgate::testing
