// SPDX-License-Identifier: Apache-2.0
#include "dataplane/shell/netlink.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <libmnl/libmnl.h>
#include <linux/if.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include <array>
#include <cstring>
#include <string>

namespace headgate::shell::netlink {
namespace {

constexpr std::array<std::uint8_t, 6> kMac{2, 0, 0, 0, 0, 7};

/// One message, built field by field.
class Message {
 public:
  template <class Fixed>
  Message(std::uint16_t type, const Fixed& fixed) {
    mnl_nlmsg_put_header(buffer_.data())->nlmsg_type = type;
    std::memcpy(mnl_nlmsg_put_extra_header(raw(), sizeof fixed), &fixed, sizeof fixed);
  }
  Message& number(std::uint16_t type, std::uint32_t value) {
    mnl_attr_put_u32(raw(), type, value);
    return *this;
  }
  Message& address(std::uint16_t type, const char* text) {
    const std::string bytes = Ip::parse(text)->wire();
    mnl_attr_put(raw(), type, bytes.size(), bytes.data());
    return *this;
  }
  Message& text(std::uint16_t type, const char* value) {
    mnl_attr_put_strz(raw(), type, value);
    return *this;
  }
  Message& mac(std::uint16_t type) {
    mnl_attr_put(raw(), type, kMac.size(), kMac.data());
    return *this;
  }
  [[nodiscard]] Event event() const { return parse(reinterpret_cast<const nlmsghdr*>(buffer_.data())); }
  [[nodiscard]] nlmsghdr* raw() { return reinterpret_cast<nlmsghdr*>(buffer_.data()); }

