// SPDX-License-Identifier: Apache-2.0
// Random traffic of both protocols and families over limits, backups, fallbacks, persistence, failures and
// applies: whatever became of the sessions, nothing is counted any more when the tables are empty.
#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/packet/choice_sites.h"

namespace headgate::testing {
namespace {

using core::Fate;

// ---- The site

/// A member of a service as another real server would be one.
forwarding::Member another(const forwarding::Service& service, std::uint32_t real) {
  forwarding::Member member = service.member(0);
  member.set_real(real);
  member.mutable_rip()->back() = static_cast<char>(10 + real);
  member.mutable_target()->set_real(real);
  member.clear_backup();
  member.clear_maxcon();
  return member;
}

/// Two virtual servers over the same real servers, and one of IPv6, each of TCP and UDP.
Site everything(forwarding::Metric metric) {
  Site site;
  site.service(1, 80, 8080, {1, 2, 3, 4}).service(1, 443, 8080, {1, 2, 3, 4});
  site.service(1, 53, 5353, {1, 2, 3, 4}).udp().service(3, 80, 8080, {1, 2, 3, 4});
  site.service(2, 80, 8080, {7, 8, 9}).ipv6().service(2, 53, 5353, {7, 8, 9}).udp().ipv6();
  for (auto& service : *site.edit().mutable_service()) {
    const std::uint32_t first = service.member(0).real();
    for (auto& member : *service.mutable_member()) member.set_maxcon(10), member.set_overflow(true);
    service.set_metric(metric);
    service.set_persist_seconds(60);
    service.set_drop_fragments(service.vport() == 443);
    *service.mutable_member(0)->add_backup() = another(service, first + 4);
    auto& fallback = *service.add_fallback();
    fallback.set_group(7);
    *fallback.add_member() = another(service, first + 5);
    fallback.mutable_member(0)->set_maxcon(5);
  }
  return site;
}

std::vector<forwarding::Target> targets_of(const Site& site) {
  std::vector<forwarding::Target> targets;
  for (const auto& service : site.generation().service()) {
    for (const auto& member : service.member()) targets.push_back(member.target());
    targets.push_back(service.member(0).backup(0).target());
    targets.push_back(service.fallback(0).member(0).target());
  }
  return targets;
}

// ---- The traffic

struct Turmoil {
  std::mt19937 random;
  Site site;
  std::vector<forwarding::Target> targets;
  Bench bench;
  std::vector<Connection> open;

  Turmoil(forwarding::Metric metric, unsigned seed)
      : random(seed),
        site(everything(metric)),
        targets(targets_of(site)),
        bench(site, {.sessions = 24, .workers = 2}) {
    for (const auto& target : targets) bench.admit(target, forwarding::OPEN);
  }

  /// What opens a session of any service.
  Packet opening(std::string_view payload = "") {
    const auto& services = site.generation().service();
    const auto& service = services[static_cast<int>(random() % static_cast<unsigned>(services.size()))];
    const Ip vip = Ip::from_wire(service.vip()).value();
    const std::string network = vip.is_v4() ? "10.10.1." : "2001:db8:1::";
    const Packet flow = ip(host(network + std::to_string(10 + random() % 20)), vip);
    const auto port = static_cast<std::uint16_t>(40000 + random() % 100);
    const auto vport = static_cast<std::uint16_t>(service.vport());
    return service.protocol() == kUdp ? flow.udp(port, vport, payload)
                                      : flow.tcp(port, vport, kSyn, payload).seq(1000);
  }
  void begin() {
    Connection made{.client = opening(), .server = {}};
    const auto sent = bench.from_client(made.client);
    const auto out = sent.size() == 1 ? decode(sent[0].bytes) : std::nullopt;
    if (!out || (out->flags & kRst) != 0) return;
    made.server = out->protocol == kUdp ? out->answer() : out->reply(kSyn | kAck);
    open.push_back(made);
  }
  void finish() {
    if (open.empty()) return;
    std::swap(open[random() % open.size()], open.back());
    const Connection session = open.back();
    open.pop_back();
    if (session.client.protocol == kUdp) {
      bench.from_server(session.server);
      bench.from_client(session.client);
      return;
    }
    switch (random() % 4) {
      case 0:
        bench.from_client(session.says(kRst));
        break;
      case 1:
        bench.from_server(session.answers(kFin | kAck));
        bench.from_client(session.says(kFin | kAck).ack(5002));
        bench.from_server(session.answers(kAck).seq(5002).ack(1002));
        break;
      case 2:  // opened, and again in its place
        bench.from_server(session.server.seq(5000).ack(1001));
        bench.from_client(session.says(kAck));
        bench.from_client(session.client.seq(0x90000000));
        bench.from_server(session.server.seq(0xd0000000).ack(0x90000001));
        break;
      default:
        bench.from_client(session.says(kAck, "x"));
    }
  }
  void begin_where_nothing_fits() {
    const auto narrow = [&](std::uint16_t mtu) {
      bench.shared.set_port(kServerPort - 1, mac_of_port(kServerPort), mtu);
    };
    const std::string large(500, 'l');
    Packet packet = opening(large);
    if (!packet.is_ipv6()) packet = packet.fragmented(kDontFragment);
    narrow(300);
    bench.from_client(packet);
    narrow(1500);
  }
  void begin_without_ways() {
    bench.routes({});
    begin();
    bench.routes(Bench::connected());
  }
  void begin_in_pieces() { bench.from_client(opening(std::string(200, 'f')).fragments(96, random())); }

