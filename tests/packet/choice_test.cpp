// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
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

TEST(Standby, AGroupThatHadNoLeastNumberForATimeBeginsOpen) {
  Site site = web(3);
  const auto with_least = [&](std::uint32_t least) {
    site.edit().mutable_service(0)->set_min_available(least);
    site.edit().mutable_service(0)->set_max_available(3);
    return site;
  };
  Bench bench(with_least(2));
  bench.admit(1, forwarding::CLOSED);
  bench.admit(2, forwarding::CLOSED);
  bench.publish(with_least(0));
  bench.admit(2, forwarding::OPEN);
  bench.publish(with_least(2));
  bench.fates();
  bench.from_client(ip(kClient, kVip).tcp(40000, 80, kSyn));
  EXPECT_EQ(bench.fates(), (Fates{{Fate::to_real, 1}}));
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

}  // namespace
}  // namespace headgate::testing
