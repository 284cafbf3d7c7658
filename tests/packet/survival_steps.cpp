// SPDX-License-Identifier: Apache-2.0
#include "tests/packet/survival_steps.h"

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace headgate::testing {
namespace {

constexpr std::uint16_t kPorts = 24;

/// A service of site_of_steps(), by the number of its virtual server and its real one less one.
struct Place {
  std::string_view client, vip, server;
  std::uint16_t vport, rport;
  bool udp;
};
constexpr std::array<Place, 4> kPlaces{{
    {"10.10.1.50", "10.10.1.100", "10.10.2.11", 80, 8080, false},
    {"10.10.1.50", "10.10.1.101", "10.10.2.12", 53, 5353, true},
    {"2001:db8:1::50", "2001:db8:1::66", "2001:db8:2::d", 80, 8080, false},
    {"2001:db8:1::50", "2001:db8:1::67", "2001:db8:2::e", 53, 5353, true},
}};

Packet segment(const Packet& client, const Packet& server, std::mt19937& random) {
  switch (random() % 10) {
    case 0:
    case 1:
    case 2:
      return client.tcp(client.source_port, 80, kSyn).seq(1000);
    case 3:
    case 4:
      return server.tcp(8080, server.destination_port, kSyn | kAck).seq(5000).ack(1001);
    case 5:
    case 6:
      return client.tcp(client.source_port, 80, kAck).seq(1001).ack(5001);
    case 7:
      return client.tcp(client.source_port, 80, kFin | kAck).seq(1001).ack(5001);
    case 8:
      return server.tcp(8080, server.destination_port, kFin | kAck).seq(5001).ack(1002);
    default:
      return random() % 4 == 0 ? client.tcp(client.source_port, 80, kRst).seq(1001)
                               : client.tcp(client.source_port, 80, kAck).seq(1002).ack(5002);
  }
}

Wire packet(std::mt19937& random) {
  const Place& place = kPlaces[random() % kPlaces.size()];
  const auto port = static_cast<std::uint16_t>(1024 + random() % kPorts);
  const Packet client = ip(place.client, place.vip).udp(port, place.vport, "question");
  const Packet server = ip(place.server, place.client).udp(place.rport, port, "and answer");
  const Packet sent = place.udp ? (random() % 2 == 0 ? client : server) : segment(client, server, random);
  return sent.in(sent.source == client.source ? kClientPort : kServerPort);
}

void sweep(Core& core) {
  std::array<std::array<std::uint8_t, 128>, 8> octets;
  std::array<core::Frame, octets.size()> frames;
  for (std::size_t i = 0; i < frames.size(); ++i) frames[i] = {.data = octets[i].data(), .capacity = 128};
  core::Spares spares{.frames = frames};
  core.worker.sweep(core.now, kSessions, spares, *core.generation);
}

void clear(Core& core, std::uint16_t port) {
  std::size_t cursor = 0, cleared = 0;
  while (core.worker.clear(cursor, kSessions, {.client_port = port}, cleared)) {
  }
}

void fail(Core& core, int service) {
  const auto target = core.director.published().service(service).member(0).target();
  core.admit(target, forwarding::CLOSED);
  core.admit(target, forwarding::OPEN);
}

bool counts(const core::SessionView& view) {
  return view.life != core::Life::closed && view.life != core::Life::terminated;
}

}  // namespace

Site site_of_steps() {
  Site site;
  site.service(1, 80, 8080, {1});
  site.edit().mutable_service(0)->mutable_member(0)->set_maxcon(kMaxcon);
  site.service(2, 53, 5353, {2}).udp();
  site.service(3, 80, 8080, {3}).ipv6();
  site.edit().mutable_service(2)->set_reset_on_expiry(true);
  site.service(4, 53, 5353, {4}).udp().ipv6();
  return site.idle(6);
}

Tick time_of(std::uint64_t number) {
  return kNow.plus(static_cast<std::uint32_t>(number / 2));
}

Step step_of(std::uint64_t number) {
  std::mt19937 random(static_cast<std::uint32_t>(number * 7919));
  const auto at_its_time = [&](Step::Kind kind, auto act) {
    return Step{kind, [act, now = time_of(number)](Core& core) {
                  core.now = now;
                  act(core);
                }};
  };
  switch (random() % 24) {
    case 0:
      return at_its_time(Step::Kind::sweep, sweep);
    case 1:
      return at_its_time(Step::Kind::clear, [port = static_cast<std::uint16_t>(1024 + random() % kPorts)](
                                                Core& core) { clear(core, port); });
    case 2:
      return at_its_time(Step::Kind::fail, [service = static_cast<int>(random() % kPlaces.size())](
                                               Core& core) { fail(core, service); });
    default:
      return at_its_time(Step::Kind::packet, [wire = packet(random)](Core& core) { core.pass(wire); });
  }
}

// ---- Sessions

Views views(const core::Switch& worker, Tick now) {
  std::vector<core::SessionView> all;
  std::size_t cursor = 0;
  while (worker.dump(cursor, kSessions, {}, now, all)) {
  }
  Views out;
  for (const auto& view : all) {
    const SessionKey key{view.client.text(), view.client_port, view.vip.text() + " " + view.rip.text()};
    EXPECT_TRUE(out.emplace(key, view).second) << "twice: " << view.client_port;
  }
  return out;
}

namespace {

// The time that is left follows from its other fields.
void expect_one_of(const core::SessionView& seen, const std::vector<core::SessionView>& those) {
  const auto between = [&](auto field, const char* name) {
    EXPECT_TRUE(std::ranges::any_of(those, [&](const auto& view) { return seen.*field == view.*field; }))
        << name << " " << ::testing::PrintToString(seen.*field);
  };
  using View = core::SessionView;
  between(&View::client, "client"), between(&View::client_port, "client_port");
  between(&View::vip, "vip"), between(&View::vport, "vport");
  between(&View::rip, "rip"), between(&View::rport, "rport");
  between(&View::protocol, "protocol"), between(&View::port, "port"), between(&View::binding, "binding");
  between(&View::life, "life");
  between(&View::idle_seconds, "idle_seconds"), between(&View::age_seconds, "age_seconds");
  between(&View::packets_client, "packets_client"), between(&View::packets_real, "packets_real");
  between(&View::octets_client, "octets_client"), between(&View::octets_real, "octets_real");
}

// As it is before the packet that opens it is counted.
core::SessionView without_packets(core::SessionView view) {
  view.packets_client = view.packets_real = view.octets_client = view.octets_real = 0;
  return view;
}

}  // namespace

void expect_between(const Views& seen, const Views& before, const Views& after) {
  for (const auto& [key, view] : seen) {
    SCOPED_TRACE("client's port " + std::to_string(std::get<1>(key)));
    std::vector<core::SessionView> those;
    const auto was = before.find(key), will = after.find(key);
    if (was != before.end()) those.push_back(was->second);
    if (will != after.end()) those.push_back(will->second);
    const bool opened = will != after.end() && (was == before.end() || !counts(was->second));
    if (opened) those.push_back(without_packets(will->second));
    EXPECT_FALSE(those.empty()) << "out of nothing";
    expect_one_of(view, those);
  }
  for (const auto& [key, view] : before) {
    // One that was over may begin anew within a step: it may be gone.
    const auto will = after.find(key);
    const bool stays = will != after.end() && (counts(view) || will->second.life == view.life);
    EXPECT_TRUE(!stays || seen.contains(key)) << "lost: client's port " << std::get<1>(key);
  }
}

// ---- Counts

void expect_exact_counts(const Core& core) {
  const Views all = views(core.worker, core.now);
  std::map<std::string, std::uint64_t> expected;
  for (const auto& [key, view] : all) {
    const forwarding::Session session = core.director.describe(view, 0);
    if (!counts(view)) continue;
    ++expected["real " + std::to_string(session.real())];
    ++expected["virt " + std::to_string(session.virt())];
    ++expected["service " + std::to_string(session.virt())];
  }
  const forwarding::Stats stats = core.director.stats();
  std::map<std::string, std::uint64_t> counted;
  const auto count = [&](const std::string& name, std::uint64_t current) {
    if (current > 0) counted[name] += current;
  };
  for (const auto& row : stats.real()) count("real " + std::to_string(row.real()), row.counts().current());
  for (const auto& row : stats.virt()) count("virt " + std::to_string(row.virt()), row.counts().current());
  for (const auto& row : stats.service())
    count("service " + std::to_string(row.virt()), row.counts().current());
  EXPECT_EQ(counted, expected);
  EXPECT_EQ(stats.current_sessions(), all.size());
}

Views Twin::at(std::uint64_t steps, Tick now) {
  for (; done_ < steps; ++done_) step(core_, done_);
  return views(core_.worker, now);
}

}  // namespace headgate::testing
