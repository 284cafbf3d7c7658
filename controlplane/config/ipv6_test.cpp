// SPDX-License-Identifier: Apache-2.0
//
// What a configuration with IPv6 in it means, and what of it is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "controlplane/config/compile.h"
#include "controlplane/config/sample.h"
#include "controlplane/config/topology.h"
#include "controlplane/config/validate.h"

namespace headgate::config {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

/// The lab, with a VIP, servers and interfaces of IPv6 beside those of IPv4.
constexpr std::string_view kIpv6 = R"(/c/l3/if 3
	ena
	addr 2001:db8:1::5
	mask 64
/c/l3/if 4
	ena
	addr 2001:db8:2::5
	mask 64
	vlan 2
/c/slb/real 11
	ena
	rip 2001:db8:2::11
/c/slb/group 6
	add 11
/c/slb/virt 6
	ena
	vip 2001:db8:1::100
/c/slb/virt 6/service http
	group 6
	rport 8080
)";

Ip ip(const char* text) {
  return *Ip::parse(text);
}

Config lab6(std::string_view lines = "") {
  return with(with(lab(), kIpv6), lines);
}

std::vector<std::string> problems_with(std::string_view lines) {
  std::vector<std::string> result;
  for (const Problem& problem : validate(lab6(lines))) result.push_back(problem.line());
  return result;
}

/// "port1 2001:db8:1::100/128 vip", one for each address that the kernel gets.
std::vector<std::string> addresses_of(const Compiled& compiled) {
  std::vector<std::string> lines;
  for (const kernel::Address& address : compiled.kernel.addresses)
    lines.push_back(fmt::format("{} {}/{}{}", address.link.device, address.address.text(), address.prefix,
                                address.vip ? " vip" : ""));
  return lines;
}

TEST(Ipv6Config, BothFamiliesBesideEachOtherAreGood) {
  EXPECT_THAT(problems_with(""), IsEmpty());
  EXPECT_THAT(problems_with("/c/slb/virt 6/ipver v6\n/c/slb/real 11/ipver v6\n/c/slb/virt 1/ipver v4"),
              IsEmpty());
}

struct Rule {
  std::string_view lines;
  std::string_view problem;
};

class Ipv6Rules : public testing::TestWithParam<Rule> {};

TEST_P(Ipv6Rules, AreToldInOneLine) {
  EXPECT_THAT(problems_with(GetParam().lines), ElementsAre(std::string(GetParam().problem)));
}

INSTANTIATE_TEST_SUITE_P(
    Validate, Ipv6Rules,
    testing::Values(
        Rule{"/c/slb/group 6/add 1",
             "/cfg/slb/virt 6/service http: vip 2001:db8:1::100 can't be served by real server 1 of group 6: "
             "its rip 10.10.2.11 is of another family"},
        Rule{"/c/slb/virt 6/ipver v4", "/cfg/slb/virt 6: ipver does not fit the address 2001:db8:1::100"},
        Rule{"/c/slb/real 1/ipver v6", "/cfg/slb/real 1: ipver does not fit the address 10.10.2.11"},
        Rule{"/c/l3/if 3/mask 255.255.255.0",
             "/cfg/l3/if 3: mask 255.255.255.0 does not fit 2001:db8:1::5; allowed is a prefix length 1-128"},
        Rule{"/c/l3/if 3/broad 10.10.1.255",
             "/cfg/l3/if 3: IPv6 has no broadcast address; set broad to 0.0.0.0"},
        Rule{"/c/l3/if 3/addr 2001:db8:1::",
             "/cfg/l3/if 3: 2001:db8:1:: is the anycast address of its subnet"},
        Rule{"/c/l3/if 1/mask 33",
             "/cfg/l3/if 1: mask 33 does not fit 10.10.1.5; allowed is a subnet mask, or a length 1-32"},
        Rule{"/c/slb/real 12/ena/rip fe80::1", "/cfg/slb/real 12: fe80::1 can't be the address of a server"},
        Rule{"/c/slb/real 12/ena/rip ff02::1", "/cfg/slb/real 12: ff02::1 can't be the address of a server"},
        Rule{"/c/slb/virt 7/ena/vip ::1", "/cfg/slb/virt 7: ::1 can't be the address of a virtual server"},
        Rule{"/c/slb/virt 7/ena/vip 2001:db8:1::5",
             "/cfg/slb/virt 7: vip 2001:db8:1::5 is the address of interface 3"},
        Rule{"/c/l3/gw 1/ena/addr fe80::1",
             "/cfg/l3/gw 1: gateway fe80::1 is in the subnet of no enabled interface"},
        Rule{"/c/l3/route/add 2001:db8:9::1 48 2001:db8:2::1",
             "/cfg/l3/route 2001:db8:9::1 48: destination 2001:db8:9::1 has bits outside of its mask"},
        Rule{"/c/l3/route/add 2001:db8:9:: 48 10.10.2.1",
             "/cfg/l3/route 2001:db8:9:: 48: gateway 10.10.2.1 is of another family"}));

TEST(Ipv6Config, ALengthStandsForAMaskOfIpv4Too) {
  const Config config = with(lab(), "/c/l3/if 1/mask 24");
  EXPECT_EQ(subnet_of(config, ip("10.10.1.77"))->broadcast, ip("10.10.1.255"));
  EXPECT_EQ(compile(config).kernel.addresses, compile(lab()).kernel.addresses);
}

