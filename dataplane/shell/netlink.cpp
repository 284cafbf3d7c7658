// SPDX-License-Identifier: Apache-2.0
#include "dataplane/shell/netlink.h"

#include <libmnl/libmnl.h>
#include <linux/if.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include <array>
#include <cstring>

namespace headgate::shell::netlink {
namespace {

constexpr std::size_t kMostAttributes = 64;

Ip address_in(const nlattr* attribute) noexcept {
  return ip_of(
      {static_cast<const char*>(mnl_attr_get_payload(attribute)), mnl_attr_get_payload_len(attribute)});
}

bool is_ip(unsigned char family) noexcept {
  return family == AF_INET || family == AF_INET6;
}
bool is_multicast6(const Ip& address) noexcept {
  return address.octets[0] == 0xff;
}
bool is_link_local6(const Ip& address) noexcept {
  return address.octets[0] == 0xfe && (address.octets[1] & 0xc0) == 0x80;
}

/// The attributes of a message by type; the last of each.
class Attributes {
 public:
  Attributes(const nlmsghdr* message, std::size_t header) {
    if (message->nlmsg_len < MNL_NLMSG_HDRLEN + MNL_ALIGN(header)) return;
    const auto* attribute = static_cast<const nlattr*>(mnl_nlmsg_get_payload_offset(message, header));
    const auto* end = reinterpret_cast<const char*>(message) + message->nlmsg_len;
    while (mnl_attr_ok(attribute, static_cast<int>(end - reinterpret_cast<const char*>(attribute)))) {
      const unsigned type = mnl_attr_get_type(attribute);
      if (type < kMostAttributes) by_type_[type] = attribute;
      attribute = mnl_attr_next(attribute);
    }
  }

  [[nodiscard]] bool has(unsigned type) const noexcept { return by_type_[type] != nullptr; }

  /// Whether it was there with exactly this size; copied into `out` if so.
  template <class T>
  [[nodiscard]] bool read(unsigned type, T& out) const noexcept {
    const nlattr* attribute = by_type_[type];
    if (attribute == nullptr || mnl_attr_get_payload_len(attribute) != sizeof out) return false;
    std::memcpy(&out, mnl_attr_get_payload(attribute), sizeof out);
    return true;
  }
  /// None when it is missing, or no address.
  [[nodiscard]] Ip address(unsigned type) const noexcept {
    const nlattr* attribute = by_type_[type];
    return attribute == nullptr ? Ip{} : address_in(attribute);
  }
  [[nodiscard]] std::uint32_t number(unsigned type) const noexcept {
    std::uint32_t value = 0;
    return read(type, value) ? value : 0;
  }
  [[nodiscard]] const nlattr* raw(unsigned type) const noexcept { return by_type_[type]; }

