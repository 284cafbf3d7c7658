// SPDX-License-Identifier: Apache-2.0
#include "controlplane/kernel/netlink.h"

#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include <cerrno>
#include <cstring>
#include <functional>

#include <fmt/format.h>

#include "controlplane/kernel/netlink_attributes.h"

namespace headgate::kernel {
namespace {

/// Marks our routes for whoever looks at them; not among the numbers in iproute2's rt_protos.
constexpr unsigned char kRouteProtocol = 177;

using OnMessage = std::function<void(const nlmsghdr*)>;

int deliver(const nlmsghdr* message, void* to) {
  (*static_cast<OnMessage*>(to))(message);
  return MNL_CB_OK;
}

bool is_ip(unsigned char family) {
  return family == AF_INET || family == AF_INET6;
}

class Socket final : public Netlink {
 public:
  explicit Socket(mnl_socket* socket) : socket_(socket) {}
  ~Socket() override { mnl_socket_close(socket_); }

  Result<std::map<std::string, LinkInfo>> links() override {
    std::map<std::string, LinkInfo> result;
    const auto read = [&](const nlmsghdr* message) {
      const auto* info = static_cast<const ifinfomsg*>(mnl_nlmsg_get_payload(message));
      const Attributes all = attributes(message, sizeof *info);
      if (const nlattr* name = find(all, IFLA_IFNAME); name != nullptr)
        result[mnl_attr_get_str(name)] = {info->ifi_index, (info->ifi_flags & IFF_UP) != 0,
                                          mac(find(all, IFLA_ADDRESS))};
    };
    if (const int error = dump<ifinfomsg>(RTM_GETLINK, read)) return failure("list interfaces", error);
    return result;
  }

  Result<Placed> placed() override {
    Placed result;
    const auto read_address = [&](const nlmsghdr* message) {
      const auto* info = static_cast<const ifaddrmsg*>(mnl_nlmsg_get_payload(message));
      char name[IF_NAMESIZE] = {};
      if (if_indextoname(info->ifa_index, name) == nullptr) return;
      const Attributes all = attributes(message, sizeof *info);
      // IFA_LOCAL is missing in IPv6, but on a point-to-point link.
      const nlattr* own = find(all, IFA_LOCAL);
      const Ip local = address(own != nullptr ? own : find(all, IFA_ADDRESS));
      if (is_ip(info->ifa_family) && !local.none())
        result.addresses.insert({name, local, info->ifa_prefixlen});
    };
    const auto read_route = [&](const nlmsghdr* message) {
      const auto* info = static_cast<const rtmsg*>(mnl_nlmsg_get_payload(message));
      const Attributes all = attributes(message, sizeof *info);
      const Ip gateway = address(find(all, RTA_GATEWAY));
      if (!is_ip(info->rtm_family) || info->rtm_table != RT_TABLE_MAIN || info->rtm_type != RTN_UNICAST)
        return;
      const Ip destination = address(find(all, RTA_DST));
      const nlattr* out = find(all, RTA_OIF);
      char name[IF_NAMESIZE] = {};
      if (!gateway.none())
        result.routes.insert({destination, info->rtm_dst_len, gateway});
      else if (out != nullptr && if_indextoname(mnl_attr_get_u32(out), name) != nullptr)
        result.subnets.insert({name, destination, info->rtm_dst_len});
    };
    if (const int error = dump<ifaddrmsg>(RTM_GETADDR, read_address)) return failure("list addresses", error);
    if (const int error = dump<rtmsg>(RTM_GETROUTE, read_route)) return failure("list routes", error);
    return result;
  }

