// SPDX-License-Identifier: Apache-2.0
#include "dataplane/shell/kernel_mirror.h"

#include <libmnl/libmnl.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace headgate::shell {
namespace {

constexpr std::size_t kReceiveBuffer = 65536;
constexpr int kSocketBuffer = 4 << 20;
constexpr int kMostTries = 16;

Error failure(std::string_view what) {
  return {fmt::format("netlink: {}: {}", what, std::strerror(errno))};
}

void drain(int fd) {
  char byte = 0;
  while (recv(fd, &byte, sizeof byte, MSG_DONTWAIT) > 0) {
  }
}

}  // namespace

void KernelMirror::Close::operator()(mnl_socket* socket) const noexcept {
  mnl_socket_close(socket);
}

int KernelMirror::fd() const noexcept {
  return mnl_socket_get_fd(events_.get());
}

Status KernelMirror::open() {
  events_.reset(mnl_socket_open2(NETLINK_ROUTE, SOCK_NONBLOCK | SOCK_CLOEXEC));
  requests_.reset(mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC));
  constexpr unsigned kGroups = RTMGRP_LINK | RTMGRP_NEIGH | RTMGRP_IPV4_IFADDR | RTMGRP_IPV4_ROUTE |
                               RTMGRP_IPV6_IFADDR | RTMGRP_IPV6_ROUTE;
  if (!events_ || !requests_ || mnl_socket_bind(events_.get(), kGroups, MNL_SOCKET_AUTOPID) < 0 ||
      mnl_socket_bind(requests_.get(), 0, MNL_SOCKET_AUTOPID) < 0) {
    return failure("opening");
  }
  setsockopt(fd(), SOL_SOCKET, SO_RCVBUFFORCE, &kSocketBuffer, sizeof kSocketBuffer);  // best effort
  return resync();
}

Status KernelMirror::resync() {
  all_doubtful_ = true;
  Tables before = std::exchange(known_, {});
  for (const std::uint16_t type : {RTM_GETLINK, RTM_GETADDR, RTM_GETNEIGH, RTM_GETROUTE}) {
    if (auto done = dump(type); !done) {
      known_ = std::move(before);
      return done;
    }
  }
  changes_.links = changes_.addresses = changes_.routes = changes_.all_neighbours = true;
  all_doubtful_ = routes_doubtful_ = false;
  return Done{};
}

Status KernelMirror::reread_routes() {
  std::vector<netlink::Route> before = std::exchange(known_.routes, {});
  if (auto done = dump(RTM_GETROUTE); !done) {
    known_.routes = std::move(before);
    return done;
  }
  changes_.routes = true;
  routes_doubtful_ = false;
  return Done{};
}

Status KernelMirror::dump(std::uint16_t type) {
  if (type == RTM_GETLINK) return dump(type, AF_UNSPEC);
  if (auto done = dump(type, AF_INET); !done) return done;
  return dump(type, AF_INET6);
}

Status KernelMirror::dump(std::uint16_t type, unsigned char family) {
  for (int tries = 0; tries < kMostTries; ++tries) {
    const auto whole = dump_once(type, family);
    if (!whole) return whole.error();
    if (*whole) return Done{};
  }
  return Error{"netlink: a list changes faster than it can be read"};
}

Result<bool> KernelMirror::dump_once(std::uint16_t type, unsigned char family) {
  std::array<char, kReceiveBuffer> buffer{};
  drain(mnl_socket_get_fd(requests_.get()));  // of errors that answered solicit() and take the list's room
  nlmsghdr* request = mnl_nlmsg_put_header(buffer.data());
  request->nlmsg_type = type;
  request->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  request->nlmsg_seq = ++sequence_;
  static_cast<rtgenmsg*>(mnl_nlmsg_put_extra_header(request, sizeof(rtgenmsg)))->rtgen_family = family;
  if (mnl_socket_sendto(requests_.get(), request, request->nlmsg_len) < 0) return failure("asking");

  bool whole = true;
  for (;;) {
    const ssize_t received = mnl_socket_recvfrom(requests_.get(), buffer.data(), buffer.size());
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) return failure("reading a list");
    int left = static_cast<int>(received);
    for (auto* message = reinterpret_cast<const nlmsghdr*>(buffer.data()); mnl_nlmsg_ok(message, left);
         message = mnl_nlmsg_next(message, &left)) {
      if (message->nlmsg_seq != sequence_) continue;
      if (message->nlmsg_type == NLMSG_ERROR) return Error{"netlink: the kernel refuses a list"};
      whole &= (message->nlmsg_flags & NLM_F_DUMP_INTR) == 0;
      if (message->nlmsg_type == NLMSG_DONE) return whole;
      take(message);
    }
  }
}

