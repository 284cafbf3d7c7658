// SPDX-License-Identifier: Apache-2.0
//
// Against the kernel itself, in a network namespace of its own; needs root.
#include "dataplane/shell/kernel_mirror.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>

namespace headgate::shell {
namespace {

constexpr int kPatienceMs = 5000;

void ip(const std::string& arguments) {
  ASSERT_EQ(std::system(("ip " + arguments).c_str()), 0) << arguments;
}

class KernelMirrorTest : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    ASSERT_EQ(unshare(CLONE_NEWNET), 0);
    ip("link add port1 type veth peer name peer1");
    ip("addr add 10.10.1.5/24 dev port1");
    ip("link set port1 up");
    ip("link set peer1 up");
    ip("addr add 2001:db8:1::5/64 dev port1 nodad");
    ASSERT_TRUE(mirror_.open().ok());
  }

  /// Reads messages until `reached` holds; false when it does not come true.
  [[nodiscard]] bool await(const std::function<bool()>& reached) {
    while (!reached()) {
      pollfd fd{mirror_.fd(), POLLIN, 0};
      if (poll(&fd, 1, kPatienceMs) <= 0) return false;
      EXPECT_TRUE(mirror_.read().ok());
    }
    return true;
  }
  [[nodiscard]] bool has_route(const char* prefix) const {
    return std::any_of(mirror_.routes().begin(), mirror_.routes().end(),
                       [&](const netlink::Route& route) { return route.prefix == *Ip::parse(prefix); });
  }
  [[nodiscard]] bool usable(const char* address) const {
    const auto found = mirror_.neighbours().find({mirror_.link("port1")->index, *Ip::parse(address)});
    return found != mirror_.neighbours().end() && found->second.usable;
  }

  KernelMirror mirror_;
};

TEST_F(KernelMirrorTest, StartsWithWhatThereIs) {
  ASSERT_NE(mirror_.link("port1"), nullptr);
  EXPECT_TRUE(mirror_.addresses().contains(*Ip::parse("10.10.1.5")));
  EXPECT_TRUE(mirror_.addresses().contains(*Ip::parse("2001:db8:1::5")));
  EXPECT_TRUE(has_route("10.10.1.0"));
  EXPECT_TRUE(has_route("2001:db8:1::"));
  EXPECT_TRUE(mirror_.take_changes().all_neighbours);
}

TEST_F(KernelMirrorTest, FollowsRoutesAlsoThoseThatVanishWithTheirLinkWithoutAWord) {
  ip("route add 10.9.0.0/16 via 10.10.1.1");
  EXPECT_TRUE(await([&] { return has_route("10.9.0.0"); }));
  ip("link set port1 down");
  EXPECT_TRUE(await([&] { return !has_route("10.9.0.0") && !has_route("10.10.1.0"); }));
}

TEST_F(KernelMirrorTest, FollowsAddressesNeighboursAndLinks) {
  ip("addr add 10.10.1.100/32 dev port1");
  EXPECT_TRUE(await([&] { return mirror_.addresses().contains(*Ip::parse("10.10.1.100")); }));
  ip("neigh add 10.10.1.10 lladdr 02:00:00:00:00:01 dev port1");
  EXPECT_TRUE(await([&] { return usable("10.10.1.10"); }));
  ip("neigh del 10.10.1.10 dev port1");
  EXPECT_TRUE(await([&] { return !usable("10.10.1.10"); }));
  ip("link del port1");
  EXPECT_TRUE(await([&] { return mirror_.link("port1") == nullptr; }));
  EXPECT_FALSE(mirror_.addresses().contains(*Ip::parse("10.10.1.5")));
}

TEST_F(KernelMirrorTest, FollowsIpv6) {
  ip("addr add 2001:db8:1::100/128 dev port1 nodad");
  EXPECT_TRUE(await([&] { return mirror_.addresses().contains(*Ip::parse("2001:db8:1::100")); }));
  ip("route add 2001:db8:9::/48 via fe80::1 dev port1");
  EXPECT_TRUE(await([&] { return has_route("2001:db8:9::"); }));
  ip("neigh add fe80::1 lladdr 02:00:00:00:00:01 dev port1");
  EXPECT_TRUE(await([&] { return usable("fe80::1"); }));
  ip("route del 2001:db8:9::/48");
  EXPECT_TRUE(await([&] { return !has_route("2001:db8:9::"); }));
}

TEST_F(KernelMirrorTest, ARouteOfIpv6WithSeveralWaysLosesOneAndStays) {
  ip("route add 2001:db8:9::/48 nexthop via 2001:db8:1::1 dev port1 nexthop via 2001:db8:1::2 dev port1");
  EXPECT_TRUE(await([&] { return has_route("2001:db8:9::"); }));
  ip("route del 2001:db8:9::/48 via 2001:db8:1::1 dev port1");
  const auto left = [&](const netlink::Route& route) {
    return route.prefix == *Ip::parse("2001:db8:9::") && route.gateway == *Ip::parse("2001:db8:1::2");
  };
  EXPECT_TRUE(await([&] { return std::any_of(mirror_.routes().begin(), mirror_.routes().end(), left); }));
}

TEST_F(KernelMirrorTest, SolicitMakesTheKernelLookForANeighbourOfIpv6) {
  const int index = mirror_.link("port1")->index;
  const KernelMirror::NeighbourKey key{index, *Ip::parse("2001:db8:1::77")};
  mirror_.solicit(index, key.second);
  EXPECT_TRUE(await([&] { return mirror_.neighbours().contains(key); }));
  EXPECT_FALSE(usable("2001:db8:1::77"));
}

TEST_F(KernelMirrorTest, SolicitMakesTheKernelLookForANeighbour) {
  const int index = mirror_.link("port1")->index;
  const KernelMirror::NeighbourKey key{index, *Ip::parse("10.10.1.77")};
  mirror_.solicit(index, key.second);
  EXPECT_TRUE(await([&] { return mirror_.neighbours().contains(key); }));
  EXPECT_FALSE(usable("10.10.1.77"));
}

TEST_F(KernelMirrorTest, ReadsEverythingAnewWhenMessagesWereLost) {
  // More than any socket buffer holds, of which the mirror reads nothing meanwhile.
  const int small = 4096;
  ASSERT_EQ(setsockopt(mirror_.fd(), SOL_SOCKET, SO_RCVBUFFORCE, &small, sizeof small), 0);
  ip("route add 10.9.0.0/16 via 10.10.1.1");
  ASSERT_EQ(std::system(
                "for i in $(seq 1 200); do echo neigh add 10.10.1.$i lladdr 02:00:00:00:00:01 dev port1; done"
                " | grep -v '1[.]5 ' | ip -batch -"),
            0);
  ip("route del 10.9.0.0/16");
  static_cast<void>(mirror_.take_changes());
  ASSERT_TRUE(mirror_.read().ok());
  EXPECT_TRUE(mirror_.take_changes().all_neighbours);
  EXPECT_TRUE(usable("10.10.1.200"));
  EXPECT_FALSE(has_route("10.9.0.0"));
}

}  // namespace
}  // namespace headgate::shell
