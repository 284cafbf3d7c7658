// SPDX-License-Identifier: Apache-2.0
#include "controlplane/config/roles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controlplane/config/compile.h"
#include "controlplane/config/sample.h"
#include "model/members.h"

namespace headgate::config {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// ---- Roles: reference 3.2

constexpr std::string_view kSpares =
    "/c/slb/real 3/ena/rip 10.10.2.13\n/c/slb/real 4/ena/rip 10.10.2.14\n/c/slb/group 3/add 3/add 4\n";

Compiled with_spares(std::string lines) {
  return compile(with(lab(), std::string(kSpares) + lines));
}

const forwarding::Service& http_of(const Compiled& compiled) {
  for (const forwarding::Service& service : compiled.generation.service())
    if (service.vport() == 80) return service;
  throw std::out_of_range("http");
}

std::vector<std::uint32_t> reals(const google::protobuf::RepeatedPtrField<forwarding::Member>& members) {
  std::vector<std::uint32_t> numbers;
  for (const forwarding::Member& member : members) numbers.push_back(member.real());
  return numbers;
}

TEST(Roles, ABackupServerIsProbedUnderTheCheckOfTheGroup) {
  const Compiled compiled = with_spares("/c/slb/group 1/health icmp\n/c/slb/real 1/backup 3");
  const forwarding::Member& member = http_of(compiled).member(0);
  EXPECT_THAT(reals(member.backup()), ElementsAre(3u));
  EXPECT_TRUE(member.overflow());
  EXPECT_EQ(member.backup(0).target().check(), "icmp");
  EXPECT_TRUE(compiled.targets.contains({3, 8080, Protocol::tcp, "icmp"}));
  EXPECT_TRUE(compiled.kernel.guard.services.contains({Ip(Ipv4{0x0a0a020d}), 8080}));
}

TEST(Roles, OverflowNeedsABackupAndMayBeRefused) {
  EXPECT_FALSE(http_of(with_spares("")).member(0).overflow());
  EXPECT_FALSE(http_of(with_spares("/c/slb/real 1/backup 3/overflow dis")).member(0).overflow());
}

TEST(Roles, ABackupMayBeAGroup) {
  const Compiled compiled = with_spares("/c/slb/real 1/backup g3\n/c/slb/group 3/dis 4");
  EXPECT_THAT(reals(http_of(compiled).member(0).backup()), ElementsAre(3u, 4u));
  EXPECT_TRUE(http_of(compiled).member(0).backup(1).resting());
}

TEST(Roles, BackupsAreNeverNested) {
  const Compiled compiled = with_spares(
      "/c/slb/real 1/backup 2\n/c/slb/real 2/backup 1\n/c/slb/group 1/backup g3\n"
      "/c/slb/real 3/backup 4\n/c/slb/group 3/backup g1");
  EXPECT_EQ(http_of(compiled).member(0).backup(0).backup_size(), 0);
  ASSERT_EQ(http_of(compiled).fallback_size(), 1);
  EXPECT_THAT(reals(http_of(compiled).fallback(0).member(0).backup()), ElementsAre(4u));
}

TEST(Roles, GroupsStepInInTheirOrderUnderTheirOwnCheck) {
  const Compiled compiled =
      with_spares("/c/slb/group 1/backup 4/secbkp g3\n/c/slb/group 3/health icmp/rem 4");
  const forwarding::Service& http = http_of(compiled);
  ASSERT_EQ(http.fallback_size(), 2);
  EXPECT_EQ(http.fallback(0).group(), 0u);
  EXPECT_EQ(http.fallback(0).member(0).target().check(), "tcp");
  EXPECT_EQ(http.fallback(1).group(), 3u);
  EXPECT_EQ(http.fallback(1).member(0).target().check(), "icmp");
}

// Else one server would have two states and two sets of sessions for one service.
TEST(Roles, AServerWithTwoRolesHasOneTarget) {
  const Compiled compiled =
      with_spares("/c/slb/real 1/backup 3\n/c/slb/group 1/backup g3\n/c/slb/group 3/health icmp");
  std::set<std::string> checks;
  for_each_member(http_of(compiled), [&](const forwarding::Member& member) {
    if (member.real() == 3) checks.insert(member.target().check());
  });
  EXPECT_THAT(checks, ElementsAre("tcp"));
  EXPECT_FALSE(compiled.targets.contains({3, 8080, Protocol::tcp, "icmp"}));
}

TEST(Roles, WithoutPreemptionATargetYieldsToThoseOfItsBackup) {
  const TargetKey primary{1, 8080, Protocol::tcp, "tcp"};
  EXPECT_THAT(with_spares("/c/slb/real 1/backup 3").targets.at(primary).yields_to, IsEmpty());
  EXPECT_THAT(with_spares("/c/slb/real 1/backup 3/preempt dis").targets.at(primary).yields_to,
              ElementsAre(TargetKey{3, 8080, Protocol::tcp, "tcp"}));
}

// ---- What the fast path is told

TEST(Compile, ThirtyTwoBitsOfAMaskAreAllOfAnAddress) {
  EXPECT_EQ(http_of(with_spares("/c/slb/group 1/metric phash")).hash_bits(), 0u);
  EXPECT_EQ(http_of(with_spares("/c/slb/group 1/metric phash 255.255.240.0")).hash_bits(), 20u);
  EXPECT_EQ(http_of(with_spares("/c/slb/group 1/metric minmisses")).hash_bits(), 24u);
  EXPECT_EQ(http_of(with_spares("/c/slb/group 1/metric minmisses/mhash 32")).hash_bits(), 0u);
  EXPECT_EQ(http_of(with_spares("/c/slb/group 1/metric hash")).hash_bits(), 0u);
  const std::string ipv6 = "/c/slb/virt 1/vip 2001:db8:1::64\n/c/slb/group 1/metric ";
  EXPECT_EQ(http_of(with_spares(ipv6 + "minmisses")).hash_bits(), 48u) << "twice as many";
  EXPECT_EQ(http_of(with_spares(ipv6 + "phash 255.255.240.0")).hash_bits(), 40u);
  EXPECT_EQ(http_of(with_spares(ipv6 + "minmisses/mhash 32")).hash_bits(), 0u);
}

TEST(Compile, AllMetricsHaveTheirCounterparts) {
  for (int i = 0; i < Metric_descriptor()->value_count(); ++i)
    EXPECT_EQ(Metric_descriptor()->value(i)->name(), forwarding::Metric_descriptor()->value(i)->name());
  EXPECT_EQ(Metric_descriptor()->value_count(), forwarding::Metric_descriptor()->value_count());
  EXPECT_EQ(http_of(with_spares("/c/slb/group 1/metric svcleast")).metric(), forwarding::SVCLEAST);
}

TEST(Compile, PersistenceLastsItsOwnTimeElseThatOfTheLongestServer) {
  EXPECT_EQ(http_of(with_spares("")).persist_seconds(), 0u);
  EXPECT_EQ(http_of(with_spares("/c/slb/virt 1/service http/pbind clientip")).persist_seconds(), 600u);
  EXPECT_EQ(http_of(with_spares("/c/slb/virt 1/service http/pbind clientip\n/c/slb/real 2/tmout 20"))
                .persist_seconds(),
            1200u);
  EXPECT_EQ(http_of(with_spares("/c/slb/virt 1/service http/pbind clientip/ptmout 4\n/c/slb/adv/slowage 1"))
                .persist_seconds(),
            480u);
}

TEST(Compile, SettingsOfServicesAndGroupsReachTheDataplane) {
  const Compiled compiled = with_spares(
      "/c/slb/virt 1/service http/clsrst ena/udpage ena/thash sip+sport/frag dis\n"
      "/c/slb/group 1/slowstr 60/minthrsh 1/dis 2\n/c/slb/real 1/maxcon 0");
  const forwarding::Service& http = http_of(compiled);
  EXPECT_TRUE(http.reset_on_expiry() && http.fast_udp() && http.hash_port() && http.drop_fragments());
  EXPECT_EQ(http.slow_start_seconds(), 60u);
  EXPECT_EQ(http.min_available(), 1u);
  EXPECT_EQ(http.max_available(), 1u);
  EXPECT_EQ(http.member(0).maxcon(), 0u) << "any number";
  EXPECT_EQ(http.member(1).maxcon(), 200000u);
  EXPECT_FALSE(http.member(0).resting());
  EXPECT_TRUE(http.member(1).resting());
}

TEST(Compile, AdvancedSettingsReachTheDataplane) {
  const forwarding::Settings preset = compile(lab()).generation.settings();
  EXPECT_TRUE(preset.check_resets());
  EXPECT_EQ(preset.persist_bits4(), 32u);
  EXPECT_EQ(preset.persist_bits6(), 128u);
  EXPECT_EQ(preset.metric_seconds(), 100u);
  const forwarding::Settings set =
      with_spares(
          "/c/slb/adv/rstchk dis/pmask 255.255.255.0/pmask6 64/metrci 3/intrval 5/allowlim 1000\n"
          "/c/slb/adv/synatk/inter 10/thrsh 500")
          .generation.settings();
  EXPECT_FALSE(set.check_resets());
  EXPECT_EQ(set.persist_bits4(), 24u);
  EXPECT_EQ(set.persist_bits6(), 64u);
  EXPECT_EQ(set.metric_seconds(), 30u);
}

}  // namespace
}  // namespace headgate::config
