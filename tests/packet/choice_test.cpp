// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/packet/choice_sites.h"

// Limits and backups (reference 3.2, 4.5, 4.6), from the SYN to the last count.
namespace headgate::testing {
namespace {

using core::Fate;

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

TEST(Standby, AClosedGroupTakesNoSessionThatFindsItsPortInUseElsewhere) {
  Site site = web(2);
  site.edit().mutable_service(0)->set_min_available(2);
  auto& fallback = *site.edit().mutable_service(0)->add_fallback();
  fallback.set_group(9);
  *fallback.add_member() = backup_of(site, 3);
  site.service(2, 80, 8080, {3});
  Bench bench(site);
  bench.admit(2, forwarding::CLOSED);
  EXPECT_EQ(server_of(bench, 41000), kServer3);
  EXPECT_EQ(Connection::open(bench, 40000, kClient, "10.10.1.101").server_address(), kServer3);
  bench.fates();
  bench.from_client(ip(kClient, kVip).tcp(40000, 80, kSyn));
  EXPECT_EQ(bench.fates(), (Fates{{Fate::reset_no_real, 1}}));
  EXPECT_EQ(bench.current(1), 0u);
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