 private:
  alignas(8) std::array<char, 1024> buffer_{};
};

Message neighbour(std::uint16_t type, std::uint16_t state) {
  Message message(type, ndmsg{.ndm_family = AF_INET, .ndm_ifindex = 3, .ndm_state = state});
  message.address(NDA_DST, "10.10.2.11");
  return message;
}

Message route(unsigned char kind = RTN_UNICAST) {
  return {RTM_NEWROUTE,
          rtmsg{.rtm_family = AF_INET, .rtm_dst_len = 24, .rtm_table = RT_TABLE_MAIN, .rtm_type = kind}};
}

TEST(NetlinkTest, ReadsALink) {
  Message message(RTM_NEWLINK,
                  ifinfomsg{.ifi_family = AF_UNSPEC, .ifi_index = 3, .ifi_flags = IFF_UP | IFF_LOWER_UP});
  message.text(IFLA_IFNAME, "port1").mac(IFLA_ADDRESS).number(IFLA_MTU, 1500);
  const auto link = std::get<Link>(message.event());
  EXPECT_EQ(link.index, 3);
  EXPECT_EQ(link.name, "port1");
  EXPECT_EQ(link.mac.text(), "02:00:00:00:00:07");
  EXPECT_EQ(link.mtu, 1500U);
  EXPECT_TRUE(link.up);
}

TEST(NetlinkTest, ALinkWithoutCarrierIsDown) {
  Message message(RTM_NEWLINK, ifinfomsg{.ifi_family = AF_UNSPEC, .ifi_index = 3, .ifi_flags = IFF_UP});
  EXPECT_FALSE(std::get<Link>(message.text(IFLA_IFNAME, "p").event()).up);
}

TEST(NetlinkTest, PrefersTheLocalEndOfAnAddress) {
  Message message(RTM_NEWADDR, ifaddrmsg{.ifa_family = AF_INET, .ifa_index = 3});
  message.address(IFA_ADDRESS, "10.0.0.2").address(IFA_LOCAL, "10.0.0.1");
  EXPECT_EQ(std::get<Address>(message.event()).address.text(), "10.0.0.1");
}

TEST(NetlinkTest, ANeighbourIsUsableInTheStatesThatHaveAnAddress) {
  for (const std::uint16_t state : {NUD_REACHABLE, NUD_STALE, NUD_DELAY, NUD_PROBE, NUD_PERMANENT}) {
    EXPECT_TRUE(std::get<Neighbour>(neighbour(RTM_NEWNEIGH, state).mac(NDA_LLADDR).event()).usable) << state;
  }
  EXPECT_TRUE(std::get<Neighbour>(neighbour(RTM_NEWNEIGH, NUD_STALE).mac(NDA_LLADDR).event()).stale);
  EXPECT_FALSE(std::get<Neighbour>(neighbour(RTM_NEWNEIGH, NUD_REACHABLE).mac(NDA_LLADDR).event()).stale);
  EXPECT_FALSE(std::get<Neighbour>(neighbour(RTM_NEWNEIGH, NUD_FAILED).mac(NDA_LLADDR).event()).usable);
  EXPECT_FALSE(std::get<Neighbour>(neighbour(RTM_NEWNEIGH, NUD_INCOMPLETE).event()).usable);
  EXPECT_FALSE(std::get<Neighbour>(neighbour(RTM_DELNEIGH, NUD_REACHABLE).mac(NDA_LLADDR).event()).usable);
}

TEST(NetlinkTest, ReadsARoute) {
  Message message = route();
  message.address(RTA_DST, "10.1.0.0")
      .address(RTA_GATEWAY, "10.10.1.1")
      .number(RTA_OIF, 4)
      .number(RTA_PRIORITY, 20);
  const auto read = std::get<Route>(message.event());
  EXPECT_EQ(read.prefix.text(), "10.1.0.0");
  EXPECT_EQ(read.length, 24U);
  EXPECT_EQ(read.gateway.text(), "10.10.1.1");
  EXPECT_EQ(read.index, 4);
  EXPECT_EQ(read.metric, 20U);
}

TEST(NetlinkTest, TakesTheFirstWayOfARouteWithSeveral) {
  Message message = route();
  nlattr* ways = mnl_attr_nest_start(message.raw(), RTA_MULTIPATH);
  auto* way = static_cast<rtnexthop*>(mnl_nlmsg_get_payload_tail(message.raw()));
  message.raw()->nlmsg_len += sizeof *way;
  way->rtnh_ifindex = 5;
  message.address(RTA_GATEWAY, "10.10.1.2");
  way->rtnh_len = sizeof *way + 8;
  mnl_attr_nest_end(message.raw(), ways);
  const auto read = std::get<Route>(message.event());
  EXPECT_EQ(read.index, 5);
  EXPECT_EQ(read.gateway.text(), "10.10.1.2");
}

Message route6(const char* prefix, std::uint8_t length) {
  Message message(RTM_NEWROUTE, rtmsg{.rtm_family = AF_INET6,
                                      .rtm_dst_len = length,
                                      .rtm_table = RT_TABLE_MAIN,
                                      .rtm_type = RTN_UNICAST});
  if (prefix != nullptr) message.address(RTA_DST, prefix);
  message.number(RTA_OIF, 4);
  return message;
}

TEST(NetlinkTest, ReadsARouteOfIpv6WithALinkLocalGateway) {
  Message message = route6("2001:db8:9::", 48);
  message.address(RTA_GATEWAY, "fe80::1").number(RTA_PRIORITY, 1024);
  const auto read = std::get<Route>(message.event());
  EXPECT_EQ(read.prefix.text(), "2001:db8:9::");
  EXPECT_EQ(read.length, 48U);
  EXPECT_EQ(read.gateway.text(), "fe80::1");
  EXPECT_EQ(read.metric, 1024U);
}

TEST(NetlinkTest, ADefaultRouteHasItsFamily) {
  Message ipv4(RTM_NEWROUTE,
               rtmsg{.rtm_family = AF_INET, .rtm_table = RT_TABLE_MAIN, .rtm_type = RTN_UNICAST});
  ipv4.number(RTA_OIF, 4).address(RTA_GATEWAY, "10.10.1.1");
  EXPECT_TRUE(std::get<Route>(ipv4.event()).prefix.is_v4());
  EXPECT_FALSE(std::get<Route>(route6(nullptr, 0).event()).prefix.is_v4());
}

TEST(NetlinkTest, ReadsAnAddressOfIpv6) {
  Message message(RTM_NEWADDR, ifaddrmsg{.ifa_family = AF_INET6, .ifa_index = 3});
  message.address(IFA_ADDRESS, "2001:db8:1::5");
  EXPECT_EQ(std::get<Address>(message.event()).address.text(), "2001:db8:1::5");
}

TEST(NetlinkTest, ReadsANeighbourOfIpv6ButNoMulticast) {
  const auto neighbour6 = [](const char* address) {
    Message message(RTM_NEWNEIGH, ndmsg{.ndm_family = AF_INET6, .ndm_ifindex = 3, .ndm_state = NUD_NOARP});
    message.address(NDA_DST, address).mac(NDA_LLADDR);
    return message.event();
  };
  EXPECT_EQ(std::get<Neighbour>(neighbour6("fe80::1")).address.text(), "fe80::1");
  EXPECT_TRUE(std::holds_alternative<Ignored>(neighbour6("ff02::2")));
}

TEST(NetlinkTest, NoPacketTakesARouteToLinkLocalOrMulticastAddresses) {
  EXPECT_TRUE(std::holds_alternative<Ignored>(route6("fe80::", 64).event()));
  EXPECT_TRUE(std::holds_alternative<Ignored>(route6("ff00::", 8).event()));
}

TEST(NetlinkTest, IgnoresOtherTablesKindsAndFamilies) {
  EXPECT_TRUE(std::holds_alternative<Ignored>(route().number(RTA_OIF, 4).number(RTA_TABLE, 100).event()));
  EXPECT_TRUE(std::holds_alternative<Ignored>(route(RTN_LOCAL).number(RTA_OIF, 4).event()));
  EXPECT_TRUE(std::holds_alternative<Ignored>(route().event())) << "no way out";
  EXPECT_TRUE(
      std::holds_alternative<Ignored>(Message(RTM_NEWADDR, ifaddrmsg{.ifa_family = AF_DECnet}).event()));
  EXPECT_TRUE(std::holds_alternative<Ignored>(Message(RTM_NEWRULE, rtmsg{.rtm_family = AF_INET}).event()));
}

TEST(NetlinkTest, MessagesTooShortForTheirKindAreIgnored) {
  Message message = neighbour(RTM_NEWNEIGH, NUD_REACHABLE);
  for (std::uint32_t length = NLMSG_HDRLEN; length < NLMSG_HDRLEN + sizeof(ndmsg) + 8; ++length) {
    message.raw()->nlmsg_len = length;
    EXPECT_TRUE(std::holds_alternative<Ignored>(message.event())) << length;
  }
}

}  // namespace
}  // namespace headgate::shell::netlink
