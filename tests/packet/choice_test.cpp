// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataplane/core/weights.h"
#include "tests/packet/bench.h"

// Limits, backups and client persistence (reference 3.2, 4.5, 4.6), from the SYN to the last count.
namespace headgate::testing {
namespace {

using core::Fate;
using ::testing::IsEmpty;

/// Edits every member of every service, backups and fallbacks aside.
template <class Edit>
Site with_members(Site site, Edit edit) {
  for (auto& service : *site.edit().mutable_service())
    for (auto& member : *service.mutable_member()) edit(member);
  return site;
}

Site limited(unsigned servers, std::uint32_t maxcon) {
  return with_members(web(servers), [&](auto& member) { member.set_maxcon(maxcon); });
}

/// HTTP and HTTPS at the same VIP over the same servers, which remember their clients for a minute.
Site shop(unsigned servers = 4, std::uint32_t seconds = 60) {
  std::vector<std::uint32_t> reals;
  for (unsigned real = 1; real <= servers; ++real) reals.push_back(real);
  Site site;
  site.service(1, 80, 8080, reals).service(1, 443, 8080, reals);
  for (auto& service : *site.edit().mutable_service()) service.set_persist_seconds(seconds);
  return site;
}

forwarding::Member backup_of(const Site& site, std::uint32_t real) {
  forwarding::Member backup = site.generation().service(0).member(0);
  backup.set_real(real);
  backup.set_rip(Ip(Ipv4{0x0a0a020a + real}).wire());
  backup.mutable_target()->set_real(real);
  backup.clear_backup();
  backup.clear_maxcon();
  return backup;
}

std::string server_of(Bench& bench, std::uint16_t port, std::string_view client = kClient,
                      std::uint16_t vport = 80) {
  return Connection::open(bench, port, client, kVip, vport).server_address();
}

void close(Bench& bench, const Connection& session) {
  bench.from_client(session.says(kRst));
}

std::vector<forwarding::Session> bound(const Bench& bench) {
  std::vector<forwarding::Session> out;
  std::size_t cursor = 0;
  while (bench.persistence.dump(cursor, 1, bench.now,
                                [&](const auto& view) { out.push_back(bench.director.describe(view)); })) {
  }
  return out;
}

// ---- maxcon

TEST(Limit, MaxconHoldsExactlyAcrossWorkersAndTheRestIsRefused) {
  Bench bench(limited(2, 10), {.workers = 4});
  for (std::uint16_t port = 40000; port < 40100; ++port)
    bench.from_client(ip(kClient, kVip).tcp(port, 80, kSyn));
  EXPECT_EQ(bench.current(1), 10u);
  EXPECT_EQ(bench.current(2), 10u);
  EXPECT_EQ(bench.fates(), (Fates{{Fate::to_real, 20}, {Fate::reset_no_real, 80}}));
  EXPECT_EQ(bench.stats().no_available_real(), 80u);
}

TEST(Limit, ASessionThatEndsMakesRoomForExactlyOne) {
  Bench bench(limited(1, 3), {.workers = 2});
  std::vector<Connection> open;
  for (std::uint16_t port = 40000; port < 40003; ++port) open.push_back(Connection::open(bench, port));
  bench.fates();
  bench.from_client(ip(kClient, kVip).tcp(40010, 80, kSyn));
  close(bench, open[1]);
  Connection::open(bench, 40011);
  bench.from_client(ip(kClient, kVip).tcp(40012, 80, kSyn));
  EXPECT_EQ(bench.fates()[Fate::reset_no_real], 2u);
  EXPECT_EQ(bench.current(1), 3u);
}

TEST(Limit, AnEditTakesEffectAtOnceAndKillsNobody) {
  Bench bench(limited(1, 4));
  std::vector<Connection> open;
  for (std::uint16_t port = 40000; port < 40004; ++port) open.push_back(Connection::open(bench, port));
  bench.publish(limited(1, 2));
  for (const auto& session : open) EXPECT_EQ(bench.from_client(session.says(kAck, "x")).size(), 1u);
  for (std::size_t i = 0; i < 2; ++i) close(bench, open[i]);
  bench.fates();
  bench.from_client(ip(kClient, kVip).tcp(41000, 80, kSyn));
  EXPECT_EQ(bench.fates(), (Fates{{Fate::reset_no_real, 1}})) << "two are open, as the edit allows";
  bench.publish(limited(1, 0));
  for (std::uint16_t port = 42000; port < 42020; ++port) Connection::open(bench, port);
  EXPECT_EQ(bench.current(1), 22u);
  EXPECT_EQ(bench.worker().terminated(), 0u);
}

TEST(Limit, OverflowGoesToTheBackupAndIsCountedWhenItBegins) {
  Site site = limited(1, 2);
  auto& member = *site.edit().mutable_service(0)->mutable_member(0);
  *member.add_backup() = backup_of(site, 3);
  member.set_overflow(true);
  Bench bench(site);
  bench.admit(3, forwarding::OPEN);
  std::map<std::string, int> servers;
  for (std::uint16_t port = 40000; port < 40010; ++port) ++servers[server_of(bench, port)];
  EXPECT_EQ(servers, (std::map<std::string, int>{{std::string(kServer1), 2}, {std::string(kServer3), 8}}));
  EXPECT_EQ(bench.stats().overflow_activations(), 1u);
  EXPECT_EQ(bench.stats().backup_activations(), 0u);
}

// ---- Backups

TEST(Standby, AFailedServersBackupStepsInAndBackAtOnce) {
  Site site = web(1);
  *site.edit().mutable_service(0)->mutable_member(0)->add_backup() = backup_of(site, 3);
  Bench bench(site);
  bench.admit(3, forwarding::OPEN);
  EXPECT_EQ(server_of(bench, 40000), kServer1);
  bench.admit(1, forwarding::DRAINING);  // failed, with grace
  const auto old = Connection::open(bench, 40001);
  EXPECT_EQ(old.server_address(), kServer3);
  bench.admit(1, forwarding::OPEN);
  for (std::uint16_t port = 41000; port < 41010; ++port) EXPECT_EQ(server_of(bench, port), kServer1);
  EXPECT_EQ(bench.from_client(old.says(kAck, "x")).size(), 1u) << "what it has finishes there";
  EXPECT_EQ(bench.stats().backup_activations(), 1u);
}

TEST(Standby, TheGroupsBackupStepsInWhenAllAreDown) {
  Site site = web(2);
  auto& fallback = *site.edit().mutable_service(0)->add_fallback();
  fallback.set_group(9);
  *fallback.add_member() = backup_of(site, 3);
  Bench bench(site);
  bench.admit(3, forwarding::OPEN);
  bench.admit(1, forwarding::CLOSED);
  EXPECT_EQ(server_of(bench, 40000), kServer2);
  bench.admit(2, forwarding::CLOSED);
  EXPECT_EQ(server_of(bench, 40001), kServer3);
  EXPECT_EQ(bench.stats().backup_activations(), 1u);
  bench.admit(1, forwarding::OPEN);
  for (std::uint16_t port = 41000; port < 41010; ++port) EXPECT_EQ(server_of(bench, port), kServer1);
  const forwarding::Stats stats = bench.stats();
  const auto& rows = stats.group();
  const auto backup =
      std::find_if(rows.begin(), rows.end(), [](const auto& row) { return row.group() == 9; });
  ASSERT_NE(backup, rows.end());
  EXPECT_EQ(backup->counts().total(), 1u) << "its sessions count for its own group";
}

// A group as backup: server 1 is down, 2 and 3 stand in for it.
Site with_two_stand_ins(Site site) {
  for (auto& service : *site.edit().mutable_service()) {
    for (const std::uint32_t real : {2u, 3u})
      *service.mutable_member(0)->add_backup() = backup_of(site, real);
  }
  return site;
}

TEST(Standby, AFullStandInThatIsAMemberItselfLeavesItToTheOtherOne) {
  Site site = web(2);
  auto& service = *site.edit().mutable_service(0);
  service.mutable_member(0)->set_maxcon(1);
  *service.mutable_member(1)->add_backup() = backup_of(site, 1);
  *service.mutable_member(1)->add_backup() = backup_of(site, 3);
  Bench bench(site);
  bench.admit(3, forwarding::OPEN);
  bench.admit(2, forwarding::CLOSED);
  for (std::uint16_t port = 40000; port < 40005; ++port)
    bench.from_client(ip(kClient, kVip).tcp(port, 80, kSyn));
  EXPECT_EQ(bench.fates(), (Fates{{Fate::to_real, 5}}));
  EXPECT_EQ(bench.current(1), 1u);
  EXPECT_EQ(bench.current(3), 4u);
}

TEST(Standby, WhereAStandInHasTheClientsPortAlreadyTheOtherOneTakesTheSession) {
  Site site = with_two_stand_ins(web(1));
  site.service(2, 80, 8080, {2});
  Bench bench(site);
  bench.admit(2, forwarding::OPEN);
  bench.admit(3, forwarding::OPEN);
  bench.admit(1, forwarding::CLOSED);
  // A session each at the two; whoever of them is less loaded now, the port is free at the other one only.
  EXPECT_EQ(Connection::open(bench, 40000, kClient, "10.10.1.101").server_address(), kServer2);
  EXPECT_EQ(server_of(bench, 41000), kServer3);
  EXPECT_EQ(server_of(bench, 41001), kServer2) << "with as many sessions, the first one";
  EXPECT_EQ(server_of(bench, 41002), kServer3);
  EXPECT_EQ(server_of(bench, 40000), kServer3) << "2 is the first one again";
}

TEST(Standby, BehindAFullGroupTheNextOnesServersAreAllAskedForAFreePort) {
  Site site = limited(1, 1);
  auto& fallback = *site.edit().mutable_service(0)->add_fallback();
  fallback.set_group(9);
  for (const std::uint32_t real : {2u, 3u}) *fallback.add_member() = backup_of(site, real);
  site.service(2, 80, 8080, {2}).service(3, 80, 8080, {3});
  Bench bench(site);
  EXPECT_EQ(server_of(bench, 41000), kServer1);
  EXPECT_EQ(Connection::open(bench, 40000, kClient, "10.10.1.101").server_address(), kServer2);
  EXPECT_EQ(Connection::open(bench, 40001, kClient, "10.10.1.102").server_address(), kServer3);
  EXPECT_EQ(server_of(bench, 40000), kServer3);
  EXPECT_EQ(server_of(bench, 40001), kServer2);
}

TEST(Standby, AMemberThatRestsInItsGroupKeepsItsSessionsAndOtherServices) {
  Site site;
  site.service(1, 80, 8080, {1, 2}).service(2, 80, 8080, {1});
  Bench bench(site);
  const auto old = Connection::open(bench, 40000);
  ASSERT_EQ(old.server_address(), kServer1);
  site.edit().mutable_service(0)->mutable_member(0)->set_resting(true);
  bench.publish(site);
  for (std::uint16_t port = 41000; port < 41010; ++port) EXPECT_EQ(server_of(bench, port), kServer2);
  EXPECT_EQ(bench.from_client(old.says(kAck, "x")).size(), 1u);
  EXPECT_EQ(Connection::open(bench, 42000, kClient, "10.10.1.101").server_address(), kServer1);
}

TEST(Standby, AGroupWithTooFewServersClosesUntilEnoughAreBack) {
  Site site = web(3);
  site.edit().mutable_service(0)->set_min_available(2);
  site.edit().mutable_service(0)->set_max_available(3);
  Bench bench(site);
  const auto refused = [&](std::uint16_t port) {
    bench.fates();
    bench.from_client(ip(kClient, kVip).tcp(port, 80, kSyn));
    return bench.fates().contains(Fate::reset_no_real);
  };
  bench.admit(1, forwarding::CLOSED);
  EXPECT_FALSE(refused(40000));
  bench.admit(2, forwarding::CLOSED);
  EXPECT_TRUE(refused(40001));
  bench.admit(2, forwarding::OPEN);
  EXPECT_TRUE(refused(40002)) << "two are not the three that open it again";
  bench.admit(1, forwarding::OPEN);
  EXPECT_FALSE(refused(40003));
  bench.admit(1, forwarding::CLOSED);
  EXPECT_FALSE(refused(40004));
}

// ---- Persistence

TEST(Bound, AClientKeepsItsServerOverServicesAndWorkers) {
  Bench bench(shop(), {.workers = 4});
  const std::string server = server_of(bench, 40000);
  for (std::uint16_t port = 41000; port < 41020; ++port) {
    EXPECT_EQ(server_of(bench, port, kClient, 80), server);
    EXPECT_EQ(server_of(bench, port + 1000, kClient, 443), server);
  }
  std::map<std::string, int> others;
  for (int host = 20; host < 60; ++host) ++others[server_of(bench, 40000, "10.10.1." + std::to_string(host))];
  EXPECT_EQ(others.size(), 4u) << "other clients have others";
  const auto entries = bound(bench);
  ASSERT_EQ(entries.size(), 41u);
  for (const auto& entry : entries) {
    EXPECT_TRUE(entry.persistent());
    EXPECT_EQ(entry.virt(), 1u);
    EXPECT_TRUE(entry.users() == 41 || entry.users() == 1);
  }
}

TEST(Bound, ItsTimeBeginsAfterTheLastSession) {
  Bench bench(with_members(shop(), [](auto& member) { member.set_idle_seconds(1000); }));
  const auto first = Connection::open(bench, 40000);
  const auto second = Connection::open(bench, 40001, kClient, kVip, 443);
  bench.wait(100);
  close(bench, first);
  bench.wait(100);
  bench.persistence.expire(bench.now, 1000);
  EXPECT_EQ(bound(bench).size(), 1u) << "the second session holds it";
  close(bench, second);
  bench.wait(50);
  bench.persistence.expire(bench.now, 1000);
  ASSERT_EQ(bound(bench).size(), 1u);
  EXPECT_EQ(bound(bench)[0].left_seconds(), 10u);
  EXPECT_EQ(server_of(bench, 40002), first.server_address());
  bench.from_client(ip(kClient, kVip).tcp(40002, 80, kRst).seq(1001));
  bench.wait(61);
  bench.persistence.expire(bench.now, 1000);
  EXPECT_THAT(bound(bench), IsEmpty());
}

TEST(Bound, AFailedServerLosesItsClientsForGood) {
  for (const auto admission : {forwarding::CLOSED, forwarding::DRAINING}) {
    Bench bench(shop(2));
    ASSERT_EQ(server_of(bench, 40000), kServer1);
    bench.admit(1, admission);
    EXPECT_EQ(server_of(bench, 40001), kServer2);
    bench.admit(1, forwarding::OPEN);
    for (std::uint16_t port = 41000; port < 41010; ++port) EXPECT_EQ(server_of(bench, port), kServer2);
  }
}

TEST(Bound, ADrainThatAdmitsBoundClientsAdmitsNobodyElse) {
  Bench bench(shop(2));
  ASSERT_EQ(server_of(bench, 40000), kServer1);
  bench.admit_bound(1);
  for (std::uint16_t port = 41000; port < 41010; ++port) {
    EXPECT_EQ(server_of(bench, port), kServer1);
    EXPECT_EQ(server_of(bench, port, "10.10.1.77"), kServer2);
  }
  bench.admit(1, forwarding::DRAINING);
  EXPECT_EQ(server_of(bench, 42000), kServer2) << "an ordinary drain wins over persistence";
}

TEST(Bound, AtItsLimitASessionGoesElsewhereAndTheClientStaysBound) {
  Site site = with_members(shop(2), [](auto& member) { member.set_maxcon(member.real() == 1 ? 1 : 0); });
  Bench bench(site);
  const auto only = Connection::open(bench, 40000);
  ASSERT_EQ(only.server_address(), kServer1);
  EXPECT_EQ(server_of(bench, 40001), kServer2);
  close(bench, only);
  EXPECT_EQ(server_of(bench, 40002), kServer1);
}

TEST(Bound, SoManyBitsMakeOneClient) {
  Site site = shop(4);
  site.edit().mutable_settings()->set_persist_bits4(24);
  Bench bench(site);
  const std::string server = server_of(bench, 40000, "10.10.1.10");
  for (int host = 20; host < 40; ++host)
    EXPECT_EQ(server_of(bench, 40000, "10.10.1." + std::to_string(host)), server);
  EXPECT_EQ(bound(bench).size(), 1u);
}

TEST(Bound, AStandInHasItsClientsOnlyAsLongAsItStandsIn) {
  Site site = shop(1);
  for (auto& service : *site.edit().mutable_service())
    *service.mutable_member(0)->add_backup() = backup_of(site, 3);
  Bench bench(site);
  bench.admit(3, forwarding::OPEN);
  bench.admit(1, forwarding::CLOSED);
  EXPECT_EQ(server_of(bench, 40000), kServer3);
  EXPECT_EQ(server_of(bench, 40001), kServer3);
  bench.admit(1, forwarding::OPEN);
  EXPECT_EQ(server_of(bench, 40002), kServer1);
  EXPECT_EQ(server_of(bench, 40003), kServer1);
}

TEST(Bound, AClientOfOneOfSeveralStandInsStaysWithIt) {
  Bench bench(with_two_stand_ins(shop(1)));
  bench.admit(2, forwarding::OPEN);
  bench.admit(3, forwarding::OPEN);
  bench.admit(1, forwarding::CLOSED);
  const std::string server = server_of(bench, 40000);
  for (std::uint16_t port = 40001; port < 40010; ++port) EXPECT_EQ(server_of(bench, port), server);
}

TEST(Bound, ServicesWithOtherServersRememberTheirOwn) {
  Site site = shop(2);
  site.service(1, 25, 8080, {3}).service(1, 26, 8080, {3});
  for (auto& service : *site.edit().mutable_service()) {
    service.set_persist_seconds(60);
    if (service.vport() < 30) service.set_group(2);
  }
  Bench bench(site);
  const std::string web_server = server_of(bench, 40000);
  EXPECT_EQ(server_of(bench, 40001, kClient, 25), kServer3);
  EXPECT_EQ(server_of(bench, 40002, kClient, 26), kServer3);
  EXPECT_EQ(server_of(bench, 40003, kClient, 443), web_server);
  EXPECT_EQ(bound(bench).size(), 2u);
}

TEST(Bound, FiltersMeanClientsServersAndVirtsButNoPorts) {
  Bench bench(shop(2));
  server_of(bench, 40000, "10.10.1.10");
  server_of(bench, 40000, "10.10.1.11");
  const auto matching = [&](auto set) {
    forwarding::SessionFilter filter;
    set(filter);
    const core::BoundFilter means = bench.director.bound_filter(filter);
    int count = 0;
    std::size_t cursor = 0;
    while (bench.persistence.dump(cursor, 100, bench.now,
                                  [&](const auto& view) { count += means(view) ? 1 : 0; })) {
    }
    return count;
  };
  EXPECT_EQ(matching([](auto&) {}), 2);
  EXPECT_EQ(matching([](auto& filter) { filter.set_real(1); }), 1);
  EXPECT_EQ(matching([](auto& filter) { filter.set_virt(1); }), 2);
  EXPECT_EQ(matching([](auto& filter) { filter.set_virt(2); }), 0);
  EXPECT_EQ(matching([](auto& filter) { filter.set_vport(80); }), 0);
  EXPECT_EQ(matching([](auto& filter) { filter.set_port(1); }), 0);
}

// ---- Weights

std::map<std::string, int> spread(Bench& bench, int sessions, std::uint16_t vport = 80) {
  static std::uint16_t port = 10000;
  std::map<std::string, int> servers;
  for (int i = 0; i < sessions; ++i) {
    port = port == 60000 ? 10000 : port + 1;
    const auto session = Connection::open(bench, port, kClient, kVip, vport);
    ++servers[session.server_address()];
    close(bench, session);
  }
  return servers;
}

Site two_metrics(forwarding::Metric metric) {
  Site site;
  site.service(1, 80, 8080, {1, 2}, metric).service(1, 81, 8080, {1, 2}, forwarding::ROUNDROBIN);
  site.edit().mutable_settings()->set_metric_seconds(10);
  return site;
}

TEST(Weight, ShorterResponsesHaveMoreSessionsInProportion) {
  Bench bench(two_metrics(forwarding::RESPONSE), {.sessions = 16384});
  bench.responds(1, 1000);
  bench.responds(2, 3000);
  bench.tick();
  EXPECT_EQ(spread(bench, 400),
            (std::map<std::string, int>{{std::string(kServer1), 300}, {std::string(kServer2), 100}}));
  EXPECT_EQ(spread(bench, 100, 81)[std::string(kServer1)], 50) << "other metrics' services feel nothing";
  bench.responds(1, 9000);
  bench.wait(9);
  bench.tick();
  EXPECT_EQ(spread(bench, 400)[std::string(kServer1)], 300) << "until the interval is over";
  bench.wait(1);
  bench.tick();
  EXPECT_EQ(spread(bench, 400)[std::string(kServer1)], 100);
}

TEST(Weight, FewerOctetsInTheLastIntervalMeanMoreSessionsInProportion) {
  Bench bench(two_metrics(forwarding::BANDWIDTH), {.sessions = 16384});
  bench.tick();
  std::vector<Connection> open = {Connection::open(bench, 5000), Connection::open(bench, 5001)};
  ASSERT_NE(open[0].server_address(), open[1].server_address());
  for (int i = 0; i < 400; ++i) {
    bench.from_client(open[0].says(kAck, std::string(1000, 'x')));
    if (i % 4 == 0) bench.from_client(open[1].says(kAck, std::string(1000, 'x')));
  }
  bench.wait(10);
  bench.tick();
  EXPECT_NEAR(spread(bench, 500)[open[1].server_address()], 400, 5);
  EXPECT_EQ(spread(bench, 100, 81)[std::string(kServer1)], 50);
}

TEST(SlowStart, AMembersShareGrowsToItsWeightInItsTime) {
  Site site = web(2);
  site.edit().mutable_service(0)->set_slow_start_seconds(20);
  Bench bench(site, {.sessions = 16384});
  bench.tick();
  EXPECT_EQ(spread(bench, 100)[std::string(kServer2)], 50) << "what was open at the start is not new";
  bench.admit(2, forwarding::CLOSED);
  bench.admit(2, forwarding::OPEN);
  int before = spread(bench, 100)[std::string(kServer2)];
  EXPECT_LE(before, 1);
  for (int second = 1; second <= 20; ++second) {
    bench.wait(1);
    bench.tick();
    const int now = spread(bench, 200)[std::string(kServer2)];
    EXPECT_GE(now + 2, before) << second;
    before = now;
    if (second != 10) continue;
    EXPECT_NEAR(now, 200 / 3, 3) << "half the weight of the other";
  }
  EXPECT_EQ(spread(bench, 100)[std::string(kServer2)], 50);
}

TEST(SlowStart, LeastconnsDoesNotFloodAServerThatReturns) {
  Bench bench(web(2, forwarding::LEASTCONNS));
  bench.tick();
  std::uint16_t port = 20000;
  const auto open = [&](int sessions) {
    for (int i = 0; i < sessions; ++i) Connection::begin(bench, port++);
  };
  open(400);
  EXPECT_EQ(bench.current(2), 200u);
  bench.admit(2, forwarding::CLOSED);
  bench.sweep();
  bench.admit(2, forwarding::OPEN);
  open(100);
  EXPECT_LE(bench.current(2), 3u) << "it has just returned";
  bench.wait(core::kRecoverySeconds / 2);
  bench.tick();
  open(300);
  EXPECT_NEAR(bench.current(2), bench.current(1) / 2.0, 20);
  bench.wait(core::kRecoverySeconds / 2);
  bench.tick();
  open(400);
  EXPECT_NEAR(bench.current(2), bench.current(1), 2);
}

TEST(Weight, EditedWhileTheServerIsDownHoldsWhenItIsBack) {
  Bench bench(web(2));
  bench.admit(1, forwarding::CLOSED);
  bench.publish(web(2).weight(1, 5));
  bench.admit(1, forwarding::OPEN);
  EXPECT_EQ(spread(bench, 60),
            (std::map<std::string, int>{{std::string(kServer1), 50}, {std::string(kServer2), 10}}));
}

// ---- Counts

/// Random traffic over limits, backups, fallbacks, persistence, failures and applies; whatever became of the
/// sessions, nothing is counted any more when the tables are empty.
struct Turmoil {
  std::mt19937 random;
  Site site;
  Bench bench;
  std::vector<Connection> open;

