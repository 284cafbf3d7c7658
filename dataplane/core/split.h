// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/core/burst.h"

namespace headgate::core {

/// Whether split() can do it: the header allows it (don't fragment is not set, no options, IPv4), and `rest`
/// has room for all but the first piece.
[[nodiscard]] bool can_split(const Frame& frame, std::uint16_t mtu, std::span<const Frame> rest) noexcept;

/// Cuts the IPv4 datagram in a frame into fragments of `mtu` bytes at most (RFC 791, 3.2): the first stays in
/// `frame`, the others go into `rest` in order, each with the Ethernet header of the frame. Fragments are cut
/// again. Returns how many of `rest` were filled. 0, and the frame as it was, when can_split() says no. The
/// header at offset::ip must have been found faultless, and the datagram to be longer than `mtu`.
[[nodiscard]] std::size_t split(Frame& frame, std::uint16_t mtu, std::span<Frame> rest) noexcept;

}  // namespace headgate::core
