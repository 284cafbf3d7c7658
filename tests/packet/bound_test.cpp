// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/packet/choice_sites.h"

// Client persistence (reference 3.2), over services and workers.
namespace headgate::testing {
namespace {

using ::testing::IsEmpty;

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

TEST(Bound, SoManyBitsOfIpv6MakeOneClient) {
  Site site;
  site.service(1, 80, 8080, {1, 2, 3, 4}).ipv6();
  site.edit().mutable_service(0)->set_persist_seconds(60);
  site.edit().mutable_settings()->set_persist_bits6(120);
  Bench bench(site);
  const auto server = [&](const std::string& client) {
    return Connection::open(bench, 40000, client, "2001:db8:1::64").server_address();
  };
  const std::string first = server("2001:db8:1::1010");
  for (int last = 11; last < 20; ++last) EXPECT_EQ(server("2001:db8:1::10" + std::to_string(last)), first);
  EXPECT_EQ(bound(bench).size(), 1u);
  EXPECT_NE(server("2001:db8:1::1110"), first) << "it differs in a bit that counts";
  EXPECT_EQ(bound(bench).size(), 2u);
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

TEST(Bound, AGroupThatIsClosedTakesNoBoundClientsEither) {
  Site site = shop(2);
  for (auto& service : *site.edit().mutable_service()) {
    service.set_min_available(2);
    *service.add_fallback()->add_member() = backup_of(site, 3);
  }
  Bench bench(site);
  bench.admit(3, forwarding::OPEN);
  ASSERT_EQ(server_of(bench, 40000), kServer1);
  bench.admit(2, forwarding::CLOSED);
  EXPECT_EQ(server_of(bench, 40001), kServer3);
  bench.admit(2, forwarding::OPEN);
  EXPECT_NE(server_of(bench, 40002), kServer3);
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

TEST(Bound, AServiceWithOtherServersTakesNoneOfTheClientsTime) {
  Site site = shop(2, 100);
  site.service(1, 25, 8080, {3});
  auto& mail = *site.edit().mutable_service(2);
  mail.set_persist_seconds(5);
  mail.set_group(2);
  Bench bench(site);
  ASSERT_EQ(server_of(bench, 40000), kServer1);
  bench.from_client(ip(kClient, kVip).tcp(40000, 80, kRst).seq(1001));
  EXPECT_EQ(server_of(bench, 40001, kClient, 25), kServer3);
  bench.wait(50);
  bench.persistence.expire(bench.now, 1000);
  EXPECT_EQ(server_of(bench, 40002), kServer1);
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

}  // namespace
}  // namespace headgate::testing
