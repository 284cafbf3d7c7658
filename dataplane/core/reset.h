// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "dataplane/core/burst.h"
#include "dataplane/core/flow_key.h"
#include "dataplane/core/tcp_life.h"
#include "model/ip.h"

namespace headgate::core {

/// The numbers of a reset that its receiver will believe.
struct ResetNumbers {
  std::uint32_t sequence = 0;
  std::uint32_t acknowledgement = 0;
  bool acknowledges = false;
  bool operator==(const ResetNumbers&) const = default;
};

/// The answer to a segment of a connection that does not exist (RFC 9293, 3.10.7.1): back to its sender.
[[nodiscard]] ResetNumbers reset_to_sender(const Segment& segment) noexcept;
/// The end of a connection for the other side, as if the segment's sender had given up: it takes the
/// segment's place. A segment that comes again gives way to the number `expected` after all that was sent:
/// where that is too early, the receiver asks back, and what is behind its own number it ignores (RFC
/// 5961, 3.2).
[[nodiscard]] ResetNumbers reset_to_receiver(const Segment& segment, std::uint32_t expected) noexcept;

/// The least that Ethernet carries, without FCS.
constexpr std::size_t kLeastFrame = 60;
/// Bytes of the longest frame that write_reset makes, one of IPv6.
constexpr std::size_t kResetFrame = 74;

/// Writes a whole reset from `key.source` to `key.destination` into a frame with room for kResetFrame bytes,
/// all but the Ethernet addresses, in the addresses' family. TTL 64, no options, padded with zeros, checksums
/// valid.
void write_reset(Frame& frame, const FlowKey& key, const ResetNumbers& numbers) noexcept;

/// Sends a frame back to where it came from.
void swap_ethernet(Frame& frame) noexcept;

}  // namespace headgate::core
