// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "dataplane/core/side.h"

namespace headgate::core {

/// Control bits of the TCP header (RFC 9293, 3.1).
namespace tcp {
constexpr std::uint8_t fin = 0x01;
constexpr std::uint8_t syn = 0x02;
constexpr std::uint8_t rst = 0x04;
constexpr std::uint8_t ack = 0x10;

/// Whether a segment with these bits asks for a connection.
[[nodiscard]] constexpr bool opens(std::uint8_t flags) noexcept {
  return (flags & (syn | ack | rst | fin)) == syn;
}
}  // namespace tcp

/// What one segment says about its connection.
struct Segment {
  std::uint8_t flags = 0;
  std::uint32_t sequence = 0;
  std::uint32_t acknowledgement = 0;
  std::uint32_t payload = 0;  ///< bytes

  [[nodiscard]] constexpr bool has(std::uint8_t bit) const noexcept { return (flags & bit) != 0; }
  /// The sequence number after this segment.
  [[nodiscard]] constexpr std::uint32_t end() const noexcept {
    return sequence + payload + (has(tcp::syn) ? 1 : 0) + (has(tcp::fin) ? 1 : 0);
  }
};

enum class Life : std::uint8_t { syn, open, half_closed, closing, closed, terminated };

/// How far a connection is, by what passed in both directions: of each side the sequence number after the
/// highest seen, and how much of it the other side has acknowledged (RFC 9293, 3.3.1). UDP sessions use the
/// marks kAnswered, kOpen and kTerminated alone.
struct TcpLife {
  static constexpr std::uint8_t kAnswered = 1;  ///< the server has sent anything but a reset
  static constexpr std::uint8_t kOpen = 2;      ///< the client has sent an ACK after that
  static constexpr std::uint8_t kFinClient = 4;
  static constexpr std::uint8_t kFinReal = 8;
  static constexpr std::uint8_t kAckedClient = 16;  ///< the client's FIN is acknowledged
  static constexpr std::uint8_t kAckedReal = 32;
  static constexpr std::uint8_t kReset = 64;
  static constexpr std::uint8_t kTerminated = 128;  ///< ended by the switch

  /// No segment is farther ahead of the ones that were seen: more than is ever lost in a row.
  static constexpr std::uint32_t kFarthest = 1u << 24;
  /// How far beyond the last segment that was seen a sender may be, when segments were lost on their way
  /// here.
  static constexpr std::uint32_t kUnseen = 65535;

  /// The numbers of a client's SYN: a server that takes it acknowledges up to its end, or to before its data.
  struct Asked {
    std::uint32_t sequence = 0;
    std::uint32_t end = 0;
    bool operator==(const Asked&) const = default;
  };

  BySide<std::uint32_t> next;
  BySide<std::uint32_t> acked;  ///< of the side's own sequence numbers, by the other one
  std::uint8_t marks = 0;
  /// The last SYN of a client that has a connection, for one in its place. Anybody can send that SYN; so it
  /// is the server that ends the old connection, by its answer (RFC 9293, 3.10.7.4).
  std::optional<Asked> asked = {};

  /// Takes note of a segment that was forwarded.
  constexpr void pass(Side from, const Segment& segment) noexcept {
    if (segment.has(tcp::rst)) {
      marks |= kReset;
      return;
    }
    const bool client = from == Side::client;
    if (client && stands() && tcp::opens(segment.flags)) {
      asked = Asked{segment.sequence, segment.end()};
      return;
    }
    if (!client && accepts(segment)) start_anew();
    const bool ends = segment.has(tcp::fin) && near(from, segment.end());
    if (ends || !segment.has(tcp::fin)) advance(from, segment);
    if (segment.has(tcp::ack)) acknowledge(from, segment.acknowledgement);
    const bool completes =
        client && (marks & kAnswered) != 0 && (segment.flags & (tcp::syn | tcp::ack)) == tcp::ack;
    if (completes) marks |= kOpen;
    if (!client) marks |= kAnswered;
    if (ends) marks |= client ? kFinClient : kFinReal;
    if ((marks & kFinClient) != 0 && acked[Side::client] == next[Side::client]) marks |= kAckedClient;
    if ((marks & kFinReal) != 0 && acked[Side::real] == next[Side::real]) marks |= kAckedReal;
  }

