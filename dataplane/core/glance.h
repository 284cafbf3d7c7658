// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <smmintrin.h>

#include "dataplane/core/packet.h"

namespace headgate::core {

/// What one look at a frame tells of nearly all packets: untagged Ethernet, an IP header without options or
/// extensions, a whole TCP segment or UDP datagram. It agrees with parse() wherever it knows anything.
struct Glance {
  std::uint64_t hash;     ///< of the flow; 0 of any other packet
  std::uint16_t payload;  ///< of plain TCP: the bytes beyond its header
  /// Such a packet, with time to live left, that neither opens nor ends a connection: TCP with ACK and
  /// without SYN, FIN and RST; UDP. None of any other packet, at which parse() has to look.
  Transport plain;
};

inline constexpr Transport kTcp4{Protocol::tcp, false}, kTcp6{Protocol::tcp, true},
    kUdp4{Protocol::udp, false}, kUdp6{Protocol::udp, true};
inline constexpr std::array kUsual{kTcp4, kTcp6, kUdp4, kUdp6};

namespace glance {

/// Sixteen bytes of a frame from its Ethernet type on: what they have to be of a usual packet is told by one
/// comparison under a mask. Of IPv4: type, version and header length, no fragment, protocol. Of IPv6: type,
/// version, next header.
[[gnu::always_inline]] inline bool is(__m128i start, Transport transport) noexcept {
  const auto protocol = static_cast<char>(transport.protocol());
  constexpr auto kType0 = static_cast<char>(0x86), kType1 = static_cast<char>(0xdd);
  const __m128i mask = transport.v6() ? _mm_setr_epi8(-1, -1, -16, 0, 0, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0)
                                      : _mm_setr_epi8(-1, -1, -1, 0, 0, 0, 0, 0, 0x3f, -1, 0, -1, 0, 0, 0, 0);
  const __m128i wanted =
      transport.v6() ? _mm_setr_epi8(kType0, kType1, 0x60, 0, 0, 0, 0, 0, protocol, 0, 0, 0, 0, 0, 0, 0)
                     : _mm_setr_epi8(0x08, 0, 0x45, 0, 0, 0, 0, 0, 0, 0, 0, protocol, 0, 0, 0, 0);
  return _mm_testz_si128(_mm_xor_si128(start, wanted), mask) != 0;
}

/// Whether lengths, checksum and addresses of a packet with that start are right; if so, `out` is filled.
template <Transport transport>
[[gnu::always_inline]] inline bool look_at(const Frame& frame, const HashSeed& seed, Glance& out) noexcept {
  constexpr bool v6 = transport.v6();
  constexpr std::uint32_t kHeader = v6 ? kIp6Header : kIpHeader;
  const std::uint8_t* ip = frame.data + offset::ip;
  const std::uint8_t* l4 = ip + kHeader;
  if (v6 && frame.length < kEthernetHeader + kIp6Header + kTcpHeader) return false;
  const std::uint32_t length =
      v6 ? kIp6Header + load16(ip + offset::ip6_length) : load16(ip + offset::ip_length);
  if (length + kEthernetHeader > frame.length) return false;
  if (!v6 && !sums_to_ones(ip)) return false;
  // IPv4-mapped addresses, which parse() refuses, have no first word.
  if (v6 && !all(load_raw64(ip + offset::ip6_source) != 0, load_raw64(ip + offset::ip6_destination) != 0))
    return false;
  bool plain = ip[v6 ? offset::ip6_hop_limit : offset::ip_ttl] > 1;
  if constexpr (transport.is_tcp()) {
    const std::uint32_t word = load_raw16(l4 + offset::tcp_data_offset);
    const auto header = static_cast<std::int32_t>(word >> 2 & 0x3c);
    const auto payload = static_cast<std::int32_t>(length - kHeader) - header;
    if ((payload | (header - static_cast<std::int32_t>(kTcpHeader))) < 0) return false;  // either
    plain = plain && is_plain(static_cast<std::uint8_t>(word >> 8));
    out.payload = static_cast<std::uint16_t>(payload);
  } else {
    const auto datagram = static_cast<std::int32_t>(load16(l4 + offset::udp_length));
    const auto beyond = static_cast<std::int32_t>(length - kHeader) - datagram;
    if ((beyond | (datagram - static_cast<std::int32_t>(kUdpHeader))) < 0) return false;
    if (v6 && load_raw16(l4 + offset::udp_checksum) == 0) return false;
  }
  const std::uint64_t addresses = v6 ? hashing::addresses(words(ip6(ip + offset::ip6_source)),
                                                          words(ip6(ip + offset::ip6_destination)), seed)
                                     : load_raw64(ip + offset::ip_source);
  out.hash = hash(addresses, load_raw32(l4), transport, seed);
  out.plain = plain ? transport : Transport{};
  return true;
}

}  // namespace glance

/// Looks at a frame. Reads nothing outside of it.
[[gnu::always_inline]] inline void look(const Frame& frame, const HashSeed& seed, Glance& out) noexcept {
  // Nothing that is shorter goes over a wire; a veth may pad nothing, and that is left to parse().
  if (frame.length >= kEthernetHeader + kIpHeader + kTcpHeader) [[likely]] {
    const __m128i start =
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(frame.data + offset::ethernet_type));
    if (glance::is(start, kTcp4)) [[likely]] {
      if (glance::look_at<kTcp4>(frame, seed, out)) [[likely]]
        return;
    } else if (glance::is(start, kTcp6)) {
      if (glance::look_at<kTcp6>(frame, seed, out)) [[likely]]
        return;
    } else if (glance::is(start, kUdp4)) {
      if (glance::look_at<kUdp4>(frame, seed, out)) [[likely]]
        return;
    } else if (glance::is(start, kUdp6)) {
      if (glance::look_at<kUdp6>(frame, seed, out)) [[likely]]
        return;
    }
  }
  out = {};
}

/// What parse() finds in a frame of which look() knows the hash, for less.
[[nodiscard]] inline Parsed parsed_of(const Frame& frame) noexcept {
  const std::uint8_t* ip = frame.data + offset::ip;
  Parsed parsed;
  parsed.shape = Shape::whole;
  parsed.v6 = *ip / 16 == 6;
  const std::size_t header = parsed.v6 ? kIp6Header : kIpHeader;
  parsed.protocol = static_cast<Protocol>(ip[parsed.v6 ? offset::ip6_next : offset::ip_protocol]);
  parsed.ttl = ip[parsed.v6 ? offset::ip6_hop_limit : offset::ip_ttl];
  parsed.key.source = parsed.v6 ? ip6(ip + offset::ip6_source) : mapped(ip + offset::ip_source);
  parsed.key.destination =
      parsed.v6 ? ip6(ip + offset::ip6_destination) : mapped(ip + offset::ip_destination);
  const std::uint8_t* l4 = ip + header;
  parsed.key.source_port = load16(l4 + offset::source_port);
  parsed.key.destination_port = load16(l4 + offset::destination_port);
  parsed.l4 = static_cast<std::uint16_t>(kEthernetHeader + header);
  parsed.end = static_cast<std::uint16_t>(parsed.v6 ? parsed.l4 + load16(ip + offset::ip6_length)
                                                    : kEthernetHeader + load16(ip + offset::ip_length));
  if (parsed.is_tcp()) parsed.flags = l4[offset::tcp_flags] & 0x3f;
  return parsed;
}

}  // namespace headgate::core