  Result<std::map<Ip, Mac>> neighbours() override {
    std::map<Ip, Mac> result;
    const auto read = [&](const nlmsghdr* message) {
      const auto* info = static_cast<const ndmsg*>(mnl_nlmsg_get_payload(message));
      const Attributes all = attributes(message, sizeof *info);
      if (is_ip(info->ndm_family) && (info->ndm_state & (NUD_FAILED | NUD_INCOMPLETE)) == 0)
        result[address(find(all, NDA_DST))] = mac(find(all, NDA_LLADDR));
    };
    if (const int error = dump<ndmsg>(RTM_GETNEIGH, read)) return failure("list neighbours", error);
    return result;
  }

  Status set_up(int index) override {
    nlmsghdr* message = begin(RTM_NEWLINK, NLM_F_ACK);
    auto* info = static_cast<ifinfomsg*>(mnl_nlmsg_put_extra_header(message, sizeof(ifinfomsg)));
    info->ifi_index = index;
    info->ifi_change = IFF_UP;
    info->ifi_flags = IFF_UP;
    return finish(message, "bring the interface up", 0);
  }

  Status add(const PlacedAddress& what, int index, const Ip& broadcast) override {
    nlmsghdr* message = address_message(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, what, index);
    if (!broadcast.none()) put(message, IFA_BROADCAST, broadcast);
    if (!what.address.is_v4()) put_ipv6_rules(message, what.prefix == what.address.bits());
    return finish(message,
                  fmt::format("add address {}/{} on {}", what.address.text(), what.prefix, what.device),
                  EEXIST);
  }

  Status remove(const PlacedAddress& what, int index) override {
    nlmsghdr* message = address_message(RTM_DELADDR, 0, what, index);
    return finish(message,
                  fmt::format("remove address {}/{} from {}", what.address.text(), what.prefix, what.device),
                  EADDRNOTAVAIL);
  }

  Status add_subnet(const PlacedAddress& what, int index) override {
    constexpr std::uint32_t kMetric6 = 256;
    const Ip subnet = prefix_of(what.address, what.prefix);
    // Not exclusive: all interfaces have the same link-local subnet.
    nlmsghdr* message = begin(RTM_NEWROUTE, NLM_F_ACK | NLM_F_CREATE);
    auto* info = static_cast<rtmsg*>(mnl_nlmsg_put_extra_header(message, sizeof(rtmsg)));
    info->rtm_family = family_of(subnet);
    info->rtm_dst_len = static_cast<unsigned char>(what.prefix);
    info->rtm_table = RT_TABLE_MAIN;
    info->rtm_protocol = RTPROT_KERNEL;
    info->rtm_scope = subnet.is_v4() ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE;
    info->rtm_type = RTN_UNICAST;
    put(message, RTA_DST, subnet);
    mnl_attr_put_u32(message, RTA_OIF, static_cast<std::uint32_t>(index));
    if (subnet.is_v4()) put(message, RTA_PREFSRC, what.address);
    if (!subnet.is_v4()) mnl_attr_put_u32(message, RTA_PRIORITY, kMetric6);
    return finish(message, fmt::format("add subnet {}/{} on {}", subnet.text(), what.prefix, what.device),
                  EEXIST);
  }

  Status add(const Route& route) override {
    nlmsghdr* message = route_message(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, route);
    return finish(message, fmt::format("add route {} via {}", route.network(), route.gateway.text()), 0);
  }

  Status remove(const Route& route) override {
    nlmsghdr* message = route_message(RTM_DELROUTE, 0, route);
    return finish(message, fmt::format("remove route {} via {}", route.network(), route.gateway.text()),
                  ESRCH);
  }

 private:
  static Error failure(std::string_view what, int error) {
    return {fmt::format("can't {}: {}", what, std::strerror(error))};
  }

  nlmsghdr* begin(std::uint16_t type, unsigned flags) {
    nlmsghdr* message = mnl_nlmsg_put_header(request_);
    message->nlmsg_type = type;
    message->nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
    message->nlmsg_seq = ++sequence_;
    return message;
  }

