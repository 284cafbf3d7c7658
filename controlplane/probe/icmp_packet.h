// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "model/ip.h"

// ICMP echo as bytes. Pure; RFC 792.
namespace headgate::probe {

/// What makes one echo request different from every other.
struct Echo {
  std::uint16_t id = 0;
  std::uint16_t sequence = 0;
  std::uint64_t nonce = 0;  ///< random payload, so that a reply can't be guessed
  bool operator==(const Echo&) const = default;
};

constexpr std::size_t kEchoSize = 16;
using EchoPacket = std::array<std::uint8_t, kEchoSize>;

/// The echo request, checksum included.
[[nodiscard]] EchoPacket echo_request(const Echo& echo);

/// An ICMP message that concerns an echo of ours.
struct EchoAnswer {
  enum class What : std::uint8_t { reply, unreachable } what = What::reply;
  Ipv4 from;  ///< reply: the sender; unreachable: the address that our request was for
  Echo echo;  ///< unreachable: without nonce
  bool operator==(const EchoAnswer&) const = default;
};

/// Reads an IPv4 packet as a raw socket delivers it: an echo reply with a good checksum, or a destination
/// unreachable that quotes an echo request. Everything else, also what is cut short, is nothing.
[[nodiscard]] std::optional<EchoAnswer> read_echo_answer(std::span<const std::uint8_t> packet);

}  // namespace headgate::probe
