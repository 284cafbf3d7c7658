// SPDX-License-Identifier: Apache-2.0
#include "controlplane/kernel/announce.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>

#include <fmt/format.h>

namespace headgate::kernel {
namespace {

constexpr std::array<std::uint8_t, 6> kBroadcast{0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
constexpr std::array<std::uint8_t, 6> kAllNodes{0x33, 0x33, 0, 0, 0, 1};  // RFC 2464, 7: of ff02::1
constexpr std::array<std::uint8_t, 8> kRequest{0, 1, 8, 0,
                                               6, 4, 0, 1};  // Ethernet, IPv4, their lengths, request

constexpr std::array<std::uint8_t, 16> kAllNodesAddress{0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
constexpr std::size_t kIpv6 = 14;  // where the headers begin
constexpr std::size_t kIcmp = kIpv6 + 40;
constexpr std::uint8_t kIcmpLength = 32;  // header, target, one option

void append(FrameBytes& frame, const auto& bytes) {
  std::copy(bytes.begin(), bytes.end(), std::back_inserter(frame));
}

/// RFC 1071 over the message and its pseudo-header, RFC 8200 8.1.
std::uint16_t icmpv6_checksum(const FrameBytes& frame) {
  std::uint32_t sum = kIcmpLength + static_cast<std::uint32_t>(Protocol::icmp6);
  for (std::size_t at = kIpv6 + 8; at < frame.size(); at += 2)  // from the source address on
    sum += static_cast<std::uint32_t>(frame[at] << 8 | frame[at + 1]);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

}  // namespace

FrameBytes gratuitous_arp(Ipv4 address, Mac mac) {
  FrameBytes frame;
  const auto put = [&frame](const auto& bytes) { append(frame, bytes); };
  const std::array<std::uint8_t, 4> ip{
      static_cast<std::uint8_t>(address.value >> 24), static_cast<std::uint8_t>(address.value >> 16),
      static_cast<std::uint8_t>(address.value >> 8), static_cast<std::uint8_t>(address.value)};
  put(kBroadcast);
  put(mac.octets);
  put(std::array<std::uint8_t, 2>{8, 6});
  put(kRequest);
  put(mac.octets);
  put(ip);
  put(Mac{}.octets);
  put(ip);
  frame.resize(kShortestFrame);
  return frame;
}

FrameBytes unsolicited_advertisement(const Ip& address, Mac mac) {
  FrameBytes frame;
  const auto put = [&frame](const auto& bytes) { append(frame, bytes); };
  const auto icmp = static_cast<std::uint8_t>(Protocol::icmp6);
  put(kAllNodes);
  put(mac.octets);
  put(std::array<std::uint8_t, 2>{0x86, 0xdd});
  put(std::array<std::uint8_t, 8>{0x60, 0, 0, 0, 0, kIcmpLength, icmp, 255});
  put(address.octets);
  put(kAllNodesAddress);
  put(std::array<std::uint8_t, 8>{136, 0, 0, 0, 0x20, 0, 0, 0});  // advertisement; override
  put(address.octets);
  put(std::array<std::uint8_t, 2>{2, 1});  // option: link-layer address of the target, 8 bytes
  put(mac.octets);
  const std::uint16_t sum = icmpv6_checksum(frame);
  frame[kIcmp + 2] = static_cast<std::uint8_t>(sum >> 8);
  frame[kIcmp + 3] = static_cast<std::uint8_t>(sum);
  return frame;
}

Status announce(const std::string& device, const Ip& address, Mac mac) {
  const auto failed = [&](const char* what) {
    return Error{
        fmt::format("can't announce {} on {}: {}: {}", address.text(), device, what, std::strerror(errno))};
  };
  const FrameBytes frame =
      address.is_v4() ? gratuitous_arp(address.v4(), mac) : unsolicited_advertisement(address, mac);
  const int descriptor = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);  // for sending only
  if (descriptor < 0) return failed("packet socket");
  sockaddr_ll to{};
  to.sll_family = AF_PACKET;
  to.sll_protocol = htons(address.is_v4() ? ETH_P_ARP : ETH_P_IPV6);
  to.sll_ifindex = static_cast<int>(if_nametoindex(device.c_str()));
  to.sll_halen = ETH_ALEN;
  std::copy_n(frame.begin(), ETH_ALEN, to.sll_addr);
  const auto sent =
      sendto(descriptor, frame.data(), frame.size(), 0, reinterpret_cast<const sockaddr*>(&to), sizeof to);
  Status result = sent == static_cast<ssize_t>(frame.size()) ? Status(Done{}) : Status(failed("send"));
  close(descriptor);
  return result;
}

}  // namespace headgate::kernel
