// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "controlplane/kernel/announce.h"
#include "controlplane/kernel/guard.h"
#include "controlplane/kernel/reconcile.h"

namespace headgate::kernel {
namespace {

// Reports 89: every byte.
TEST(GratuitousArp, IsThisFrame) {
  const FrameBytes expected{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2,  0,  0, 0,   0, 1, 8, 6,  // Ethernet
                            0,    1,    8,    0,    6,    4,    0,  1,                       // ARP request
                            2,    0,    0,    0,    0,    1,    10, 10, 1, 100,              // sender
                            0,    0,    0,    0,    0,    0,    10, 10, 1, 100,              // target
                            0,    0,    0,    0,    0,    0,    0,  0,  0, 0,   0, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(gratuitous_arp({0x0a0a0164}, Mac{{2, 0, 0, 0, 0, 1}}), expected);
}

// RFC 4861 7.2.6, RFC 4443 2.3: every byte; the checksum was worked out by hand.
TEST(UnsolicitedAdvertisement, IsThisFrame) {
  const FrameBytes frame = unsolicited_advertisement(*Ip::parse("2001:db8:1::100"), Mac{{2, 0, 0, 0, 0, 1}});
  const FrameBytes expected{
      0x33, 0x33, 0,    0,    0,    1,  2,  0,   0, 0, 0, 1, 0x86, 0xdd,        // Ethernet
      0x60, 0,    0,    0,    0,    32, 58, 255,                                // IPv6
      0x20, 1,    0xd,  0xb8, 0,    1,  0,  0,   0, 0, 0, 0, 0,    0,    1, 0,  // from
      0xff, 2,    0,    0,    0,    0,  0,  0,   0, 0, 0, 0, 0,    0,    0, 1,  // to
      136,  0,    0xf7, 0x2a, 0x20, 0,  0,  0,                                  // advertisement
      0x20, 1,    0xd,  0xb8, 0,    1,  0,  0,   0, 0, 0, 0, 0,    0,    1, 0,  // target
      2,    1,    2,    0,    0,    0,  0,  1};                                 // link-layer address
  EXPECT_EQ(frame, expected);
}

TEST(Guard, DropsWhatIsTheDataplanesInOneTransaction) {
  const Guard guard{{Ipv4{0x0a0a0164}, *Ip::parse("2001:db8:1::100")},
                    {{Ipv4{0x0a0a020b}, 21}, {Ipv4{0x0a0a020b}, 8080}, {*Ip::parse("2001:db8:2::11"), 53}}};
  EXPECT_EQ(guard_commands(guard), R"(add table inet headgate_guard
delete table inet headgate_guard
table inet headgate_guard {
  set vips { type ipv4_addr; elements = { 10.10.1.100 }; }
  set services { type ipv4_addr . inet_service; elements = { 10.10.2.11 . 21, 10.10.2.11 . 8080 }; }
  set vips6 { type ipv6_addr; elements = { 2001:db8:1::100 }; }
  set services6 { type ipv6_addr . inet_service; elements = { 2001:db8:2::11 . 53 }; }
  chain input {
    type filter hook input priority filter - 10; policy accept;
    ip protocol { tcp, udp } ip daddr @vips drop
    meta l4proto { tcp, udp } ip6 daddr @vips6 drop
  }
  chain forward {
    type filter hook forward priority filter - 10; policy accept;
    ip protocol { tcp, udp } ip saddr . th sport @services drop
    meta l4proto { tcp, udp } ip6 saddr . th sport @services6 drop
  }
}
)");
}

TEST(Guard, WithoutVipsThereIsNoTable) {
  EXPECT_EQ(guard_commands({}), "add table inet headgate_guard\ndelete table inet headgate_guard\n");
}

const PlacedAddress kInterface{"port1", Ipv4{0x0a0a0105}, 24};
const PlacedAddress kVip{"port1", Ipv4{0x0a0a0164}, 32};
const PlacedAddress kVip6{"port1", *Ip::parse("2001:db8:1::100"), 128};
const Route kDefault{{}, 0, Ipv4{0x0a0a0101}};
const Route kDefault6{{}, 0, *Ip::parse("2001:db8:1::1")};
const Route kRoute6{*Ip::parse("2001:db8:9::"), 48, *Ip::parse("fe80::1")};

TEST(Reconcile, AddsWhatIsMissingAndOwnsIt) {
  const Changes changes = reconcile({{kInterface, kVip}, {kDefault}}, {}, {});
  EXPECT_EQ(changes.add, (Placed{{kInterface, kVip}, {kDefault}}));
  EXPECT_EQ(changes.remove, Placed{});
  EXPECT_EQ(changes.owned, (Placed{{kInterface, kVip}, {kDefault}}));
}

TEST(Reconcile, AdoptsAfterARestartWithoutTouchingAnything) {
  const Placed all{{kInterface, kVip}, {kDefault}};
  const Changes changes = reconcile(all, all, all);
  EXPECT_EQ(changes.add, Placed{});
  EXPECT_EQ(changes.remove, Placed{});
  EXPECT_EQ(changes.owned, all);
}

TEST(Reconcile, RemovesOnlyWhatItHadAdded) {
  const Changes changes = reconcile({}, {{kVip}, {}}, {{kInterface, kVip}, {kDefault}});
  EXPECT_EQ(changes.remove, (Placed{{kVip}, {}}));
  EXPECT_EQ(changes.owned, Placed{});
}

TEST(Reconcile, WhatTheAdministratorHadSetIsNotOwned) {
  const Changes changes = reconcile({{kInterface}, {}}, {}, {{kInterface}, {}});
  EXPECT_EQ(changes.add, Placed{});
  EXPECT_EQ(changes.owned, Placed{});
}

TEST(Reconcile, PutsBackWhatWasLostWithTheInterface) {
  const Changes changes = reconcile({{kVip}, {}}, {{kVip}, {}}, {});
  EXPECT_EQ(changes.add, (Placed{{kVip}, {}}));
}

TEST(Reconcile, PutsBackTheSubnetOfAnAddressThatStands) {
  const PlacedAddress subnet{"port1", Ipv4{0x0a0a0100}, 24};
  const Placed wanted{{kInterface, kVip, kVip6}, {}};
  EXPECT_EQ(reconcile(wanted, wanted, wanted).cut_off, std::set{kInterface}) << "VIPs have none";
  const PlacedAddress link{"port1", *Ip::parse("fe80::5"), 64};
  EXPECT_EQ(reconcile(wanted, {}, {{kVip6, link}, {}}).cut_off, std::set{link});
  EXPECT_EQ(reconcile({}, {}, {{kInterface, link}, {}}).cut_off, std::set<PlacedAddress>{}) << "not ours";
  EXPECT_EQ(reconcile(wanted, {}, {wanted.addresses, {}, {subnet}}).cut_off, std::set<PlacedAddress>{});
  EXPECT_EQ(reconcile(wanted, wanted, {}).cut_off, std::set<PlacedAddress>{}) << "it comes with the address";
}

TEST(LinkLocal, IsMadeOfTheEthernetAddress) {
  EXPECT_EQ(link_local("port1", {{0x02, 0x11, 0x22, 0x33, 0x44, 0x55}}),
            (PlacedAddress{"port1", *Ip::parse("fe80::11:22ff:fe33:4455"), 64}));
}

TEST(LinkLocal, IsOursToGiveWhereThereIsNoOther) {
  const PlacedAddress ours = link_local("port1", {{2, 0, 0, 0, 1, 5}});
  const PlacedAddress others{"port1", *Ip::parse("fe80::5"), 64};
  const Placed wanted{{kVip6}, {}};
  const std::set<std::string> none, port1 = {"port1"};
  EXPECT_EQ(without_link_local({{kInterface, kVip}, {}}, {}, {}), none) << "no IPv6 there";
  EXPECT_EQ(without_link_local(wanted, {}, {}), port1);
  EXPECT_EQ(without_link_local(wanted, {}, {{others}, {}}), none);
  EXPECT_EQ(without_link_local(wanted, {}, {{ours}, {}}), none) << "the kernel made it";
  EXPECT_EQ(without_link_local(wanted, {{ours}, {}}, {{ours}, {}}), port1) << "it stays ours";
}

TEST(Owned, SurvivesBeingWritten) {
  const Owned owned{{{kInterface, kVip, kVip6}, {kDefault, kDefault6, kRoute6}},
                    {{"/proc/sys/net/ipv4/conf/port1/arp_ignore", "0"}}};
  EXPECT_EQ(read_owned(write_owned(owned)), owned);
}

TEST(Owned, IgnoresLinesItCannotRead) {
  EXPECT_EQ(read_owned("address port1 10.10.1.100/32\naddress port1 10.10.1\nroute\nrubbish\n").placed,
            (Placed{{kVip}, {}}));
}

}  // namespace
}  // namespace headgate::kernel
