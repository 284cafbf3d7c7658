// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "controlplane/kernel/announce.h"
#include "controlplane/kernel/guard.h"
#include "controlplane/kernel/reconcile.h"

namespace headgate::kernel {
namespace {

// Reports 89: every byte.
TEST(GratuitousArp, IsThisFrame) {
  const ArpFrame expected{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2,  0,  0, 0,   0, 1, 8, 6,  // Ethernet
                          0,    1,    8,    0,    6,    4,    0,  1,                       // ARP request
                          2,    0,    0,    0,    0,    1,    10, 10, 1, 100,              // sender
                          0,    0,    0,    0,    0,    0,    10, 10, 1, 100};  // target; the rest is padding
  EXPECT_EQ(gratuitous_arp({0x0a0a0164}, Mac{{2, 0, 0, 0, 0, 1}}), expected);
}

TEST(Guard, DropsWhatIsTheDataplanesInOneTransaction) {
  const Guard guard{{Ipv4{0x0a0a0164}}, {{{0x0a0a020b}, 21}, {{0x0a0a020b}, 8080}}};
  EXPECT_EQ(guard_commands(guard), R"(add table inet headgate_guard
delete table inet headgate_guard
table inet headgate_guard {
  set vips { type ipv4_addr; elements = { 10.10.1.100 }; }
  set services { type ipv4_addr . inet_service; elements = { 10.10.2.11 . 21, 10.10.2.11 . 8080 }; }
  chain input {
    type filter hook input priority filter - 10; policy accept;
    ip protocol { tcp, udp } ip daddr @vips drop
  }
  chain forward {
    type filter hook forward priority filter - 10; policy accept;
    ip protocol { tcp, udp } ip saddr . th sport @services drop
  }
}
)");
}

TEST(Guard, WithoutVipsThereIsNoTable) {
  EXPECT_EQ(guard_commands({}), "add table inet headgate_guard\ndelete table inet headgate_guard\n");
}

const PlacedAddress kInterface{"port1", {0x0a0a0105}, 24};
const PlacedAddress kVip{"port1", {0x0a0a0164}, 32};
const Route kDefault{{}, 0, {0x0a0a0101}};

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

TEST(Owned, SurvivesBeingWritten) {
  const Owned owned{{{kInterface, kVip}, {kDefault}}, {{"/proc/sys/net/ipv4/conf/port1/arp_ignore", "0"}}};
  EXPECT_EQ(read_owned(write_owned(owned)), owned);
}

TEST(Owned, IgnoresLinesItCannotRead) {
  EXPECT_EQ(read_owned("address port1 10.10.1.100/32\naddress port1 10.10.1\nroute\nrubbish\n").placed,
            (Placed{{kVip}, {}}));
}

}  // namespace
}  // namespace headgate::kernel
