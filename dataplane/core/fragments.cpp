// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/fragments.h"

#include <algorithm>

#include "dataplane/core/bytes.h"
#include "dataplane/core/flow_key.h"

namespace headgate::core {
namespace {

constexpr std::size_t kLongestDatagram = 65535;
// Datagrams whose time is over that one fragment takes along.
constexpr std::size_t kExpireWithEach = 4;

std::size_t transport_header(std::uint8_t protocol) noexcept {
  return protocol == static_cast<std::uint8_t>(Protocol::tcp) ? 20 : 8;
}

// What is wrong with a fragment by itself (RFC 791; RFC 1858 and RFC 3128 for the tiny ones).
Fragments::Verdict check(const Fragment& fragment) noexcept {
  const std::size_t end = std::size_t{fragment.offset} + fragment.length;
  if (fragment.length == 0 || (fragment.more && fragment.length % 8 != 0) ||
      fragment.header + end > kLongestDatagram)
    return Fragments::Verdict::bad;
  const std::size_t least = transport_header(fragment.protocol);
  const bool tiny = fragment.offset == 0 ? fragment.length < least : fragment.offset < least;
  return tiny ? Fragments::Verdict::tiny : Fragments::Verdict::pass;
}

}  // namespace

Fragment fragment_of(const std::uint8_t* ip, const IpHeader& header) noexcept {
  const auto length = static_cast<std::uint16_t>(header.length - header.l4);
  return {.source = header.source,
          .destination = header.destination,
          .id = header.id,
          .protocol = header.protocol,
          .more = header.more,
          .offset = header.fragment_offset,
          .length = length,
          .header = static_cast<std::uint16_t>(header.l4 - (header.v6 ? 40 : 0)),
          .ports = header.fragment_offset == 0 && length >= 4 ? load32(ip + header.l4) : 0};
}

Fragments::Fragments(std::uint64_t seed, Totals& totals)
    : datagrams_(kDatagrams), buckets_(kDatagrams, kNone), seed_(seed), totals_(totals) {
  for (std::size_t i = 0; i + 1 < kDatagrams; ++i) datagrams_[i].next = static_cast<Position>(i + 1);
}

Fragments::Answer Fragments::take(const Fragment& fragment, std::uint32_t parked_as, Tick now) noexcept {
  if (parked_as != 0) return take_again(fragment, parked_as);
  expire(now, kExpireWithEach);
  const Verdict verdict = check(fragment);
  if (verdict != Verdict::pass) return {.verdict = verdict};
  Position position = find(fragment);
  if (position == kNone) position = remember(fragment, now);
  const Answer answer = take_fresh(position, fragment);
  forget_if_complete(position);
  return answer;
}

Fragments::Answer Fragments::take_again(const Fragment& fragment, std::uint32_t serial) noexcept {
  if (parked_ > 0) --parked_;
  const Position position = find(fragment);
  if (position == kNone || datagrams_[position].serial != serial) return {.verdict = Verdict::early};
  Datagram& datagram = datagrams_[position];
  if (datagram.parked > 0) --datagram.parked;
  if (datagram.refused) return {.verdict = Verdict::refuse};
  if (!datagram.first_seen) return {.verdict = Verdict::early};
  const Answer answer{.verdict = Verdict::pass, .ports = datagram.ports};
  forget_if_complete(position);
  return answer;
}

Fragments::Answer Fragments::take_fresh(Position position, const Fragment& fragment) noexcept {
  Datagram& datagram = datagrams_[position];
  if (datagram.refused) return {.verdict = Verdict::refuse};
  const Verdict verdict = place(datagram, fragment);
  if (verdict == Verdict::overlap) datagram.refused = true;
  const bool waited_for = fragment.offset == 0 || datagram.refused;
  const bool release = waited_for && verdict != Verdict::duplicate && datagram.parked > 0;
  if (verdict == Verdict::pass && fragment.offset == 0) {
    datagram.first_seen = true;
    datagram.ports = fragment.ports;
  }
  if (verdict == Verdict::pass && !datagram.first_seen) return park(datagram);
  return {.verdict = verdict, .release = release, .datagram = datagram.serial, .ports = datagram.ports};
}

Fragments::Answer Fragments::park(Datagram& datagram) noexcept {
  if (parked_ >= kMostParked) return {.verdict = Verdict::early};
  ++parked_;
  ++datagram.parked;
  return {.verdict = Verdict::park, .datagram = datagram.serial};
}

// Remembers where a fragment lies, unless it contradicts what is known.
Fragments::Verdict Fragments::place(Datagram& datagram, const Fragment& fragment) noexcept {
  const std::uint32_t end = std::uint32_t{fragment.offset} + fragment.length;
  const bool known_end = datagram.end != 0;
  const bool ends_elsewhere = known_end && (fragment.more ? end >= datagram.end : end != datagram.end);
  if (ends_elsewhere) return Verdict::overlap;
  const Piece piece{fragment.offset, fragment.length};
  for (std::size_t i = 0; i < datagram.pieces; ++i) {
    const Piece& other = datagram.piece[i];
    const std::uint32_t other_end = std::uint32_t{other.offset} + other.length;
    const bool other_flow = piece.offset == 0 && fragment.ports != datagram.ports;
    if (other == piece && !other_flow && fragment.more == (end != datagram.end)) return Verdict::duplicate;
    if (other.offset < end && piece.offset < other_end) return Verdict::overlap;
    if (!fragment.more && other_end > end) return Verdict::overlap;
  }
  if (datagram.pieces == kPieces) return Verdict::overlap;
  datagram.piece[datagram.pieces++] = piece;
  datagram.have += piece.length;
  if (!fragment.more) datagram.end = end;
  return Verdict::pass;
}

// A datagram that is complete needs no memory: its number may come again.
void Fragments::forget_if_complete(Position position) noexcept {
  const Datagram& datagram = datagrams_[position];
  const bool complete = datagram.first_seen && datagram.end != 0 && datagram.have == datagram.end;
  if (complete && datagram.parked == 0 && !datagram.refused) forget(position);
}

void Fragments::expire(Tick now, std::size_t budget) noexcept {
  for (; budget > 0 && oldest_ != kNone; --budget) {
    if (now.since(datagrams_[oldest_].since) <= static_cast<std::int32_t>(kLife)) return;
    forget(oldest_);
  }
}

// ---- The table: chains by hash, and one list by age

std::size_t Fragments::bucket_of(const Fragment& fragment) const noexcept {
  const IpWords source = words(fragment.source);
  const IpWords destination = words(fragment.destination);
  const std::uint64_t rest = std::uint64_t{fragment.id} << 8 | fragment.protocol;
  return mix(hashing::addresses(source, destination, seed_), rest ^ seed_.rest) % kDatagrams;
}

Fragments::Position Fragments::find(const Fragment& fragment) const noexcept {
  for (Position at = buckets_[bucket_of(fragment)]; at != kNone; at = datagrams_[at].next) {
    const Datagram& datagram = datagrams_[at];
    if (datagram.id == fragment.id && datagram.protocol == fragment.protocol &&
        datagram.source == fragment.source && datagram.destination == fragment.destination)
      return at;
  }
  return kNone;
}

Fragments::Position Fragments::remember(const Fragment& fragment, Tick now) noexcept {
  const Position position = take_free();
  if (++serial_ == 0) ++serial_;
  Position& bucket = buckets_[bucket_of(fragment)];
  Datagram& datagram = datagrams_[position];
  // All but the pieces, which `pieces` says are none.
  datagram.source = fragment.source;
  datagram.destination = fragment.destination;
  datagram.id = fragment.id;
  datagram.protocol = fragment.protocol;
  datagram.serial = serial_;
  datagram.since = now;
  datagram.ports = datagram.end = datagram.have = 0;
  datagram.pieces = datagram.parked = 0;
  datagram.first_seen = datagram.refused = false;
  datagram.next = bucket;
  bucket = position;
  link_newest(position);
  totals_.datagrams.add(1);
  current_.add(1);
  return position;
}

Fragments::Position Fragments::take_free() noexcept {
  if (free_ == kNone) {
    totals_.pushed_out.add(1);
    forget(oldest_);
  }
  const Position position = free_;
  free_ = datagrams_[position].next;
  return position;
}

void Fragments::forget(Position position) noexcept {
  unlink_bucket(position);
  unlink_age(datagrams_[position]);
  datagrams_[position].next = free_;
  free_ = position;
  current_.subtract(1);
}

void Fragments::link_newest(Position position) noexcept {
  Datagram& datagram = datagrams_[position];
  datagram.older = newest_;
  datagram.newer = kNone;
  (newest_ == kNone ? oldest_ : datagrams_[newest_].newer) = position;
  newest_ = position;
}

void Fragments::unlink_age(const Datagram& datagram) noexcept {
  (datagram.older == kNone ? oldest_ : datagrams_[datagram.older].newer) = datagram.newer;
  (datagram.newer == kNone ? newest_ : datagrams_[datagram.newer].older) = datagram.older;
}

void Fragments::unlink_bucket(Position position) noexcept {
  const Datagram& datagram = datagrams_[position];
  const Fragment key{.source = datagram.source,
                     .destination = datagram.destination,
                     .id = datagram.id,
                     .protocol = datagram.protocol};
  Position* link = &buckets_[bucket_of(key)];
  while (*link != position) link = &datagrams_[*link].next;
  *link = datagram.next;
}

}  // namespace headgate::core