  /// Whether a reset is one that its sender may have sent: from what the other side has acknowledged to
  /// little beyond what was seen. One that answers a SYN has to acknowledge it (RFC 9293, 3.10.7.3 and .4).
  [[nodiscard]] constexpr bool may_reset(Side from, const Segment& segment) const noexcept {
    const bool answers_syn = from == Side::real && (marks & kAnswered) == 0;
    if (answers_syn)
      return segment.has(tcp::ack) &&
             covers({acked[Side::client], next[Side::client]}, segment.acknowledgement);
    // A server that still has a connection of these ports answers a SYN with what it waits for there; the
    // client's reset has just that number (RFC 9293, 3.5.1; RFC 5961, 4.2).
    if (from == Side::client && opening())
      return segment.sequence == acked[from] || segment.sequence + kUnseen - next[from] <= 2 * kUnseen;
    // A server that has nothing any more refuses the SYN of a new connection, and so ends the one that stood.
    const bool refuses = from == Side::real && asked && segment.has(tcp::ack);
    return (refuses && covers(*asked, segment.acknowledgement)) || near(from, segment.sequence);
  }

  [[nodiscard]] constexpr Life life() const noexcept {
    constexpr std::uint8_t kBothAcked = kAckedClient | kAckedReal;
    constexpr std::uint8_t kBothFins = kFinClient | kFinReal;
    if ((marks & kTerminated) != 0) return Life::terminated;
    if ((marks & kReset) != 0 || (marks & kBothAcked) == kBothAcked) return Life::closed;
    if (opening()) return Life::syn;  // a FIN before the handshake is done ends nothing
    if ((marks & kBothFins) == kBothFins) return Life::closing;
    return (marks & kBothFins) != 0 ? Life::half_closed : Life::open;
  }

  /// The marks of a connection that neither opens nor ends: a segment with ACK and without SYN, FIN and RST
  /// changes its numbers alone.
  static constexpr std::uint8_t kSteady = kAnswered | kOpen;

  /// The numbers after a segment of a steady connection that ends at `end`, for the hot path.
  static constexpr void pass_steady(std::uint32_t& next, std::uint32_t& others_acked,
                                    std::uint32_t others_next, std::uint32_t end,
                                    std::uint32_t acknowledgement) noexcept {
    next = end - next < kFarthest ? end : next;
    const bool covers = acknowledgement - others_acked <= others_next - others_acked;
    others_acked = covers ? acknowledgement : others_acked;
  }

  /// The numbers of a side after the first segment that it sends.
  static constexpr void start(std::uint32_t& next, std::uint32_t& acked, const Segment& first) noexcept {
    next = first.end();
    acked = first.sequence;
  }

 private:
  [[nodiscard]] constexpr bool opening() const noexcept { return (marks & kOpen) == 0; }

  // Not in its handshake, and not over.
  [[nodiscard]] constexpr bool stands() const noexcept {
    const Life now = life();
    return now == Life::open || now == Life::half_closed || now == Life::closing;
  }

  // Whether a server acknowledges a SYN, with all of its data or less.
  [[nodiscard]] static constexpr bool covers(const Asked& syn, std::uint32_t acknowledgement) noexcept {
    return acknowledgement - syn.sequence - 1 < syn.end - syn.sequence;
  }

  // Whether a server's segment takes the connection that was asked for. The answer to the SYN of the very
  // connection that stands, all of it sent again, takes none.
  [[nodiscard]] constexpr bool accepts(const Segment& segment) const noexcept {
    constexpr std::uint8_t kTakes = tcp::syn | tcp::ack;
    if (!asked || !stands() || (segment.flags & kTakes) != kTakes) return false;
    const bool again = asked->end == next[Side::client] && segment.end() == next[Side::real];
    return covers(*asked, segment.acknowledgement) && !again;
  }

  // With the numbers of the SYN that was asked with.
  constexpr void start_anew() noexcept {
    const Asked syn = *asked;
    *this = TcpLife{};
    next[Side::client] = syn.end;
    acked[Side::client] = syn.sequence;
  }

  // A server's first segment, or a SYN while the connection opens, starts its side's numbers; a FIN ends
  // them.
  constexpr void advance(Side from, const Segment& segment) noexcept {
    const bool client = from == Side::client;
    const bool first = !client && (marks & kAnswered) == 0;
    if (opening() && (segment.has(tcp::syn) || first)) return start(next[from], acked[from], segment);
    const bool ended = (marks & (client ? kFinClient : kFinReal)) != 0;
    if (!ended && segment.end() - next[from] < kFarthest) next[from] = segment.end();
  }

  // What was never seen can't be acknowledged, but for what a server says to a SYN (may_reset).
  constexpr void acknowledge(Side from, std::uint32_t number) noexcept {
    std::uint32_t& others = acked[other(from)];
    const bool covers = number - others <= next[other(from)] - others;
    if (covers || (from == Side::real && opening())) others = number;
  }

  [[nodiscard]] constexpr bool near(Side from, std::uint32_t sequence) const noexcept {
    return sequence - acked[from] <= next[from] - acked[from] + kUnseen;
  }
};

}  // namespace headgate::core
