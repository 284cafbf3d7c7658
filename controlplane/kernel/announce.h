// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "model/ip.h"
#include "model/result.h"

namespace headgate::kernel {

constexpr std::size_t kShortestFrame = 60;  // without checksum; IEEE 802.3
using ArpFrame = std::array<std::uint8_t, kShortestFrame>;

/// A gratuitous ARP request: broadcast, sender and target address are both `address`, padded. RFC 5944 4.6.
/// Pure.
[[nodiscard]] ArpFrame gratuitous_arp(Ipv4 address, Mac mac);

/// Sends it on a kernel interface.
[[nodiscard]] Status announce(const std::string& device, Ipv4 address, Mac mac);

}  // namespace headgate::kernel
