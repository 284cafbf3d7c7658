// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/ip.h"
#include "model/result.h"

// How neighbours learn that an address is at this switch. Frames are whole, from the Ethernet header on.
namespace headgate::kernel {

constexpr std::size_t kShortestFrame = 60;  // without checksum; IEEE 802.3
using FrameBytes = std::vector<std::uint8_t>;

/// A gratuitous ARP request: broadcast, sender and target address are both `address`, padded. RFC 5944 4.6.
/// Pure.
[[nodiscard]] FrameBytes gratuitous_arp(Ipv4 address, Mac mac);
/// An unsolicited neighbour advertisement to all nodes, which overrides what they know. RFC 4861 7.2.6. Pure.
[[nodiscard]] FrameBytes unsolicited_advertisement(const Ip& address, Mac mac);

/// Sends the frame of the address's family on a kernel interface.
[[nodiscard]] Status announce(const std::string& device, const Ip& address, Mac mac);

}  // namespace headgate::kernel
