// SPDX-License-Identifier: Apache-2.0
#include "tests/model/plain_packet.h"

#include <algorithm>
#include <utility>

namespace headgate::testing::plain {
namespace {

constexpr std::size_t kIp = 14;
constexpr std::uint8_t kHopByHop = 0, kRouting = 43, kFragmentHeader = 44, kDestinationOptions = 60;

Kind look_at_tcp(const Bytes& in, View& view) {
  const std::size_t room = view.end - view.l4;
  if (room < 20) return Kind::truncated;
  const std::size_t header = in[view.l4 + 12] / 16 * 4u;
  if (header < 20) return Kind::malformed;
  if (header > room && !view.fragment) return Kind::truncated;
  view.sequence = get32(in, view.l4 + 4);
  view.acknowledgement = get32(in, view.l4 + 8);
  view.flags = in[view.l4 + 13] & 0x3f;
  view.payload = static_cast<std::uint32_t>(header > room ? 0 : room - header);
  return Kind::whole;
}

Kind look_at_udp(const Bytes& in, const View& view) {
  const std::size_t room = view.end - view.l4;
  if (room < 8) return Kind::truncated;
  const std::size_t length = get16(in, view.l4 + 4);
  if (length < 8 || (length > room && !view.fragment)) return Kind::udp_length;
  return view.ipv6 && get16(in, view.l4 + 6) == 0 ? Kind::no_udp_checksum : Kind::whole;
}

Kind look_at_transport(const Bytes& in, View& view) {
  if (view.protocol != kTcp && view.protocol != kUdp) return Kind::other;
  if (view.later()) return Kind::fragment;
  const Kind kind = view.tcp() ? look_at_tcp(in, view) : look_at_udp(in, view);
  if (view.fragment && kind == Kind::truncated) return Kind::fragment;
  if (kind != Kind::whole) return kind;
  view.source_port = get16(in, view.l4);
  view.destination_port = get16(in, view.l4 + 2);
  return view.fragment ? Kind::fragment : Kind::whole;
}

// Options of IPv4 (RFC 791, 3.1): one octet each, or with a length of all of it; 0 ends them.
Kind look_at_options4(const Bytes& in, std::size_t at, std::size_t end) {
  while (at < end && in[at] != 0) {
    const bool routes = in[at] == 131 || in[at] == 137;  // loose, strict
    if (routes) return Kind::source_route;
    if (in[at] == 1) {
      ++at;
      continue;
    }
    if (at + 1 >= end || in[at + 1] < 2 || at + in[at + 1] > end) return Kind::malformed;
    at += in[at + 1];
  }
  return Kind::whole;
}

Kind look_at_ipv4(const Bytes& in, View& view) {
  if (in.size() < kIp + 20) return Kind::truncated;
  const std::size_t header = in[kIp] % 16 * 4u;
  if (in[kIp] / 16 != 4 || header < 20) return Kind::malformed;
  const std::size_t length = get16(in, kIp + 2);
  if (length < header) return Kind::malformed;
  if (kIp + length > in.size()) return Kind::truncated;
  if (internet_checksum(slice(in, kIp, kIp + header)) != 0) return Kind::checksum;
  view.source = Ipv4{get32(in, kIp + 12)};
  view.destination = Ipv4{get32(in, kIp + 16)};
  const Kind options = look_at_options4(in, kIp + 20, kIp + header);
  if (options != Kind::whole) return options;
  view.ttl = in[kIp + 8];
  view.protocol = in[kIp + 9];
  view.l4 = kIp + header;
  view.end = kIp + length;
  view.id = get16(in, kIp + 4);
  view.more = (get16(in, kIp + 6) & kMoreFragments) != 0;
  view.offset = (get16(in, kIp + 6) & 0x1fff) * 8u;
  view.fragment = view.more || view.offset != 0;
  return look_at_transport(in, view);
}

// One of offset 0 that is all of its datagram is no fragment (RFC 6946).
void look_at_fragment_header(const Bytes& in, std::size_t at, View& view) {
  view.id = get32(in, at + 4);
  view.more = (get16(in, at + 2) & 1) != 0;
  view.offset = get16(in, at + 2) & 0xfff8;
  view.fragment = view.more || view.offset != 0;
}

// Options of IPv6 (RFC 8200, 4.2): an octet of padding, or with a length of what follows it.
bool fit6(const Bytes& in, std::size_t at, std::size_t end) {
  while (at < end) {
    const std::size_t size = in[at] == 0 ? 1 : at + 1 < end ? in[at + 1] + 2u : end;
    if (at + size > end) return false;
    at += size;
  }
  return true;
}

bool extends(std::uint8_t protocol) {
  return protocol == kHopByHop || protocol == kRouting || protocol == kFragmentHeader ||
         protocol == kDestinationOptions;
}

// One extension header, the `seen`th.
Kind look_at_extension(const Bytes& in, View& view, int seen, bool& had_piece) {
  if (view.l4 + 8 > view.end) return Kind::truncated;
  const std::uint8_t kind = view.protocol;
  const bool piece = kind == kFragmentHeader;
  const std::size_t end = view.l4 + (piece ? 8 : (in[view.l4 + 1] + 1) * 8u);
  if (end > view.end) return Kind::truncated;
  const std::size_t at = std::exchange(view.l4, end);
  view.protocol = in[at];
  if (piece && std::exchange(had_piece, true)) return Kind::malformed;
  if (piece) look_at_fragment_header(in, at, view);
  const bool routes = kind == kRouting && (in[at + 2] == 0 || in[at + 3] != 0);  // RFC 5095, RFC 8200, 4.4
  if (routes) return Kind::source_route;
  if (kind == kHopByHop && seen != 0) return Kind::malformed;
  const bool options = kind == kHopByHop || kind == kDestinationOptions;
  return options && !fit6(in, at + 2, end) ? Kind::malformed : Kind::whole;
}

// Goes over the extension headers; the switch looks through eight, of 192 octets.
Kind look_behind_extensions(const Bytes& in, View& view) {
  bool had_piece = false;
  for (int seen = 0; extends(view.protocol) && !view.fragment; ++seen) {
    if (seen == 8) return Kind::extensions;
    const Kind kind = look_at_extension(in, view, seen, had_piece);
    if (kind != Kind::whole) return kind;
    if (view.l4 > kIp + 40 + 192) return Kind::extensions;
  }
  return extends(view.protocol) ? Kind::extensions : look_at_transport(in, view);
}

Kind look_at_ipv6(const Bytes& in, View& view) {
  if (in.size() < kIp + 40) return Kind::truncated;
  if (in[kIp] / 16 != 6) return Kind::malformed;
  view.ipv6 = true;
  view.l4 = kIp + 40;
  view.end = view.l4 + get16(in, kIp + 4);
  if (view.end > in.size()) return Kind::truncated;
  view.protocol = in[kIp + 6];
  view.ttl = in[kIp + 7];
  view.source = address6(in, kIp + 8);
  view.destination = address6(in, kIp + 24);
  // No packet may carry an IPv4-mapped address (RFC 4942, 2.2).
  if (view.source.is_v4() || view.destination.is_v4()) return Kind::malformed;
  return look_behind_extensions(in, view);
}

void seal_ipv4(Bytes& frame, const View& view) {
  set16(frame, view.ip + 10, 0);
  set16(frame, view.ip + 10, internet_checksum(slice(frame, view.ip, view.l4)));
}

std::size_t checksum_at(const View& view) {
  return view.l4 + (view.tcp() ? 16 : 6);
}

std::size_t address_at(const View& view, Side side) {
  const std::size_t source = view.ip + (view.ipv6 ? 8 : 12);
  return side == Side::source ? source : source + (view.ipv6 ? 16 : 4);
}

// The sum over a packet's pseudo header and transport, its checksum field taken as zero.
std::uint16_t transport_sum(const Bytes& frame, const View& view) {
  const std::size_t addresses = address_at(view, Side::source);
  Bytes summed = slice(frame, addresses, addresses + (view.ipv6 ? 32 : 8));
  put32(summed, static_cast<std::uint32_t>(view.end - view.l4));
  put32(summed, view.protocol);
  Bytes transport = slice(frame, view.l4, view.end);
  set16(transport, checksum_at(view) - view.l4, 0);
  append(summed, transport);
  return sum_of(summed);
}

}  // namespace

Ip address6(const Bytes& in, std::size_t at) {
  Ip out;
  std::copy_n(in.begin() + static_cast<std::ptrdiff_t>(at), 16, out.octets.begin());
  return out;
}

View look(const Bytes& frame) {
  View view;
  if (frame.size() < kIp) return view;
  const std::uint16_t type = get16(frame, 12);
  if (type == 0x0800) view.kind = look_at_ipv4(frame, view);
  if (type == 0x86dd) view.kind = look_at_ipv6(frame, view);
  return view;
}

Bytes translated(const Bytes& frame, const View& view, Side side, const Ip& address, std::uint16_t port) {
  Bytes out = frame;
  put_address(out, view, side, address);
  finish_ip(out, view);
  if (view.later()) return out;
  const std::uint16_t field = get16(frame, checksum_at(view));
  const std::uint16_t old_sum = transport_sum(frame, view);
  set16(out, view.l4 + (side == Side::source ? 0 : 2), port);
  if (!view.tcp() && field == 0) return out;  // RFC 768: none
  const std::uint16_t fresh = checksum_after(field, old_sum, transport_sum(out, view));
  set16(out, checksum_at(view), !view.tcp() && fresh == 0 ? 0xffff : fresh);
  return out;
}

void put_address(Bytes& frame, const View& view, Side side, const Ip& address) {
  const std::ptrdiff_t size = view.ipv6 ? 16 : 4;
  std::copy(address.octets.end() - size, address.octets.end(),
            frame.begin() + static_cast<std::ptrdiff_t>(address_at(view, side)));
}

void finish_ip(Bytes& frame, const View& view) {
  --frame[view.ip + (view.ipv6 ? 7 : 8)];
  if (!view.ipv6) seal_ipv4(frame, view);
}

std::uint16_t sum_of(const Bytes& octets) {
  return static_cast<std::uint16_t>(~internet_checksum(octets));
}

// In one's complement: what the field said, and what the sum became from what it was. Zero is written as all
// ones in sums, since none of them is of nothing but zeros.
std::uint16_t checksum_after(std::uint16_t field, std::uint16_t old_sum, std::uint16_t new_sum) {
  const unsigned said = static_cast<std::uint16_t>(~field);
  const unsigned sum = (said + 0xffffu - old_sum + new_sum) % 0xffffu;
  return static_cast<std::uint16_t>(~(sum == 0 ? 0xffffu : sum));
}

// Header options would have to be copied or not, each by its kind.
bool may_be_cut(const Bytes& frame, const View& view) {
  return !view.ipv6 && view.l4 == view.ip + 20 && (get16(frame, view.ip + 6) & kDontFragment) == 0;
}

std::vector<Bytes> pieces(const Bytes& frame, const View& view, std::uint32_t mtu) {
  if (frame.size() <= view.ip + mtu) return {frame};
  std::vector<Bytes> out;
  const std::size_t most = (mtu - 20) / 8 * 8;
  for (std::size_t at = view.l4; at < view.end; at += most) {
    const std::size_t end = std::min(view.end, at + most);
    Bytes piece = slice(frame, 0, view.l4);
    append(piece, slice(frame, at, end));
    const auto position = static_cast<std::uint16_t>((view.offset + at - view.l4) / 8);
    set16(piece, view.ip + 2, static_cast<std::uint16_t>(piece.size() - view.ip));
    set16(piece, view.ip + 6, position | (end < view.end || view.more ? kMoreFragments : 0));
    seal_ipv4(piece, view);
    out.push_back(piece);
  }
  return out;
}

Bytes addressed(Bytes frame, const Mac& destination, const Mac& source) {
  std::copy(destination.octets.begin(), destination.octets.end(), frame.begin());
  std::copy(source.octets.begin(), source.octets.end(), frame.begin() + 6);
  return frame;
}

}  // namespace headgate::testing::plain
