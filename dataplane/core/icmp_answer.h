// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "dataplane/core/burst.h"
#include "dataplane/core/icmp.h"
#include "dataplane/core/token_bucket.h"
#include "model/ip.h"

namespace headgate::core {

/// What the switch may have to tell the sender of a packet it dropped.
enum class Complaint : std::uint8_t { time_exceeded, too_big, port_unreachable };
constexpr std::size_t kComplaints = 3;

/// Whether a packet may be answered with an error at all (RFC 1812, 4.3.2.7; RFC 4443, 2.4 e): TCP or UDP,
/// no fragment after the first, from and to one host each, by a unicast frame.
[[nodiscard]] bool answerable(const Frame& frame, const IpHeader& header) noexcept;

/// Bytes of a frame that an answer may need in front of the packet that it quotes.
constexpr std::size_t kAnswerRoom = 48;

/// Makes the packet in a frame, whose header is `header`, into an ICMP or ICMPv6 error about itself, back to
/// its sender by the way it came. `from`: an address of this box in the family of the packet. `mtu`: of the
/// way out, for too_big only; IPv6 is told 1,280 at least. Quotes as much as 576 bytes (RFC 1812, 4.3.2.3),
/// 1,280 bytes (RFC 4443, 2.4 c) and the frame's capacity allow. False, and the frame as it was, when there
/// is no room for 8 bytes of the quoted transport header, or it has less.
[[nodiscard]] bool write_answer(Frame& frame, const IpHeader& header, Complaint complaint, const Ip& from,
                                std::uint16_t mtu) noexcept;

/// How often a worker answers with errors: each kind by itself, so that a flood that is answered with one
/// does not keep path MTU discovery from working (RFC 1812, 4.3.2.8; RFC 4443, 2.4 f).
class AnswerLimits {
 public:
  static constexpr std::uint32_t kPerSecond = 1000;
  static constexpr std::uint32_t kBurst = 100;

  [[nodiscard]] bool allow(Complaint complaint, Tick now) noexcept {
    return buckets_[static_cast<std::size_t>(complaint)].take(now);
  }

 private:
  std::array<TokenBucket, kComplaints> buckets_{
      TokenBucket{kPerSecond, kBurst}, TokenBucket{kPerSecond, kBurst}, TokenBucket{kPerSecond, kBurst}};
};

}  // namespace headgate::core
