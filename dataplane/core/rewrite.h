// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>

#include "dataplane/core/checksum.h"
#include "dataplane/core/packet.h"
#include "dataplane/core/shared.h"
#include "dataplane/core/side.h"

namespace headgate::core {

/// A UDP checksum field after a replacement: none stays none over IPv4, and a computed zero is sent as ones
/// (RFC 768).
[[nodiscard]] constexpr std::uint16_t updated_udp(std::uint16_t field, std::uint16_t delta) noexcept {
  if (field == 0) return 0;
  const std::uint16_t sum = updated(field, delta);
  return sum == 0 ? std::uint16_t{0xffff} : sum;
}

/// Translates the IP header of a packet of a session, one hop further: all there is to be done for a fragment
/// after the first. `near` is the binding's end that the packet names, `far` the one that takes its place.
[[gnu::always_inline]] inline void rewrite_ip(std::uint8_t* ip, bool v6, const Shared::Binding::End& near,
                                              const Shared::Binding::End& far, Side from) noexcept {
  const auto to = static_cast<std::size_t>(other(from));
  if (v6) {
    std::memcpy(ip + offset::ip6_source + 16 * to, far.address.octets.data(), 16);
    --ip[offset::ip6_hop_limit];
    return;
  }
  store_raw16(ip + offset::ip_checksum, updated(load_raw16(ip + offset::ip_checksum), near.ip_delta));
  std::memcpy(ip + offset::ip_source + 4 * to, far.address.octets.data() + 12, 4);
  --ip[offset::ip_ttl];
}

[[gnu::always_inline]] inline void rewrite_port(std::uint8_t* l4, const Shared::Binding::End& far,
                                                Side from) noexcept {
  store16(l4 + offset::source_port + 2 * static_cast<std::size_t>(other(from)), far.port);
}
[[gnu::always_inline]] inline void rewrite_tcp(std::uint8_t* l4, const Shared::Binding::End& near) noexcept {
  store_raw16(l4 + offset::tcp_checksum, updated(load_raw16(l4 + offset::tcp_checksum), near.l4_delta));
}
[[gnu::always_inline]] inline void rewrite_udp(std::uint8_t* l4, const Shared::Binding::End& near) noexcept {
  store_raw16(l4 + offset::udp_checksum, updated_udp(load_raw16(l4 + offset::udp_checksum), near.l4_delta));
}

/// Translates a packet of a session, whole or a fragment, one hop further: from the client, the VIP and its
/// port become the real server's; from the server, the other way round. Checksums are corrected incrementally
/// (RFC 1624).
inline void rewrite(std::uint8_t* frame, const Parsed& parsed, const Shared::Binding& binding,
                    Side from) noexcept {
  const Shared::Binding::End& near = binding.end[from];
  const Shared::Binding::End& far = binding.end[other(from)];
  rewrite_ip(frame + offset::ip, parsed.v6, near, far, from);
  if (parsed.part == Part::later) return;
  rewrite_port(frame + parsed.l4, far, from);
  if (parsed.is_tcp())
    rewrite_tcp(frame + parsed.l4, near);
  else
    rewrite_udp(frame + parsed.l4, near);
}

}  // namespace headgate::core