TEST(Ipv6Config, AddressesAreThoseOfTheirFamily) {
  const Compiled compiled = compile(lab6());
  EXPECT_THAT(addresses_of(compiled), Contains("port1 2001:db8:1::5/64"));
  EXPECT_THAT(addresses_of(compiled), Contains("port1 2001:db8:1::100/128 vip"));
  EXPECT_THAT(compiled.kernel.guard.vips, Contains(ip("2001:db8:1::100")));
  EXPECT_THAT(compiled.kernel.guard.services, Contains(kernel::RealService{ip("2001:db8:2::11"), 8080}));
}

TEST(Ipv6Config, AVipThatClientsReachByARouteIsOnTheLoopback) {
  const Compiled compiled = compile(lab6("/c/slb/virt 6/vip 2001:db8:ffff::1"));
  EXPECT_THAT(addresses_of(compiled), Contains("lo 2001:db8:ffff::1/128 vip"));
}

TEST(Ipv6Config, ServicesAndTargetsHaveTheirAddresses) {
  const Compiled compiled = compile(lab6());
  const forwarding::Service& service = *compiled.generation.service().rbegin();
  EXPECT_EQ(ip_of(service.vip()), ip("2001:db8:1::100"));
  EXPECT_EQ(ip_of(service.member(0).rip()), ip("2001:db8:2::11"));
  EXPECT_EQ(compiled.targets.at({11, 8080, Protocol::tcp, "tcp"}).address, ip("2001:db8:2::11"));
}

TEST(Ipv6Config, EachFamilyHasItsDefaultRoute) {
  const Config config = lab6(
      "/c/l3/gw 1/ena/addr 2001:db8:1::1\n/c/l3/gw 2/ena/addr 10.10.1.1\n/c/l3/gw 3/ena/addr 10.10.1.2\n"
      "/c/l3/route/add 2001:db8:9:: 48 2001:db8:2::1");
  EXPECT_THAT(validate(config), IsEmpty());
  EXPECT_THAT(compile(config).kernel.routes,
              testing::UnorderedElementsAre(kernel::Route{{}, 0, ip("2001:db8:1::1")},
                                            kernel::Route{{}, 0, ip("10.10.1.1")},
                                            kernel::Route{ip("2001:db8:9::"), 48, ip("2001:db8:2::1")}));
}

std::vector<std::uint32_t> protocols_with(std::string_view lines) {
  std::vector<std::uint32_t> protocols;
  const Compiled compiled = compile(lab6(lines));
  for (const forwarding::Service& service : compiled.generation.service())
    if (service.virt() == 7) protocols.push_back(service.protocol());
  return protocols;
}

constexpr std::string_view kVirt7 = "/c/slb/virt 7/ena/vip 10.10.1.107\n/c/slb/virt 7/service ";

// Reference 2.4: UDP on this port too, and without a word for dns and its like.
TEST(UdpConfig, AServiceIsBalancedForTheProtocolsItSays) {
  const auto of = [](std::string_view service) {
    return protocols_with(std::string(kVirt7) + std::string(service));
  };
  EXPECT_THAT(of("7000/group 1"), ElementsAre(6));
  EXPECT_THAT(of("7000/udp ena"), ElementsAre(6, 17));
  EXPECT_THAT(of("7000/protocol udp"), ElementsAre(17));
  EXPECT_THAT(of("dns/group 1"), ElementsAre(6, 17));
  EXPECT_THAT(of("dns/udp dis"), ElementsAre(6));
  EXPECT_THAT(of("radius/protocol udp"), ElementsAre(17));
}

TEST(UdpConfig, UdpIsCheckedByEchoAndTcpByWhatTheGroupSays) {
  const Compiled compiled = compile(lab6(std::string(kVirt7) + "dns/group 1"));
  EXPECT_TRUE(compiled.targets.contains({1, 53, Protocol::tcp, "tcp"}));
  EXPECT_TRUE(compiled.targets.contains({1, 53, Protocol::udp, "icmp"}));
}

TEST(UdpConfig, OneAddressAndPortMayServeTcpHereAndUdpThere) {
  EXPECT_THAT(problems_with("/c/slb/virt 7/ena/vip 10.10.1.100\n/c/slb/virt 7/service http/protocol udp"),
              IsEmpty());
  EXPECT_THAT(
      problems_with("/c/slb/virt 7/ena/vip 10.10.1.100\n/c/slb/virt 7/service http/udp ena"),
      ElementsAre(
          "/cfg/slb/virt 7/service http: 10.10.1.100 port http is already served by virtual server 1"));
}

TEST(UdpConfig, WhatIsNotBuiltOrBalancesNothingIsRefused) {
  EXPECT_THAT(
      problems_with("/c/slb/virt 1/service http/udp stateless"),
      ElementsAre("/cfg/slb/virt 1/service http: udp stateless is not built yet; use ena, which keeps a "
                  "session for each client"));
  EXPECT_THAT(
      problems_with("/c/slb/virt 1/service http/udp dis/protocol udp"),
      ElementsAre(
          "/cfg/slb/virt 1/service http: protocol is udp and udp is dis: nothing is left to balance"));
}

TEST(Ipv6Config, AddressesAreWrittenAsRfc5952HasThem) {
  const std::string dump = text::dump(with({}, "/c/slb/real 1/rip 2001:DB8:0:0::11\n/c/l3/if 1/mask 64"));
  EXPECT_THAT(dump, testing::HasSubstr("\trip 2001:db8::11\n"));
  EXPECT_THAT(dump, testing::HasSubstr("\tmask 64\n"));
}

}  // namespace
}  // namespace headgate::config