  nlmsghdr* address_message(std::uint16_t type, unsigned flags, const PlacedAddress& what, int index) {
    nlmsghdr* message = begin(type, NLM_F_ACK | flags);
    auto* info = static_cast<ifaddrmsg*>(mnl_nlmsg_put_extra_header(message, sizeof(ifaddrmsg)));
    info->ifa_family = family_of(what.address);
    info->ifa_prefixlen = static_cast<unsigned char>(what.prefix);
    info->ifa_index = static_cast<unsigned>(index);
    put(message, IFA_LOCAL, what.address);
    put(message, IFA_ADDRESS, what.address);
    return message;
  }

  /// No detection of duplicates: it would keep an address unusable for a second and more after an apply, and
  /// two units that take a VIP over from each other know of each other otherwise. A VIP's preferred time is
  /// over, so that the kernel does not take it as the source of probes (RFC 6724, rule 3), and it makes no
  /// route.
  static void put_ipv6_rules(nlmsghdr* message, bool vip) {
    mnl_attr_put_u32(message, IFA_FLAGS, IFA_F_NODAD | (vip ? IFA_F_NOPREFIXROUTE : 0u));
    if (!vip) return;
    ifa_cacheinfo times{};
    times.ifa_valid = ~0u;
    mnl_attr_put(message, IFA_CACHEINFO, sizeof times, &times);
  }

  nlmsghdr* route_message(std::uint16_t type, unsigned flags, const Route& route) {
    nlmsghdr* message = begin(type, NLM_F_ACK | flags);
    auto* info = static_cast<rtmsg*>(mnl_nlmsg_put_extra_header(message, sizeof(rtmsg)));
    info->rtm_family = family_of(route.gateway);
    info->rtm_dst_len = static_cast<unsigned char>(route.prefix);
    info->rtm_table = RT_TABLE_MAIN;
    info->rtm_protocol = kRouteProtocol;
    info->rtm_scope = RT_SCOPE_UNIVERSE;
    info->rtm_type = RTN_UNICAST;
    if (route.prefix != 0) put(message, RTA_DST, route.destination);
    put(message, RTA_GATEWAY, route.gateway);
    return message;
  }

  template <class Header>
  int dump(std::uint16_t type, OnMessage on_message) {
    nlmsghdr* message = begin(type, NLM_F_DUMP);
    mnl_nlmsg_put_extra_header(message, sizeof(Header));
    return talk(message, std::move(on_message));
  }

  /// 0, or the errno of what failed.
  int talk(const nlmsghdr* message, OnMessage on_message) {
    if (mnl_socket_sendto(socket_, message, message->nlmsg_len) < 0) return errno;
    int outcome = MNL_CB_OK;
    while (outcome > MNL_CB_STOP) {
      const auto length = mnl_socket_recvfrom(socket_, answer_, sizeof answer_);
      if (length < 0) return errno;
      outcome = mnl_cb_run(answer_, static_cast<std::size_t>(length), sequence_,
                           mnl_socket_get_portid(socket_), deliver, &on_message);
    }
    return outcome < 0 ? errno : 0;
  }

  Status finish(const nlmsghdr* message, std::string_view what, int harmless) {
    const int error = talk(message, [](const nlmsghdr*) {});
    if (error == 0 || error == harmless) return Done{};
    return failure(what, error);
  }

  mnl_socket* socket_;
  unsigned sequence_ = 0;
  alignas(nlmsghdr) char request_[1024];
  alignas(nlmsghdr) char answer_[64 * 1024];
};

}  // namespace

Result<std::unique_ptr<Netlink>> Netlink::open() {
  mnl_socket* socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
  if (socket == nullptr) return Error{fmt::format("can't open a netlink socket: {}", std::strerror(errno))};
  if (mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) < 0) {
    mnl_socket_close(socket);
    return Error{fmt::format("can't bind a netlink socket: {}", std::strerror(errno))};
  }
  return std::unique_ptr<Netlink>(std::make_unique<Socket>(socket));
}

}  // namespace headgate::kernel
