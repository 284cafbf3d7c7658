// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/neighbours.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <netinet/icmp6.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>

#include "controlplane/kernel/inquiry.h"
#include "controlplane/probe/neighbour_packet.h"
#include "controlplane/probe/words.h"

namespace headgate::probe {

namespace asio = boost::asio;

namespace {

constexpr int kWholeWay = 255;  // the hop limit of what no router has forwarded (RFC 4861, 7.1)

/// The socket of one family.
struct Channel {
  asio::posix::stream_descriptor socket;
  int open_error = 0;
};

/// Of ARP only replies: a network's requests would wake us for nothing.
int open_arp() {
  sock_filter replies[] = {{BPF_LD | BPF_H | BPF_ABS, 0, 0, 6},  // the operation
                           {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 2},
                           {BPF_RET | BPF_K, 0, 0, 64},
                           {BPF_RET | BPF_K, 0, 0, 0}};
  const sock_fprog program{std::size(replies), replies};
  const int socket = ::socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, htons(ETH_P_ARP));
  if (socket >= 0) setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
  return socket;
}

int open_discovery() {
  const int socket = ::socket(AF_INET6, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_ICMPV6);
  if (socket < 0) return socket;
  icmp6_filter filter;
  ICMP6_FILTER_SETBLOCKALL(&filter);
  ICMP6_FILTER_SETPASS(ND_NEIGHBOR_ADVERT, &filter);
  setsockopt(socket, IPPROTO_ICMPV6, ICMP6_FILTER, &filter, sizeof filter);
  const int on = 1;
  setsockopt(socket, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, &kWholeWay, sizeof kWholeWay);
  setsockopt(socket, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, &on, sizeof on);
  setsockopt(socket, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof on);
  return socket;
}

/// Who is asked, and by whom.
struct Question {
  Ip wanted;
  Asker asker;
  int interface = 0;
};

int send_arp(int socket, const Question& question) {
  const auto packet = arp_request(question.asker, question.wanted);
  sockaddr_ll to{};
  to.sll_family = AF_PACKET;
  to.sll_protocol = htons(ETH_P_ARP);
  to.sll_ifindex = question.interface;
  to.sll_halen = ETH_ALEN;
  std::memset(to.sll_addr, 0xff, ETH_ALEN);
  const auto sent =
      sendto(socket, packet.data(), packet.size(), 0, reinterpret_cast<const sockaddr*>(&to), sizeof to);
  return sent < 0 ? errno : 0;
}

/// What goes with an ICMPv6 message: where it leaves, or came in, and its hop limit.
using Control = std::array<char, CMSG_SPACE(sizeof(in6_pktinfo)) + CMSG_SPACE(sizeof(int))>;

int send_solicitation(int socket, const Question& question) {
  auto message = solicitation(question.asker, question.wanted);
  iovec data{message.data(), message.size()};
  sockaddr_in6 to{};
  to.sin6_family = AF_INET6;
  const Ip group = solicited_node(question.wanted);
  std::memcpy(&to.sin6_addr, group.octets.data(), group.octets.size());
  alignas(cmsghdr) Control control{};
  msghdr header{};
  header.msg_name = &to;
  header.msg_namelen = sizeof to;
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = CMSG_SPACE(sizeof(in6_pktinfo));
  cmsghdr* first = CMSG_FIRSTHDR(&header);
  first->cmsg_level = IPPROTO_IPV6;
  first->cmsg_type = IPV6_PKTINFO;
  first->cmsg_len = CMSG_LEN(sizeof(in6_pktinfo));
  in6_pktinfo way{};
  std::memcpy(&way.ipi6_addr, question.asker.address.octets.data(), sizeof way.ipi6_addr);
  way.ipi6_ifindex = static_cast<unsigned>(question.interface);
  std::memcpy(CMSG_DATA(first), &way, sizeof way);
  return sendmsg(socket, &header, 0) < 0 ? errno : 0;
}

/// An answer, and where it came in.
struct Answer {
  Ip from;
  Asker to;  ///< of ARP
  int interface = 0;
};

enum class Reading : std::uint8_t { nothing, something, over };

Reading read_arp(int socket, Answer& answer) {
  std::array<std::uint8_t, 64> packet;
  sockaddr_ll from{};
  socklen_t size = sizeof from;
  const auto length =
      recvfrom(socket, packet.data(), packet.size(), 0, reinterpret_cast<sockaddr*>(&from), &size);
  if (length < 0) return errno == EAGAIN ? Reading::over : Reading::nothing;
  const auto reply = read_arp_reply({packet.data(), static_cast<std::size_t>(length)});
  if (!reply) return Reading::nothing;
  answer = {reply->from, reply->to, from.sll_ifindex};
  return Reading::something;
}

Reading read_discovery(int socket, Answer& answer) {
  std::array<std::uint8_t, 128> message;
  iovec data{message.data(), message.size()};
  alignas(cmsghdr) Control control{};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  const auto length = recvmsg(socket, &header, 0);
  if (length < 0) return errno == EAGAIN ? Reading::over : Reading::nothing;
  int hops = 0;
  in6_pktinfo way{};
  for (cmsghdr* one = CMSG_FIRSTHDR(&header); one != nullptr; one = CMSG_NXTHDR(&header, one)) {
    if (one->cmsg_level != IPPROTO_IPV6) continue;
    if (one->cmsg_type == IPV6_HOPLIMIT) std::memcpy(&hops, CMSG_DATA(one), sizeof hops);
    if (one->cmsg_type == IPV6_PKTINFO) std::memcpy(&way, CMSG_DATA(one), sizeof way);
  }
  const auto from = read_advertisement({message.data(), static_cast<std::size_t>(length)});
  if (!from || hops != kWholeWay) return Reading::nothing;
  answer = {*from, {}, static_cast<int>(way.ipi6_ifindex)};
  return Reading::something;
}

}  // namespace

