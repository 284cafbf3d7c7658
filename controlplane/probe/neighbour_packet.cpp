// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/neighbour_packet.h"

#include <algorithm>

namespace headgate::probe {
namespace {

using Bytes = std::span<const std::uint8_t>;

// ARP: hardware and protocol with the lengths of their addresses, operation, sender, target.
constexpr std::array<std::uint8_t, 6> kEthernetIpv4{0, 1, 8, 0, 6, 4};
constexpr std::size_t kOperation = 6, kSenderIp = 14, kTargetMac = 18, kTargetIp = 24, kArpSize = 28;
constexpr std::uint8_t kRequest = 1, kReply = 2;

// Neighbour discovery: type, code, checksum, flags, target, options.
constexpr std::size_t kFlags = 4, kTarget = 8, kOption = 24;
constexpr std::uint8_t kSolicitation = 135, kAdvertisement = 136;
constexpr std::uint8_t kSolicited = 0x40;
constexpr std::uint8_t kSourceLinkLayer = 1, kInEights = 1;  // an option and its length

template <class Packet>
void put(Packet& packet, std::size_t at, const Ip& address) {
  const std::string bytes = address.wire();
  std::copy(bytes.begin(), bytes.end(), packet.begin() + static_cast<std::ptrdiff_t>(at));
}

template <class Packet>
void put(Packet& packet, std::size_t at, const Mac& mac) {
  std::ranges::copy(mac.octets, packet.begin() + static_cast<std::ptrdiff_t>(at));
}

Ip address_at(Bytes packet, std::size_t at, std::size_t size) {
  const Bytes bytes = packet.subspan(at, size);
  return ip_of(std::string(bytes.begin(), bytes.end()));
}

}  // namespace

std::array<std::uint8_t, kArpSize> arp_request(const Asker& asker, const Ip& wanted) {
  std::array<std::uint8_t, kArpSize> packet{};
  std::ranges::copy(kEthernetIpv4, packet.begin());
  packet[kOperation + 1] = kRequest;
  put(packet, kOperation + 2, asker.mac);
  put(packet, kSenderIp, asker.address);
  put(packet, kTargetIp, wanted);
  return packet;
}

std::array<std::uint8_t, 32> solicitation(const Asker& asker, const Ip& wanted) {
  std::array<std::uint8_t, 32> message{kSolicitation};
  put(message, kTarget, wanted);
  message[kOption] = kSourceLinkLayer;
  message[kOption + 1] = kInEights;
  put(message, kOption + 2, asker.mac);
  return message;
}

Ip solicited_node(const Ip& wanted) {
  constexpr std::size_t kTail = 3;
  Ip group;
  group.octets = {0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff};
  std::copy(wanted.octets.end() - kTail, wanted.octets.end(), group.octets.end() - kTail);
  return group;
}

std::optional<ArpReply> read_arp_reply(Bytes packet) {
  if (packet.size() < kArpSize || !std::equal(kEthernetIpv4.begin(), kEthernetIpv4.end(), packet.begin()) ||
      packet[kOperation] != 0 || packet[kOperation + 1] != kReply)
    return std::nullopt;
  ArpReply reply{.from = address_at(packet, kSenderIp, 4), .to = {address_at(packet, kTargetIp, 4), {}}};
  std::ranges::copy(packet.subspan(kTargetMac, reply.to.mac.octets.size()), reply.to.mac.octets.begin());
  return reply;
}

std::optional<Ip> read_advertisement(Bytes message) {
  if (message.size() < kOption || message[0] != kAdvertisement || message[1] != 0 ||
      (message[kFlags] & kSolicited) == 0)
    return std::nullopt;
  return address_at(message, kTarget, 16);
}

}  // namespace headgate::probe