  // ---- What goes on beside

  void admit() {
    constexpr std::array kAll = {forwarding::CLOSED, forwarding::DRAINING, forwarding::OPEN,
                                 forwarding::OPEN};
    bench.admit(targets[random() % targets.size()], kAll[random() % kAll.size()]);
  }
  void wait() {
    bench.wait(random() % 300);
    bench.responds(1 + random() % 4, 1000 * (random() % 9));
    bench.tick();
    bench.sweep();
  }
  void apply() {
    Site changed = site;
    auto& services = *changed.edit().mutable_service();
    auto& service = services[static_cast<int>(random() % static_cast<unsigned>(services.size()))];
    if (random() % 2 == 0) service.mutable_member()->RemoveLast();
    service.set_persist_seconds(random() % 2 == 0 ? 0 : 30);
    for (auto& member : *service.mutable_member()) member.set_maxcon(random() % 12);
    if (random() % 4 == 0) services.DeleteSubrange(static_cast<int>(random() % 6), 1);
    bench.publish(changed);
  }
  void clear() {
    for (auto& worker : bench.workers) {
      std::size_t cursor = 0, cleared = 0;
      while (worker->clear(cursor, 64, {}, cleared)) {
      }
    }
  }
  void step() {
    const unsigned what = random() % 100;
    if (what < 50) return begin();
    if (what < 80) return finish();
    if (what < 86) return admit();
    if (what < 89) return wait();
    if (what < 91) return apply();
    if (what < 93) return begin_without_ways();
    if (what < 95) return begin_where_nothing_fits();
    if (what < 98) return begin_in_pieces();
    if (what == 98) return clear();
  }
  void expect_nothing_counted() {
    bench.wait(100'000);
    bench.sweep();
    bench.wait(100);
    bench.sweep();
    EXPECT_EQ(bench.sessions(), 0u);
    EXPECT_EQ(bench.stats().half_open_sessions(), 0u);
    for (const auto& tally : bench.shared.tallies) EXPECT_EQ(tally.current.load(), 0u);
    for (const auto& current : bench.shared.current) EXPECT_EQ(current.load(), 0u);
    for (const auto& worker : bench.workers) {
      for (std::size_t slot = 0; slot < core::kMaxBindings; ++slot)
        EXPECT_EQ(worker->held(static_cast<core::BindingSlot>(slot)), 0u) << slot;
    }
    for (const auto& entry : bound(bench)) EXPECT_EQ(entry.users(), 0u);
    bench.wait(10'000);
    bench.persistence.expire(bench.now, 100'000);
    EXPECT_EQ(bench.persistence.size(), 0u);
  }
};

class Counts : public ::testing::TestWithParam<forwarding::Metric> {};

TEST_P(Counts, EveryWayOutGivesThemBack) {
  Turmoil turmoil(GetParam(), 17 + static_cast<unsigned>(GetParam()));
  for (int i = 0; i < 12000; ++i) turmoil.step();
  Fates met = turmoil.bench.fates();
  for (const Fate fate : {Fate::to_real, Fate::to_client, Fate::drop_table_full, Fate::drop_no_route,
                          Fate::drop_too_big, Fate::drop_fragment, Fate::drop_no_real, Fate::reset_no_real,
                          Fate::reset_terminated, Fate::drop_no_vport})
    EXPECT_GT(met[fate], 0u) << core::name(fate) << ": what is not met is not tested";
  turmoil.expect_nothing_counted();
}

INSTANTIATE_TEST_SUITE_P(Metrics, Counts,
                         ::testing::Values(forwarding::LEASTCONNS, forwarding::ROUNDROBIN, forwarding::HASH,
                                           forwarding::MINMISSES, forwarding::PHASH, forwarding::RESPONSE,
                                           forwarding::BANDWIDTH, forwarding::SVCLEAST, forwarding::HEALTH),
                         [](const auto& metric) { return forwarding::Metric_Name(metric.param); });

}  // namespace
}  // namespace headgate::testing
