// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>

#include "dataplane/core/checksum.h"
#include "dataplane/core/packet.h"
#include "dataplane/core/shared.h"

namespace headgate::core {

/// One less in the first byte of its word: what an IPv4 checksum has to learn of a hop, the same for every
/// packet.
constexpr std::uint16_t kTtlDelta = delta(1, 0);

/// A UDP checksum field after a replacement: none stays none over IPv4, and a computed zero is sent as ones
/// (RFC 768).
[[nodiscard]] constexpr std::uint16_t updated_udp(std::uint16_t field, std::uint16_t delta) noexcept {
  if (field == 0) return 0;
  const std::uint16_t sum = updated(field, delta);
  return sum == 0 ? std::uint16_t{0xffff} : sum;
}

/// Of an incremental correction, the opposite one for the server's direction.
[[nodiscard]] constexpr std::uint16_t directed(std::uint16_t delta, Side from) noexcept {
  return static_cast<std::uint16_t>(from == Side::client ? delta : delta ^ 0xffff);
}

/// Translates the IP header of a packet of a session, one hop further: all there is to be done for a fragment
/// after the first.
[[gnu::always_inline]] inline void rewrite_ip(std::uint8_t* frame, const Parsed& parsed,
                                              const Shared::Binding& binding, Side from) noexcept {
  const bool client = from == Side::client;
  const Ip& address = client ? binding.rip : binding.vip;
  std::uint8_t* ip = frame + offset::ip;
  if (parsed.v6) {
    std::memcpy(ip + (client ? offset::ip6_destination : offset::ip6_source), address.octets.data(), 16);
    --ip[offset::ip6_hop_limit];
    return;
  }
  const std::uint16_t ip_delta = add(directed(binding.address_delta, from), kTtlDelta);
  store_raw16(ip + offset::ip_checksum, updated(load_raw16(ip + offset::ip_checksum), ip_delta));
  std::memcpy(ip + (client ? offset::ip_destination : offset::ip_source), address.octets.data() + 12, 4);
  --ip[offset::ip_ttl];
}

/// Translates a whole packet of a session, or a first fragment, one hop further: from the client, the VIP and
/// its port become the real server's; from the server, the other way round. Checksums are corrected
/// incrementally (RFC 1624).
[[gnu::always_inline]] inline void rewrite(std::uint8_t* frame, const Parsed& parsed,
                                           const Shared::Binding& binding, Side from) noexcept {
  const bool client = from == Side::client;
  const L4Port port = client ? binding.rport : binding.vport;
  const std::uint16_t l4_delta = directed(binding.l4_delta, from);
  std::uint8_t* l4 = frame + parsed.l4;
  store16(l4 + (client ? offset::destination_port : offset::source_port), port);
  if (parsed.is_tcp()) {
    store_raw16(l4 + offset::tcp_checksum, updated(load_raw16(l4 + offset::tcp_checksum), l4_delta));
  } else {
    store_raw16(l4 + offset::udp_checksum, updated_udp(load_raw16(l4 + offset::udp_checksum), l4_delta));
  }
  rewrite_ip(frame, parsed, binding, from);
}

}  // namespace headgate::core
