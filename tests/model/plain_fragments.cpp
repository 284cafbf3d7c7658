// SPDX-License-Identifier: Apache-2.0
#include "tests/model/plain_fragments.h"

#include <algorithm>

namespace headgate::testing::plain {

using core::Fate;

namespace {

constexpr std::uint32_t kLife = 5 * Tick::kPerSecond;
constexpr std::size_t kMostPieces = 64;

// What is wrong with a fragment by itself.
std::optional<Fate> fault(const View& view) {
  const std::size_t length = view.end - view.l4;
  const std::size_t headers = view.l4 - view.ip - (view.ipv6 ? 40 : 0);
  const bool uneven = view.more && length % 8 != 0;
  if (length == 0 || uneven || headers + view.offset + length > 65535) return Fate::drop_fragment_bad;
  const std::size_t transport = view.tcp() ? 20 : 8;
  const bool tiny = view.offset == 0 ? length < transport : view.offset < transport;
  return tiny ? std::optional(Fate::drop_fragment_tiny) : std::nullopt;
}

}  // namespace

Fragments::Answer Fragments::take(const View& view, Tick now) {
  if (const auto refusal = fault(view)) return {.refusal = refusal};
  Found datagram = find(view);
  if (datagram == datagrams_.end())
    datagram = datagrams_.insert(datagrams_.end(), {.number = ++total_, .key = view, .since = now});
  if (datagram->refused) return {.refusal = Fate::drop_fragment};
  const std::uint32_t ports = std::uint32_t{view.source_port} << 16 | view.destination_port;
  const auto end = static_cast<std::uint32_t>(view.offset + view.end - view.l4);
  const Piece piece{view.offset, end, view.more, view.offset == 0 ? ports : 0};
  if (std::ranges::find(datagram->pieces, piece) != datagram->pieces.end())
    return {.refusal = Fate::drop_fragment};
  if (contradicts(*datagram, piece)) {
    datagram->refused = true;
    return {.refusal = Fate::drop_fragment_overlap};
  }
  datagram->pieces.push_back(piece);
  if (view.offset == 0) datagram->ports = ports;
  if (!datagram->ports) {
    ++datagram->waiting;
    return {.waits_for = datagram->number};
  }
  const Answer answer{.ports = *datagram->ports};
  forget_if_complete(datagram);
  return answer;
}

Fragments::Answer Fragments::take_again(const View& view, std::uint64_t waited_for) {
  const Found datagram = find(view);
  if (datagram == datagrams_.end() || datagram->number != waited_for)
    return {.refusal = Fate::drop_fragment_early};
  --datagram->waiting;
  if (datagram->refused) return {.refusal = Fate::drop_fragment};
  if (!datagram->ports) return {.refusal = Fate::drop_fragment_early};
  const Answer answer{.ports = *datagram->ports};
  forget_if_complete(datagram);
  return answer;
}

// No octet twice, none behind the last one, and one end only (RFC 5722).
bool Fragments::contradicts(const Datagram& datagram, const Piece& piece) {
  const auto& pieces = datagram.pieces;
  return pieces.size() == kMostPieces || std::ranges::any_of(pieces, [&](const Piece& other) {
           const bool overlaps = piece.begin < other.end && other.begin < piece.end;
           const bool behind =
               (!other.more && piece.end > other.end) || (!piece.more && other.end > piece.end);
           const bool both_last = !piece.more && !other.more;
           return overlaps || behind || both_last;
         });
}

// Its number may come again.
void Fragments::forget_if_complete(Found datagram) {
  std::uint32_t octets = 0, end = 0;
  for (const Piece& piece : datagram->pieces) {
    octets += piece.end - piece.begin;
    if (!piece.more) end = piece.end;
  }
  if (end != 0 && octets == end && datagram->waiting == 0) datagrams_.erase(datagram);
}

void Fragments::expire(Tick now) {
  std::erase_if(datagrams_, [&](const Datagram& datagram) {
    return now.since(datagram.since) > static_cast<std::int32_t>(kLife);
  });
}

bool Fragments::keeps_any_waiting() const {
  return std::ranges::any_of(datagrams_, [](const Datagram& datagram) {
    return datagram.waiting > 0 && (datagram.refused || datagram.ports);
  });
}

Fragments::Found Fragments::find(const View& view) {
  return std::ranges::find_if(datagrams_, [&](const Datagram& datagram) {
    const View& key = datagram.key;
    return key.source == view.source && key.destination == view.destination && key.id == view.id &&
           key.protocol == view.protocol;
  });
}

}  // namespace headgate::testing::plain
