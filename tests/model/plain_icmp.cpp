// SPDX-License-Identifier: Apache-2.0
#include "tests/model/plain_icmp.h"

#include <algorithm>
#include <string>

namespace headgate::testing::plain {

using core::Fate;

namespace {

constexpr std::size_t kHeader = 8;  // of ICMP
constexpr std::uint8_t kSourceQuench = 4, kRedirect = 5, kRedirect6 = 137;

bool complains(bool ipv6, std::uint8_t type) {
  if (ipv6) return type < 128 || type == kRedirect6;
  return type == 3 || type == kSourceQuench || type == kRedirect || type == 11 || type == 12;
}

bool gives_orders(bool ipv6, std::uint8_t type) {
  return ipv6 ? type == kRedirect6 : type == kSourceQuench || type == kRedirect;
}

// The headers of a quoted packet up to its transport; false when they are not all there. Its lengths are of
// the whole packet, which is not.
bool quotes_ipv4(const Bytes& in, View& quoted) {
  const std::size_t ip = quoted.ip;
  if (ip + 20 > quoted.end) return false;
  const std::size_t header = in[ip] % 16 * 4u;
  if (header < 20 || get16(in, ip + 2) < header || ip + header > quoted.end) return false;
  quoted.source = Ipv4{get32(in, ip + 12)};
  quoted.destination = Ipv4{get32(in, ip + 16)};
  quoted.protocol = in[ip + 9];
  quoted.l4 = ip + header;
  quoted.kind = (get16(in, ip + 6) & 0x1fff) != 0 ? Kind::fragment : Kind::whole;
  return true;
}

bool quotes_ipv6(const Bytes& in, View& quoted) {
  const std::size_t ip = quoted.ip;
  if (ip + 40 > quoted.end) return false;
  quoted.ipv6 = true;
  quoted.source = address6(in, ip + 8);
  quoted.destination = address6(in, ip + 24);
  quoted.protocol = in[ip + 6];
  quoted.l4 = ip + 40;
  quoted.kind = Kind::whole;
  const auto extends = [](std::uint8_t protocol) {
    return protocol == 0 || protocol == 43 || protocol == 44 || protocol == 60;
  };
  while (extends(quoted.protocol)) {
    if (quoted.l4 + 8 > quoted.end) return false;
    const bool piece = quoted.protocol == 44;
    if (piece && (get16(in, quoted.l4 + 2) & 0xfff8) != 0) quoted.kind = Kind::fragment;
    quoted.protocol = in[quoted.l4];
    quoted.l4 += piece ? 8 : (in[quoted.l4 + 1] + 1) * 8u;
    if (quoted.l4 > quoted.end) return false;
  }
  return true;
}

// What an ICMP checksum covers: of ICMPv6 the addresses too (RFC 4443, 2.3).
Bytes covered(const Bytes& frame, const View& view) {
  Bytes out;
  if (view.ipv6) {
    out = slice(frame, view.ip + 8, view.ip + 40);
    put32(out, static_cast<std::uint32_t>(view.end - view.l4));
    put32(out, kIcmp6);
  }
  append(out, slice(frame, view.l4, view.end));
  return out;
}

// Only the first fragment of a datagram says whose it is, in its first eight octets.
bool is_about_something(const Error& error, const View& view) {
  const View& quoted = error.quoted;
  return quoted.ipv6 == view.ipv6 && quoted.kind == Kind::whole && quoted.l4 + 8 <= quoted.end &&
         quoted.source == view.destination;
}

// One end of the quoted packet, as its checksums have seen it.
Bytes end_of(const Ip& address, bool ipv6) {
  return {address.octets.end() - (ipv6 ? 16 : 4), address.octets.end()};
}

void translate_quoted(Bytes& out, const View& quoted, Side side, const Ip& address, std::uint16_t port) {
  const std::size_t port_at = quoted.l4 + (side == Side::source ? 0 : 2);
  Bytes before = end_of(side == Side::source ? quoted.source : quoted.destination, quoted.ipv6);
  Bytes after = end_of(address, quoted.ipv6);
  put_address(out, quoted, side, address);
  if (!quoted.ipv6) {
    const std::size_t at = quoted.ip + 10;
    set16(out, at, checksum_after(get16(out, at), sum_of(before), sum_of(after)));
  }
  put16(before, get16(out, port_at));
  put16(after, port);
  set16(out, port_at, port);
  const std::size_t at = quoted.l4 + (quoted.tcp() ? 16 : 6);
  if (at + 2 > quoted.end) return;  // not quoted
  const std::uint16_t field = get16(out, at);
  if (!quoted.tcp() && field == 0) return;  // RFC 768: none
  const std::uint16_t fresh = checksum_after(field, sum_of(before), sum_of(after));
  set16(out, at, !quoted.tcp() && fresh == 0 ? 0xffff : fresh);
}

struct Code {
  std::uint8_t type, code;
};
Code code_of(Fate fate, bool ipv6) {
  if (fate == Fate::drop_ttl) return ipv6 ? Code{3, 0} : Code{11, 0};
  if (fate == Fate::drop_too_big) return ipv6 ? Code{2, 0} : Code{3, 4};
  return ipv6 ? Code{1, 4} : Code{3, 3};
}

}  // namespace

Error read_error(const Bytes& frame, const View& view) {
  Error error;
  const bool icmp = view.protocol == (view.ipv6 ? kIcmp6 : kIcmp);
  if (!icmp || view.fragment || view.l4 + kHeader > view.end || !complains(view.ipv6, frame[view.l4]))
    return {};
  error.quoted.ip = view.l4 + kHeader;
  error.quoted.end = view.end;
  const unsigned version = error.quoted.ip < view.end ? frame[error.quoted.ip] / 16u : 0;
  const bool readable = (version == 4 && quotes_ipv4(frame, error.quoted)) ||
                        (version == 6 && quotes_ipv6(frame, error.quoted));
  const std::uint8_t protocol = error.quoted.protocol;
  if (readable && protocol != kTcp && protocol != kUdp) return {};
  const bool good = readable && !gives_orders(view.ipv6, frame[view.l4]) && is_about_something(error, view) &&
                    internet_checksum(covered(frame, view)) == 0;
  error.kind = good ? Error::Kind::good : Error::Kind::bad;
  if (!good) return error;
  error.quoted.source_port = get16(frame, error.quoted.l4);
  error.quoted.destination_port = get16(frame, error.quoted.l4 + 2);
  return error;
}

Bytes translated(const Bytes& frame, const View& view, const Error& error, Side side, const Ip& address,
                 std::uint16_t port) {
  Bytes out = frame;
  translate_quoted(out, error.quoted, side, address, port);
  put_address(out, view, side == Side::source ? Side::destination : Side::source, address);
  finish_ip(out, view);
  set16(out, view.l4 + 2, 0);
  set16(out, view.l4 + 2, internet_checksum(covered(out, view)));
  return out;
}

bool is_of_a_host(const Ip& address) {
  if (address.none()) return false;
  if (address.is_v4()) {
    const std::uint32_t network = address.v4().value >> 24;
    return network != 0 && network != 127 && network < 224;
  }
  return address.octets[0] != 0xff && address != host("::1");
}

bool may_be_answered(const Bytes& frame, const View& view) {
  const bool to_many = (frame[0] & 1) != 0;
  return view.kind == Kind::whole && !view.later() && !to_many && is_of_a_host(view.source) &&
         is_of_a_host(view.destination);
}

// No link of IPv6 has less than 1,280 (RFC 8200, 5).
std::uint32_t told_mtu(const View& view, std::uint32_t mtu) {
  return view.ipv6 ? std::max(mtu, 1280u) : mtu;
}

std::uint32_t mtu_of(const Bytes& error) {
  return get32(error, look(error).l4 + 4);
}

Bytes own_error(const Bytes& frame, const View& view, Fate fate, const Ip& from, std::uint32_t mtu) {
  // As much as 576 octets (RFC 1812, 4.3.2.3), or the least MTU of IPv6 (RFC 4443, 2.4 c).
  const std::size_t most = view.ipv6 ? 1280 - 40 - kHeader : 576 - 20 - kHeader;
  const Bytes quote = slice(frame, view.ip, std::min(view.end, view.ip + most));
  const auto [type, code] = code_of(fate, view.ipv6);
  Packet error = ip(from, view.source).icmp(type, code, fate == Fate::drop_too_big ? told_mtu(view, mtu) : 0);
  error.payload.assign(quote.begin(), quote.end());
  if (!view.ipv6) error = error.classed(0xc0).fragmented(kDontFragment);  // RFC 1812, 4.3.2.5
  return error.out(1).bytes;
}

}  // namespace headgate::testing::plain
