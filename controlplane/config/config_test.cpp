// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controlplane/config/candidate.h"
#include "controlplane/config/compile.h"
#include "controlplane/config/plan.h"
#include "controlplane/config/sample.h"
#include "controlplane/config/topology.h"
#include "controlplane/config/validate.h"

namespace headgate::config {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

/// The problems that lines add to the lab, as lines.
std::vector<std::string> problems_with(std::string_view lines) {
  std::vector<std::string> result;
  for (const Problem& problem : validate(with(lab(), lines))) result.push_back(problem.line());
  return result;
}

TEST(Validate, TheLabIsGood) {
  EXPECT_THAT(problems_with(""), IsEmpty());
}

struct Rule {
  std::string_view lines;
  std::string_view problem;
};

class Rules : public testing::TestWithParam<Rule> {};

TEST_P(Rules, AreToldInOneLine) {
  EXPECT_THAT(problems_with(GetParam().lines), ElementsAre(std::string(GetParam().problem)));
}

INSTANTIATE_TEST_SUITE_P(
    Validate, Rules,
    testing::Values(
        Rule{"/c/slb/virt 1/service 443/group 9", "/cfg/slb/virt 1/service https: group 9 does not exist"},
        Rule{"/c/slb/group 1/add 7", "/cfg/slb/group 1: real server 7 does not exist"},
        Rule{"/c/slb/real 3/ena", "/cfg/slb/real 3: is enabled but has no address; set rip"},
        Rule{"/c/slb/real 3/ena/rip 10.10.2.11",
             "/cfg/slb/real 3: rip 10.10.2.11 is already that of real server 1"},
        Rule{"/c/slb/real 3/rip 10.10.1.5", "/cfg/slb/real 3: rip 10.10.1.5 is the address of interface 1"},
        Rule{"/c/slb/virt 2/ena", "/cfg/slb/virt 2: is enabled but has no address; set vip"},
        Rule{"/c/slb/virt 2/ena/vip 10.10.1.5",
             "/cfg/slb/virt 2: vip 10.10.1.5 is the address of interface 1"},
        Rule{"/c/slb/virt 2/ena/vip 10.10.1.255",
             "/cfg/slb/virt 2: vip 10.10.1.255 is the broadcast address of interface 1"},
        Rule{"/c/l3/if 1/broad 10.10.1.7\n/c/slb/real 3/rip 10.10.1.7",
             "/cfg/slb/real 3: rip 10.10.1.7 is the broadcast address of interface 1"},
        Rule{"/c/slb/virt 2/ena/vip 10.10.2.12",
             "/cfg/slb/virt 2: vip 10.10.2.12 is the rip of real server 2"},
        Rule{"/c/slb/virt 2/ena/vip 10.10.1.100\n/c/slb/virt 2/service 80/group 1",
             "/cfg/slb/virt 2/service http: 10.10.1.100 port http is already served by virtual server 1"},
        Rule{"/c/slb/port 3/client ena", "/cfg/slb/port 3: port 3 has no device; set one in /cfg/port 3"},
        Rule{"/c/port 3/device port3/pvid 2",
             "/cfg/port 3: ports 2 and 3 are both in VLAN 2; there is no layer-2 switching, so each port "
             "needs a VLAN of its own"},
        Rule{"/c/port 3/device port2/pvid 3", "/cfg/port 3: device port2 is already used by port 2"},
        Rule{"/c/port 3/device port3/pvid 3\n/c/l2/vlan 5/add 3",
             "/cfg/l2/vlan 5: port 3 has pvid 3; set it to 5 or remove the port from this VLAN"},
        Rule{"/c/l3/if 3/ena/addr 10.9.0.1/mask 255.255.0.0/vlan 9",
             "/cfg/l3/if 3: VLAN 9 has no port; give a port with a device that VLAN"},
        Rule{"/c/port 3/device port3/pvid 3\n/c/l3/if 3/ena/addr 10.10.2.6/mask 255.255.255.128/vlan 3",
             "/cfg/l3/if 3: its subnet overlaps with that of interface 2"},
        Rule{"/c/l3/gw 1/ena/addr 192.0.2.1",
             "/cfg/l3/gw 1: gateway 192.0.2.1 is in the subnet of no enabled interface"},
        Rule{"/c/l3/gw 1/ena/addr 10.10.1.5",
             "/cfg/l3/gw 1: gateway 10.10.1.5 is the address of interface 1"},
        Rule{"/c/l3/gw 1/ena/addr 10.10.1.100",
             "/cfg/l3/gw 1: gateway 10.10.1.100 is the vip of virtual server 1"},
        Rule{"/c/slb/real 1/backup 1", "/cfg/slb/real 1: is its own backup"},
        Rule{"/c/slb/real 1/backup 9", "/cfg/slb/real 1: backup: real server 9 does not exist"},
        Rule{"/c/slb/real 1/backup g9", "/cfg/slb/real 1: backup: group 9 does not exist"},
        Rule{"/c/slb/real 1/backup g2", "/cfg/slb/real 1: backup: group 2 has no other real server"},
        Rule{"/c/slb/group 1/backup g1", "/cfg/slb/group 1: backup: a group can't be its own backup"},
        Rule{"/c/slb/group 1/backup 9", "/cfg/slb/group 1: backup: real server 9 does not exist"},
        Rule{"/c/slb/group 1/secbkp 9", "/cfg/slb/group 1: secbkp: group 9 does not exist"},
        Rule{"/c/slb/group 1/metric hash 255.255.255.0",
             "/cfg/slb/group 1: metric: only phash has a mask; remove 255.255.255.0"},
        Rule{"/c/slb/group 1/metric phash 0.0.0.0",
             "/cfg/slb/group 1: metric: with mask 0.0.0.0 phash gives all clients to one server"},
        Rule{"/c/slb/group 1/minthrsh 2/maxthrsh 1",
             "/cfg/slb/group 1: maxthrsh 1 is less than minthrsh 2, allowed is 0 or 2 and more"},
        Rule{"/c/slb/group 1/maxthrsh 1", "/cfg/slb/group 1: maxthrsh has no effect without minthrsh"},
        Rule{"/c/slb/group 1/minthrsh 3",
             "/cfg/slb/group 1: minthrsh 3 and maxthrsh 0 can't be reached with 2 real servers"},
        Rule{"/c/slb/adv/pmask 0.0.0.0", "/cfg/slb/adv: pmask 0.0.0.0 makes one client of all"},
        Rule{"/c/l3/route/add 10.20.0.1 255.255.0.0 10.10.2.1",
             "/cfg/l3/route 10.20.0.1 255.255.0.0: destination 10.20.0.1 has bits outside of its mask"}));

TEST(Validate, ThereIsNoBroadcastAddressInASubnetOfTwo) {  // RFC 3021
  EXPECT_THAT(
      problems_with("/c/l3/if 2/addr 10.10.2.10/mask 255.255.255.254\n/c/slb/virt 2/ena/vip 10.10.2.11\n"
                    "/c/slb/real 1/rip 10.9.9.9"),
      IsEmpty());
}

// Reports 112: what looks like a duplicate and is none.
TEST(Validate, OneAddressInTwoVirtualServersOnDifferentPortsIsFine) {
  EXPECT_THAT(problems_with("/c/slb/virt 2/ena/vip 10.10.1.100\n/c/slb/virt 2/service https/group 1"),
              IsEmpty());
}

// Reports 50, and what looks like a loop: what stands in is never asked for its own backup.
TEST(Validate, AMemberMayBeABackupAndServersEachOthers) {
  EXPECT_THAT(problems_with("/c/slb/real 1/backup 2\n/c/slb/real 2/backup 1\n/c/slb/group 2/backup g1\n"
                            "/c/slb/group 1/backup g2/secbkp g2"),
              IsEmpty());
}

TEST(Validate, ADisabledVirtualServerMayRepeatAnother) {
  EXPECT_THAT(problems_with("/c/slb/virt 2/vip 10.10.1.100\n/c/slb/virt 2/service http/group 1"), IsEmpty());
}

TEST(Validate, TellsEverythingAtOnce) {  // reports 111
  EXPECT_THAT(problems_with("/c/slb/real 3/ena\n/c/slb/virt 1/service 443/group 9\n/c/slb/group 1/add 7"),
              SizeIs(3));
}

TEST(Topology, AddingAPortToAVlanMovesItThere) {
  const Config config = with({}, "/c/port 1/device port1\n/c/l2/vlan 5/add 1");
  EXPECT_EQ(vlan_of(config, config.port(0)), 5u);
  EXPECT_EQ(port_of_vlan(config, 1), nullptr);
}

TEST(Compile, LabHasItsServicesTargetsAndPorts) {
  const Compiled compiled = compile(lab());
  ASSERT_EQ(compiled.generation.service_size(), 2);
  EXPECT_EQ(compiled.targets.size(), 3u);
  EXPECT_TRUE(compiled.targets.contains({1, 8080, Protocol::tcp, "tcp"}));
  EXPECT_TRUE(compiled.targets.contains({1, 21, Protocol::tcp, "tcp"}));
  EXPECT_EQ(compiled.generation.port(0).vlan(), 1u);
  EXPECT_TRUE(compiled.generation.port(1).server());
}

TEST(Compile, OneCheckOfOneServiceSharedByGroupsIsOneTarget) {  // reports 17
  const Config config =
      with(lab(), "/c/slb/virt 2/ena/vip 10.10.1.101\n/c/slb/virt 2/service http/group 2/rport 8080");
  EXPECT_EQ(compile(config).targets.size(), 3u);
}

TEST(Compile, DifferentChecksOfOneServerAreDifferentTargets) {  // reports 11
  const Config config = with(lab(),
                             "/c/slb/group 2/health icmp\n/c/slb/virt 2/ena/vip 10.10.1.101\n/c/slb/virt "
                             "2/service http/group 2/rport 8080");
  EXPECT_TRUE(compile(config).targets.contains({1, 8080, Protocol::tcp, "icmp"}));
  EXPECT_TRUE(compile(config).targets.contains({1, 8080, Protocol::tcp, "tcp"}));
}

TEST(Compile, WhileBalancingIsOffNothingIsServedGuardedOrProbed) {
  const Compiled compiled = compile(with(lab(), "/c/slb/off"));
  EXPECT_EQ(compiled.generation.service_size(), 0);
  EXPECT_TRUE(compiled.targets.empty());
  EXPECT_TRUE(compiled.kernel.guard.empty());
  EXPECT_EQ(compiled.kernel.addresses.size(), 2u);
}

TEST(Compile, VipGoesWhereItsSubnetIsElseToTheLoopback) {
  const Compiled compiled =
      compile(with(lab(), "/c/slb/virt 2/ena/vip 192.0.2.1\n/c/slb/virt 2/service http/group 2"));
  EXPECT_TRUE(compiled.kernel.addresses.contains({{1, "port1"}, Ipv4{0x0a0a0164}, 32, {}, true}));
  EXPECT_TRUE(compiled.kernel.addresses.contains({{0, "lo"}, Ipv4{0xc0000201}, 32, {}, true}));
}

TEST(Compile, IdleTimeIsTheServicesElseTheServersInMinutesStretchedBySlowAge) {
  Config config = with(lab(), "/c/slb/real 1/tmout 4");
  EXPECT_EQ(compile(config).generation.service(0).member(0).idle_seconds(), 240u);
  config = with(
      config, "/c/slb/virt 1/service ftp/tmout 6\n/c/slb/virt 1/service http/tmout 6\n/c/slb/adv/slowage 1");
  EXPECT_EQ(compile(config).generation.service(0).member(0).idle_seconds(), 720u);
  config = with(
      config,
      "/c/slb/virt 1/service ftp/tmout 32768\n/c/slb/virt 1/service http/tmout 32768\n/c/slb/adv/slowage 14");
  EXPECT_EQ(compile(config).generation.service(0).member(0).idle_seconds(), 94'608'000u)
      << "three years at most";
}

TEST(Compile, TheFastAgePeriodIsAPowerOfTwoSeconds) {
  const auto closed_seconds = [](std::string_view lines) {
    return compile(with(lab(), lines)).generation.ageing().closed_seconds();
  };
  EXPECT_EQ(closed_seconds(""), 1u);
  EXPECT_EQ(closed_seconds("/c/slb/adv/fastage 3"), 8u);
  EXPECT_EQ(closed_seconds("/c/slb/adv/fastage 7"), 128u);
}

TEST(Compile, TheLowestEnabledGatewayIsTheDefaultRoute) {
  const Config config =
      with(lab(), "/c/l3/gw 2/ena/addr 10.10.1.2\n/c/l3/gw 1/addr 10.10.1.1\n/c/l3/gw 3/ena/addr 10.10.1.3");
  EXPECT_THAT(compile(config).kernel.routes, ElementsAre(kernel::Route{{}, 0, Ipv4{0x0a0a0102}}));
}

TEST(Plan, DisablingAServerEndsItsBindings) {
  EXPECT_THAT(plan(lab(), with(lab(), "/c/slb/real 1/dis")).ended,
              testing::UnorderedElementsAre(Binding{1, 80, 6, 1, 8080, 1, "10.10.1.100", "10.10.2.11"},
                                            Binding{1, 21, 6, 1, 21, 2, "10.10.1.100", "10.10.2.11"}));
}

TEST(Plan, AnUnrelatedChangeEndsNothing) {
  EXPECT_THAT(plan(lab(), with(lab(), "/c/slb/real 1/weight 5\n/c/slb/group 1/metric hash")).ended,
              IsEmpty());
}

TEST(Plan, CountsTheSessionsThatEnd) {
  forwarding::Stats stats;
  const auto count = [&](std::uint32_t vport, std::uint32_t real, std::uint32_t rport,
                         std::uint64_t current) {
    forwarding::ServiceStats& row = *stats.add_service();
    row.set_virt(1);
    row.set_vport(vport);
    row.set_protocol(6);
    row.set_real(real);
    row.set_rport(rport);
    row.mutable_counts()->set_current(current);
  };
  count(80, 1, 8080, 7);
  count(80, 2, 8080, 20);
  count(21, 1, 21, 3);
  const auto ended = [&](std::string_view change) {
    return sessions_ended(plan(lab(), with(lab(), std::string(change))), stats);
  };
  EXPECT_EQ(ended("/c/slb/real 2/dis"), 20u);
  EXPECT_EQ(ended("/c/slb/real 1/dis\n/c/slb/real 2/dis"), 30u);
  EXPECT_EQ(ended("/c/slb/virt 1/service ftp/del"), 3u) << "real server 1 keeps http";
  EXPECT_EQ(ended("/c/slb/group 3/add 1\n/c/slb/virt 1/service ftp/group 3"), 3u) << "counted for the group";
  EXPECT_EQ(ended("/c/slb/real 2/rip 10.10.2.13"), 20u) << "another server";
  EXPECT_EQ(ended("/c/slb/real 2/weight 7"), 0u);
  EXPECT_EQ(ended("/c/slb/group 1/dis 2"), 0u) << "graceful";
  EXPECT_EQ(ended("/c/slb/group 1/rem 2\n/c/slb/real 1/backup 2"), 0u) << "another role of the same binding";
}

// ---- Candidates

TEST(Candidate, OfTwoSessionsTheLastWinsSettingBySetting) {
  const Config first = with(lab(), "/c/slb/real 1/weight 5\n/c/slb/real 1/name one");
  const Config second = with(lab(), "/c/slb/real 1/weight 7");
  EXPECT_EQ(text::dump(merge(lab(), second, first)),
            text::dump(with(lab(), "/c/slb/real 1/weight 7/name one")));
}

TEST(Candidate, DeletingWhatAnotherDeletedIsDone) {
  const Config deleted = with(lab(), "/c/slb/group 2/rem 1\n/c/slb/real 2/del");
  EXPECT_EQ(text::dump(merge(lab(), deleted, deleted)), text::dump(deleted));
}

TEST(Candidate, SlbAdministratorsChangeSlbOnly) {
  EXPECT_TRUE(may_change(SLBADMIN, lab(), with(lab(), "/c/slb/real 1/dis")).ok());
  EXPECT_FALSE(may_change(SLBADMIN, lab(), with(lab(), "/c/l3/if 1/dis")).ok());
  EXPECT_FALSE(may_change(SLBOPER, lab(), with(lab(), "/c/slb/real 1/dis")).ok());
  EXPECT_TRUE(may_change(ADMIN, lab(), with(lab(), "/c/l3/if 1/dis")).ok());
}

}  // namespace
}  // namespace headgate::config
