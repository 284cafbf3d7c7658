// SPDX-License-Identifier: Apache-2.0
#include "controlplane/kernel/announce.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace headgate::kernel {
namespace {

constexpr std::array<std::uint8_t, 6> kBroadcast{0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
constexpr std::array<std::uint8_t, 8> kRequest{0, 1, 8, 0,
                                               6, 4, 0, 1};  // Ethernet, IPv4, their lengths, request

}  // namespace

ArpFrame gratuitous_arp(Ipv4 address, Mac mac) {
  ArpFrame frame{};
  auto at = frame.begin();
  const auto put = [&at](const auto& bytes) { at = std::copy(bytes.begin(), bytes.end(), at); };
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
  return frame;
}

Status announce(const std::string& device, Ipv4 address, Mac mac) {
  const auto failed = [&](const char* what) {
    return Error{
        fmt::format("can't announce {} on {}: {}: {}", address.text(), device, what, std::strerror(errno))};
  };
  const int descriptor = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ARP));
  if (descriptor < 0) return failed("packet socket");
  sockaddr_ll to{};
  to.sll_family = AF_PACKET;
  to.sll_protocol = htons(ETH_P_ARP);
  to.sll_ifindex = static_cast<int>(if_nametoindex(device.c_str()));
  to.sll_halen = ETH_ALEN;
  std::copy(kBroadcast.begin(), kBroadcast.end(), to.sll_addr);
  const ArpFrame frame = gratuitous_arp(address, mac);
  const auto sent =
      sendto(descriptor, frame.data(), frame.size(), 0, reinterpret_cast<const sockaddr*>(&to), sizeof to);
  Status result = sent == static_cast<ssize_t>(frame.size()) ? Status(Done{}) : Status(failed("send"));
  close(descriptor);
  return result;
}

}  // namespace headgate::kernel