  static Site make(forwarding::Metric metric) {
    Site site = with_members(shop(4), [](auto& member) { member.set_maxcon(10), member.set_overflow(true); });
    for (auto& service : *site.edit().mutable_service()) {
      service.set_metric(metric);
      *service.mutable_member(0)->add_backup() = backup_of(site, 5);
      auto& fallback = *service.add_fallback();
      fallback.set_group(7);
      *fallback.add_member() = backup_of(site, 6);
      fallback.mutable_member(0)->set_maxcon(5);
    }
    return site;
  }
  Turmoil(forwarding::Metric metric, unsigned seed)
      : random(seed), site(make(metric)), bench(site, {.sessions = 48, .workers = 2}) {
    bench.admit(5, forwarding::OPEN);
    bench.admit(6, forwarding::OPEN);
  }

  void begin() {
    Connection made;
    made.client =
        ip("10.10.1." + std::to_string(10 + random() % 20), kVip)
            .tcp(static_cast<std::uint16_t>(40000 + random() % 300), random() % 2 == 0 ? 80 : 443, kSyn)
            .seq(1000);
    const auto sent = bench.from_client(made.client);
    const auto out = sent.size() == 1 ? decode(sent[0].bytes) : std::nullopt;
    if (!out || (out->flags & kRst) != 0) return;
    made.server = out->reply(kSyn | kAck);
    open.push_back(made);
  }
  void finish() {
    if (open.empty()) return;
    std::swap(open[random() % open.size()], open.back());
    const Connection session = open.back();
    open.pop_back();
    switch (random() % 3) {
      case 0:
        bench.from_client(session.says(kRst));
        break;
      case 1:
        bench.from_server(session.answers(kFin | kAck));
        bench.from_client(session.says(kFin | kAck).ack(5002));
        bench.from_server(session.answers(kAck).seq(5002).ack(1002));
        break;
      default:
        bench.from_client(session.says(kAck, "x"));
    }
  }
  void admit() {
    constexpr std::array kAll = {forwarding::CLOSED, forwarding::DRAINING, forwarding::OPEN,
                                 forwarding::OPEN};
    bench.admit(1 + random() % 6, kAll[random() % kAll.size()]);
  }
  void apply() {
    Site changed = site;
    auto& service = *changed.edit().mutable_service(static_cast<int>(random() % 2));
    if (random() % 2 == 0) service.mutable_member()->RemoveLast();
    service.set_persist_seconds(random() % 2 == 0 ? 0 : 30);
    for (auto& member : *service.mutable_member()) member.set_maxcon(random() % 12);
    bench.publish(changed);
  }
  void clear() {
    core::SessionFilter all;
    for (auto& worker : bench.workers) {
      std::size_t cursor = 0, cleared = 0;
      while (worker->clear(cursor, 64, all, cleared)) {
      }
    }
  }
  void step() {
    const unsigned what = random() % 100;
    if (what < 55) {
      begin();
    } else if (what < 85) {
      finish();
    } else if (what < 90) {
      admit();
    } else if (what < 93) {
      bench.wait(random() % 300);
      bench.sweep();
    } else if (what < 95) {
      apply();
    } else if (what < 97) {
      bench.routes({});  // no way out
      begin();
      bench.routes(Bench::connected());
    } else if (what == 97) {
      clear();
    }
  }
  void expect_nothing_counted() {
    bench.wait(100'000);
    bench.sweep();
    bench.wait(100);
    bench.sweep();
    EXPECT_EQ(bench.sessions(), 0u);
    for (const auto& tally : bench.shared.tallies) EXPECT_EQ(tally.current.load(), 0u);
    for (const auto& current : bench.shared.current) EXPECT_EQ(current.load(), 0u);
    for (const auto& entry : bound(bench)) EXPECT_EQ(entry.users(), 0u);
    bench.wait(10'000);
    bench.persistence.expire(bench.now, 100'000);
    EXPECT_EQ(bench.persistence.size(), 0u);
  }
};

class Counts : public ::testing::TestWithParam<forwarding::Metric> {};

TEST_P(Counts, EveryWayOutGivesThemBack) {
  Turmoil turmoil(GetParam(), 17 + static_cast<unsigned>(GetParam()));
  for (int i = 0; i < 3000; ++i) turmoil.step();
  turmoil.expect_nothing_counted();
}

INSTANTIATE_TEST_SUITE_P(Metrics, Counts,
                         ::testing::Values(forwarding::LEASTCONNS, forwarding::ROUNDROBIN,
                                           forwarding::MINMISSES, forwarding::PHASH, forwarding::SVCLEAST));

}  // namespace
}  // namespace headgate::testing
