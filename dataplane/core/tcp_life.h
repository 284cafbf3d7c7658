// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "dataplane/core/session_view.h"

namespace headgate::core {

/// Control bits of the TCP header (RFC 9293, 3.1).
namespace tcp {
constexpr std::uint8_t fin = 0x01;
constexpr std::uint8_t syn = 0x02;
constexpr std::uint8_t rst = 0x04;
constexpr std::uint8_t ack = 0x10;
}  // namespace tcp

/// What one segment says about its connection.
struct Segment {
  std::uint8_t flags = 0;
  std::uint32_t sequence = 0;
  std::uint32_t acknowledgement = 0;
  std::uint32_t payload = 0;  ///< bytes

  [[nodiscard]] constexpr bool opens() const noexcept {
    return (flags & (tcp::syn | tcp::ack | tcp::rst | tcp::fin)) == tcp::syn;
  }
  /// The sequence number after this segment.
  [[nodiscard]] constexpr std::uint32_t end() const noexcept {
    return sequence + payload + ((flags & tcp::syn) != 0 ? 1 : 0) + ((flags & tcp::fin) != 0 ? 1 : 0);
  }
};

enum class Side : std::uint8_t { client, real };

/// How far a connection is, by what passed in both directions. Only the FINs' sequence numbers are kept: they
/// tell when both ends know that all is over (RFC 9293, 3.6).
struct TcpLife {
  static constexpr std::uint8_t kAnswered = 1;  ///< the server has sent anything but a reset
  static constexpr std::uint8_t kOpen = 2;      ///< the client has sent an ACK after that
  static constexpr std::uint8_t kFinClient = 4;
  static constexpr std::uint8_t kFinReal = 8;
  static constexpr std::uint8_t kAckedClient = 16;  ///< the client's FIN is acknowledged
  static constexpr std::uint8_t kAckedReal = 32;
  static constexpr std::uint8_t kReset = 64;
  static constexpr std::uint8_t kTerminated = 128;  ///< ended by the switch

  std::uint32_t fin_client = 0;  ///< sequence number after the client's FIN, once seen
  std::uint32_t fin_real = 0;
  std::uint8_t marks = 0;

  /// Takes note of a segment that was forwarded.
  constexpr void pass(Side from, const Segment& segment) noexcept {
    if ((segment.flags & tcp::rst) != 0) {
      marks |= kReset;
      return;
    }
    if (from == Side::real) marks |= kAnswered;
    if ((segment.flags & tcp::ack) != 0) acknowledge(from, segment);
    if ((segment.flags & tcp::fin) == 0) return;
    (from == Side::client ? fin_client : fin_real) = segment.end();
    marks |= from == Side::client ? kFinClient : kFinReal;
  }

  [[nodiscard]] constexpr Life life() const noexcept {
    constexpr std::uint8_t kBothAcked = kAckedClient | kAckedReal;
    constexpr std::uint8_t kBothFins = kFinClient | kFinReal;
    if ((marks & kTerminated) != 0) return Life::terminated;
    if ((marks & kReset) != 0 || (marks & kBothAcked) == kBothAcked) return Life::closed;
    if ((marks & kBothFins) == kBothFins) return Life::closing;
    if ((marks & kBothFins) != 0) return Life::half_closed;
    return (marks & kOpen) != 0 ? Life::open : Life::syn;
  }

  /// Neither opening nor ending: a segment without SYN, FIN and RST changes nothing.
  [[nodiscard]] constexpr bool steady() const noexcept { return marks == (kAnswered | kOpen); }

 private:
  constexpr void acknowledge(Side from, const Segment& segment) noexcept {
    const bool handshake_done =
        from == Side::client && (marks & kAnswered) != 0 && (segment.flags & tcp::syn) == 0;
    if (handshake_done) marks |= kOpen;
    const auto covers = [&](std::uint32_t fin) {
      return static_cast<std::int32_t>(segment.acknowledgement - fin) >= 0;
    };
    if (from == Side::real && (marks & kFinClient) != 0 && covers(fin_client)) marks |= kAckedClient;
    if (from == Side::client && (marks & kFinReal) != 0 && covers(fin_real)) marks |= kAckedReal;
  }
};

}  // namespace headgate::core