Status KernelMirror::read() {
  std::array<char, kReceiveBuffer> buffer;
  for (;;) {
    const ssize_t received = mnl_socket_recvfrom(events_.get(), buffer.data(), buffer.size());
    if (received < 0 && errno == EINTR) continue;
    if (received < 0 && errno == EAGAIN) break;
    if (received < 0 && errno == ENOBUFS) {
      // What is queued is older than the list to come; taken after it, it would bring back what is gone.
      drain(fd());
      all_doubtful_ = true;
      continue;
    }
    if (received < 0) return failure("reading");
    int left = static_cast<int>(received);
    for (auto* message = reinterpret_cast<const nlmsghdr*>(buffer.data()); mnl_nlmsg_ok(message, left);
         message = mnl_nlmsg_next(message, &left)) {
      take(message);
    }
  }
  if (all_doubtful_) return resync();
  return routes_doubtful_ ? reread_routes() : Status(Done{});
}

void KernelMirror::take(const nlmsghdr* message) {
  std::visit([this](const auto& event) { apply(event); }, netlink::parse(message));
}

void KernelMirror::apply(const netlink::Link& link) {
  changes_.links = true;
  routes_doubtful_ = true;
  if (link.change == netlink::Change::present) {
    known_.links[link.index] = link;
    return;
  }
  known_.links.erase(link.index);
  std::erase_if(known_.addresses, [&](const auto& entry) { return entry.first == link.index; });
  std::erase_if(known_.neighbours, [&](const auto& entry) { return entry.first.first == link.index; });
  changes_.addresses = changes_.all_neighbours = true;
}

void KernelMirror::apply(const netlink::Address& address) {
  const std::pair key{address.index, address.address};
  const bool changed = address.change == netlink::Change::present ? known_.addresses.insert(key).second
                                                                  : known_.addresses.erase(key) != 0;
  changes_.addresses |= changed;
  routes_doubtful_ |= changed;
}

void KernelMirror::apply(const netlink::Neighbour& neighbour) {
  const NeighbourKey key{neighbour.index, neighbour.address};
  if (neighbour.change == netlink::Change::present) {
    known_.neighbours[key] = neighbour;
  } else {
    known_.neighbours.erase(key);
  }
  changes_.neighbours.insert(key);
}

void KernelMirror::apply(const netlink::Route& route) {
  changes_.routes = true;
  // A route of IPv6 with several ways loses them one by one, each a message of its own.
  const bool one_way_of_several = route.change == netlink::Change::gone && !route.prefix.is_v4();
  routes_doubtful_ = routes_doubtful_ || one_way_of_several;
  const auto same = [&](const netlink::Route& other) {
    return other.prefix == route.prefix && other.length == route.length && other.metric == route.metric;
  };
  const auto found = std::find_if(known_.routes.begin(), known_.routes.end(), same);
  if (route.change == netlink::Change::gone) {
    if (found != known_.routes.end()) known_.routes.erase(found);
  } else if (found != known_.routes.end()) {
    *found = route;
  } else {
    known_.routes.push_back(route);
  }
}

void KernelMirror::solicit(int interface_index, const Ip& address) {
  std::array<char, 256> buffer{};
  nlmsghdr* request = mnl_nlmsg_put_header(buffer.data());
  request->nlmsg_type = RTM_NEWNEIGH;
  request->nlmsg_flags =
      NLM_F_REQUEST | NLM_F_CREATE;  // not acknowledged: the answer is the neighbour's event
  request->nlmsg_seq = ++sequence_;
  auto* entry = static_cast<ndmsg*>(mnl_nlmsg_put_extra_header(request, sizeof(ndmsg)));
  entry->ndm_family = address.is_v4() ? AF_INET : AF_INET6;
  entry->ndm_ifindex = interface_index;
  entry->ndm_flags = NTF_USE;
  entry->ndm_state = NUD_NONE;
  const std::string bytes = address.wire();
  mnl_attr_put(request, NDA_DST, bytes.size(), bytes.data());
  static_cast<void>(mnl_socket_sendto(requests_.get(), request, request->nlmsg_len));  // tried again if lost
}

const netlink::Link* KernelMirror::link(const std::string& name) const {
  const auto found = std::find_if(known_.links.begin(), known_.links.end(),
                                  [&](const auto& l) { return l.second.name == name; });
  return found == known_.links.end() ? nullptr : &found->second;
}

std::set<Ip> KernelMirror::addresses() const {
  std::set<Ip> all;
  for (const auto& [index, address] : known_.addresses) all.insert(address);
  return all;
}

Ip KernelMirror::address_on(int interface_index, bool v6, const std::set<Ip>& others) const {
  for (const auto& [index, known] : known_.addresses) {
    const Ip address = known;
    const bool link_local = v6 && address.octets[0] == 0xfe && (address.octets[1] & 0xc0) == 0x80;
    const bool fits = index == interface_index && address.is_v4() != v6 && !link_local;
    if (fits && !others.contains(address)) return address;
  }
  return {};
}

}  // namespace headgate::shell