 private:
  std::array<const nlattr*, kMostAttributes> by_type_{};
};

/// The fixed part of a message; null when the message is too short for it.
template <class Header>
const Header* fixed(const nlmsghdr* message) noexcept {
  if (message->nlmsg_len < MNL_NLMSG_HDRLEN + sizeof(Header)) return nullptr;
  return static_cast<const Header*>(mnl_nlmsg_get_payload(message));
}

Event link(const nlmsghdr* message, Change change) {
  const auto* header = fixed<ifinfomsg>(message);
  if (header == nullptr || header->ifi_family != AF_UNSPEC) return Ignored{};
  const Attributes attributes(message, sizeof *header);
  Link link{.change = change, .index = header->ifi_index};
  const nlattr* name = attributes.raw(IFLA_IFNAME);
  if (name == nullptr) return Ignored{};
  const auto* text = static_cast<const char*>(mnl_attr_get_payload(name));
  link.name.assign(text, strnlen(text, mnl_attr_get_payload_len(name)));
  static_cast<void>(attributes.read(IFLA_ADDRESS, link.mac.octets));
  link.mtu = attributes.number(IFLA_MTU);
  link.up = (header->ifi_flags & IFF_UP) != 0 && (header->ifi_flags & IFF_LOWER_UP) != 0;
  return link;
}

Event address(const nlmsghdr* message, Change change) {
  const auto* header = fixed<ifaddrmsg>(message);
  if (header == nullptr || !is_ip(header->ifa_family)) return Ignored{};
  const Attributes attributes(message, sizeof *header);
  // IFA_LOCAL is ours; on a point-to-point link IFA_ADDRESS is the other end's.
  const Ip local =
      attributes.has(IFA_LOCAL) ? attributes.address(IFA_LOCAL) : attributes.address(IFA_ADDRESS);
  if (local.none()) return Ignored{};
  return Address{change, static_cast<int>(header->ifa_index), local};
}

Event neighbour(const nlmsghdr* message, Change change) {
  constexpr unsigned kUsable = NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE | NUD_PERMANENT | NUD_NOARP;
  const auto* header = fixed<ndmsg>(message);
  if (header == nullptr || !is_ip(header->ndm_family)) return Ignored{};
  const Attributes attributes(message, sizeof *header);
  Neighbour neighbour{.change = change, .index = header->ndm_ifindex, .address = attributes.address(NDA_DST)};
  if (neighbour.address.none() || is_multicast6(neighbour.address)) return Ignored{};
  const bool has_mac = attributes.read(NDA_LLADDR, neighbour.mac.octets);
  neighbour.usable = change == Change::present && has_mac && (header->ndm_state & kUsable) != 0;
  neighbour.stale = neighbour.usable && (header->ndm_state & NUD_STALE) != 0;
  return neighbour;
}

/// The first way of a route with several.
void read_first_way(const nlattr* multipath, Route& route) {
  const auto length = mnl_attr_get_payload_len(multipath);
  const auto* way = static_cast<const rtnexthop*>(mnl_attr_get_payload(multipath));
  if (length < sizeof *way || way->rtnh_len < sizeof *way || way->rtnh_len > length) return;
  route.index = way->rtnh_ifindex;
  const auto* attribute = reinterpret_cast<const nlattr*>(way + 1);
  int left = way->rtnh_len - static_cast<int>(sizeof *way);
  while (mnl_attr_ok(attribute, left)) {
    if (mnl_attr_get_type(attribute) == RTA_GATEWAY) route.gateway = address_in(attribute);
    left -= MNL_ALIGN(attribute->nla_len);
    attribute = mnl_attr_next(attribute);
  }
}

Event route(const nlmsghdr* message, Change change) {
  const auto* header = fixed<rtmsg>(message);
  if (header == nullptr || !is_ip(header->rtm_family) || header->rtm_type != RTN_UNICAST) return Ignored{};
  const bool ipv4 = header->rtm_family == AF_INET;
  if ((header->rtm_flags & RTM_F_CLONED) != 0 || header->rtm_dst_len > (ipv4 ? 32 : 128)) return Ignored{};
  const Attributes attributes(message, sizeof *header);
  const std::uint32_t table = attributes.has(RTA_TABLE) ? attributes.number(RTA_TABLE) : header->rtm_table;
  if (table != RT_TABLE_MAIN) return Ignored{};
  Route route{.change = change,
              .index = static_cast<int>(attributes.number(RTA_OIF)),
              .prefix = attributes.address(RTA_DST),
              .length = header->rtm_dst_len,
              .gateway = attributes.address(RTA_GATEWAY),
              .metric = attributes.number(RTA_PRIORITY)};
  if (attributes.has(RTA_MULTIPATH)) read_first_way(attributes.raw(RTA_MULTIPATH), route);
  if (ipv4 && route.prefix.none()) route.prefix = prefix_of(Ipv4{1}, 0);
  if (route.index == 0 || is_multicast6(route.prefix) || is_link_local6(route.prefix)) return Ignored{};
  return route;
}

}  // namespace

Event parse(const nlmsghdr* message) {
  switch (message->nlmsg_type) {
    case RTM_NEWLINK:
      return link(message, Change::present);
    case RTM_DELLINK:
      return link(message, Change::gone);
    case RTM_NEWADDR:
      return address(message, Change::present);
    case RTM_DELADDR:
      return address(message, Change::gone);
    case RTM_NEWNEIGH:
      return neighbour(message, Change::present);
    case RTM_DELNEIGH:
      return neighbour(message, Change::gone);
    case RTM_NEWROUTE:
      return route(message, Change::present);
    case RTM_DELROUTE:
      return route(message, Change::gone);
    default:
      return Ignored{};
  }
}

}  // namespace headgate::shell::netlink