struct Neighbours::Impl : std::enable_shared_from_this<Impl> {
  struct Pending {
    Question question;
    std::chrono::steady_clock::time_point started;
    Prober::OnResult on_result;
  };

  explicit Impl(asio::io_context& io)
      : context(io), ipv4{asio::posix::stream_descriptor(io)}, ipv6{asio::posix::stream_descriptor(io)} {}

  /// With the first probe: who checks no neighbours has no such sockets. What could not be opened may be
  /// later.
  void open() {
    if (!ipv4.socket.is_open()) open(ipv4, open_arp());
    if (!ipv6.socket.is_open()) open(ipv6, open_discovery());
  }

  void open(Channel& channel, int socket) {
    channel.open_error = socket < 0 ? errno : 0;
    if (socket < 0) return;
    channel.socket.assign(socket);
    listen(channel);
  }

  void listen(Channel& channel) {
    channel.socket.async_wait(asio::posix::stream_descriptor::wait_read,
                              [self = shared_from_this(), &channel](const boost::system::error_code& error) {
                                if (error || !channel.socket.is_open()) return;
                                self->read_all(channel);
                                if (channel.socket.is_open()) self->listen(channel);
                              });
  }

  void read_all(Channel& channel) {
    constexpr int kAtOnce = 256;  // others have their turn, however many answers come
    Reading read = Reading::nothing;
    for (int i = 0; i < kAtOnce && read != Reading::over && channel.socket.is_open(); ++i) {
      Answer answer;
      const int socket = channel.socket.native_handle();
      read = &channel == &ipv4 ? read_arp(socket, answer) : read_discovery(socket, answer);
      if (read == Reading::something) settle(answer);
    }
  }

  /// All that wait for this neighbour.
  void settle(const Answer& answer) {
    std::vector<Id> answered;
    for (auto found = pending.lower_bound({answer.from, 0});
         found != pending.end() && found->first.address == answer.from; ++found) {
      const Question& question = found->second.question;
      const bool to_us = !answer.from.is_v4() || answer.to == question.asker;
      if (to_us && answer.interface == question.interface) answered.push_back(found->first);
    }
    for (const Id& id : answered) {
      const auto found = pending.find(id);  // a result may have cancelled another
      if (found == pending.end()) continue;
      const auto took = std::chrono::duration_cast<std::chrono::microseconds>(
          std::chrono::steady_clock::now() - found->second.started);
      finish(id, {.passed = true, .heard = true, .reason = answered_in(took), .took = took});
    }
  }

  void finish(const Id& id, const Result& result) {
    const auto found = pending.find(id);
    if (found == pending.end()) return;
    const auto on_result = std::move(found->second.on_result);
    pending.erase(found);
    on_result(result);
  }

  void fail_later(const Id& id, Result result) {
    asio::post(context,
               [self = shared_from_this(), id, result = std::move(result)] { self->finish(id, result); });
  }

  /// Fills in by which way a neighbour is asked; else why it can't be.
  std::optional<Result> prepare(Question& question) {
    const kernel::Way way = inquiry.way_to(question.wanted);
    if (own_fault(way.error)) return Result{.unasked = true, .reason = words_of(way.error)};
    if (way.error != 0 || !way.connected || way.source.none())
      return Result{.reason = "not on a connected network"};
    const kernel::Interface interface = inquiry.interface_of(way.interface);
    if (!interface.resolves || interface.mac.none()) return Result{.reason = "its interface has no ARP"};
    question.asker = {way.source, interface.mac};
    question.interface = way.interface;
    return std::nullopt;
  }

  void ask(const Id& id) {
    Question& question = pending.at(id).question;
    if (auto problem = prepare(question)) return fail_later(id, std::move(*problem));
    Channel& channel = question.wanted.is_v4() ? ipv4 : ipv6;
    int error = channel.open_error;
    if (error == 0)
      error = question.wanted.is_v4() ? send_arp(channel.socket.native_handle(), question)
                                      : send_solicitation(channel.socket.native_handle(), question);
    if (error != 0) fail_later(id, {.unasked = own_fault(error), .reason = words_of(error)});
  }

  asio::io_context& context;
  Channel ipv4, ipv6;
  kernel::Inquiry inquiry;
  std::uint64_t last = 0;
  std::map<Id, Pending> pending;
};

Neighbours::Neighbours(asio::io_context& context) : impl_(std::make_shared<Impl>(context)) {}

Neighbours::~Neighbours() {
  impl_->pending.clear();
  boost::system::error_code ignored;
  impl_->ipv4.socket.close(ignored);
  impl_->ipv6.socket.close(ignored);
}

Neighbours::Id Neighbours::start(const Ip& address, Prober::OnResult on_result) {
  impl_->open();
  const Id id{address, ++impl_->last};
  impl_->pending.emplace(
      id, Impl::Pending{{.wanted = address}, std::chrono::steady_clock::now(), std::move(on_result)});
  impl_->ask(id);
  return id;
}

void Neighbours::cancel(const Id& id) {
  impl_->pending.erase(id);
}

}  // namespace headgate::probe
