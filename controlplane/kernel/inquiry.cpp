// SPDX-License-Identifier: Apache-2.0
#include "controlplane/kernel/inquiry.h"

#include <linux/rtnetlink.h>
#include <net/if.h>

#include <cerrno>

#include "controlplane/kernel/netlink_attributes.h"

namespace headgate::kernel {

/// A netlink socket: one request, one answer.
class Inquiry::Talk {
 public:
  Talk() : socket_(mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC)) {
    if (socket_ != nullptr && mnl_socket_bind(socket_, 0, MNL_SOCKET_AUTOPID) < 0) close();
  }
  ~Talk() { close(); }
  Talk(const Talk&) = delete;
  Talk& operator=(const Talk&) = delete;

  nlmsghdr* request(std::uint16_t type) {
    nlmsghdr* message = mnl_nlmsg_put_header(buffer_);
    message->nlmsg_type = type;
    message->nlmsg_flags = NLM_F_REQUEST;
    message->nlmsg_seq = ++sequence_;
    return message;
  }

  /// The answer, good till the next request; null with errno when there is none.
  const nlmsghdr* ask(const nlmsghdr* message) {
    if (socket_ == nullptr) {
      errno = EMFILE;
      return nullptr;
    }
    if (mnl_socket_sendto(socket_, message, message->nlmsg_len) < 0) return nullptr;
    const auto length = mnl_socket_recvfrom(socket_, buffer_, sizeof buffer_);
    if (length < 0) return nullptr;
    const nlmsghdr* answer = nullptr;
    const auto keep = [](const nlmsghdr* found, void* to) {
      *static_cast<const nlmsghdr**>(to) = found;
      return MNL_CB_OK;
    };
    const int outcome = mnl_cb_run(buffer_, static_cast<std::size_t>(length), sequence_,
                                   mnl_socket_get_portid(socket_), keep, &answer);
    if (outcome >= 0 && answer == nullptr) errno = ENODATA;
    return outcome < 0 ? nullptr : answer;
  }

 private:
  void close() {
    if (socket_ != nullptr) mnl_socket_close(socket_);
    socket_ = nullptr;
  }

  mnl_socket* socket_;
  unsigned sequence_ = 0;
  alignas(nlmsghdr) char buffer_[16 * 1024];
};

namespace {

Interface read_interface(const nlmsghdr* answer) {
  if (answer == nullptr) return {.error = errno};
  const auto* info = static_cast<const ifinfomsg*>(mnl_nlmsg_get_payload(answer));
  const bool running = (info->ifi_flags & IFF_UP) != 0 && (info->ifi_flags & IFF_RUNNING) != 0;
  return {.running = running,
          .resolves = (info->ifi_flags & (IFF_NOARP | IFF_LOOPBACK)) == 0,
          .mac = mac(find(attributes(answer, sizeof *info), IFLA_ADDRESS))};
}

}  // namespace

Inquiry::Inquiry() : talk_(std::make_unique<Talk>()) {}
Inquiry::~Inquiry() = default;

Way Inquiry::way_to(const Ip& to) {
  nlmsghdr* message = talk_->request(RTM_GETROUTE);
  auto* asked = static_cast<rtmsg*>(mnl_nlmsg_put_extra_header(message, sizeof(rtmsg)));
  asked->rtm_family = family_of(to);
  asked->rtm_dst_len = static_cast<unsigned char>(to.bits());
  put(message, RTA_DST, to);
  const nlmsghdr* answer = talk_->ask(message);
  if (answer == nullptr) return {.error = errno};
  const auto* info = static_cast<const rtmsg*>(mnl_nlmsg_get_payload(answer));
  const Attributes all = attributes(answer, sizeof *info);
  const nlattr* interface = find(all, RTA_OIF);
  const bool gateway = find(all, RTA_GATEWAY) != nullptr || find(all, RTA_VIA) != nullptr;
  return {.interface = interface == nullptr ? 0 : static_cast<int>(mnl_attr_get_u32(interface)),
          .source = address(find(all, RTA_PREFSRC)),
          .connected = info->rtm_type == RTN_UNICAST && !gateway};
}

Interface Inquiry::interface_of(const std::string& name) {
  nlmsghdr* message = talk_->request(RTM_GETLINK);
  mnl_nlmsg_put_extra_header(message, sizeof(ifinfomsg));
  mnl_attr_put_strz(message, IFLA_IFNAME, name.substr(0, IF_NAMESIZE - 1).c_str());
  return read_interface(talk_->ask(message));
}

Interface Inquiry::interface_of(int index) {
  nlmsghdr* message = talk_->request(RTM_GETLINK);
  auto* asked = static_cast<ifinfomsg*>(mnl_nlmsg_put_extra_header(message, sizeof(ifinfomsg)));
  asked->ifi_index = index;
  return read_interface(talk_->ask(message));
}

}  // namespace headgate::kernel
