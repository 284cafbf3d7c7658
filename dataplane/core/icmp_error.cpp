// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/icmp_error.h"

#include <algorithm>
#include <array>

#include "dataplane/core/bytes.h"
#include "dataplane/core/checksum.h"
#include "dataplane/core/ethernet.h"

namespace headgate::core {
namespace {

constexpr std::size_t kIp = kEthernetHeader;
constexpr std::size_t kLeastQuote = 8;  // of the transport header (RFC 792)

// Where the addresses are in an IP header of either family.
constexpr std::size_t source_at(bool v6) noexcept {
  return v6 ? 8 : 12;
}
constexpr std::size_t destination_at(bool v6) noexcept {
  return v6 ? 24 : 16;
}
constexpr std::size_t address_size(bool v6) noexcept {
  return v6 ? 16 : 4;
}

bool refused_type(bool v6, std::uint8_t type) noexcept {
  return v6 ? type == icmp6::redirect : type == icmp4::redirect || type == icmp4::source_quench;
}

bool balanced(std::uint8_t protocol) noexcept {
  return protocol == static_cast<std::uint8_t>(Protocol::tcp) ||
         protocol == static_cast<std::uint8_t>(Protocol::udp);
}

/// What a checksum has to learn when the address and port of one end are replaced.
struct Change {
  std::uint16_t address = 0;
  std::uint16_t both = 0;
};

std::uint16_t sum_of_port(L4Port port) noexcept {
  std::array<std::uint8_t, 2> bytes{};
  store16(bytes.data(), port);
  return load_raw16(bytes.data());
}

Change change(const std::uint8_t* old_address, bool v6, L4Port old_port, const Endpoint& with) noexcept {
  std::array<std::uint8_t, 16> fresh{};
  store_ip(fresh.data(), v6, with.address);
  const std::size_t size = address_size(v6);
  const std::uint16_t address = delta(sum_of(old_address, size), sum_of(fresh.data(), size));
  return {address, add(address, delta(sum_of_port(old_port), sum_of_port(with.port)))};
}

// A UDP checksum of zero says "none" and stays; one that becomes zero is sent as 0xffff (RFC 768).
void update_l4(std::uint8_t* field, Protocol protocol, std::uint16_t by) noexcept {
  const std::uint16_t old = load_raw16(field);
  const bool udp = protocol == Protocol::udp;
  if (udp && old == 0) return;
  const std::uint16_t fresh = updated(old, by);
  store_raw16(field, udp && fresh == 0 ? std::uint16_t{0xffff} : fresh);
}

void translate_quoted(Frame& frame, bool v6, const IcmpError& error, const Endpoint& with,
                      bool source) noexcept {
  std::uint8_t* ip = frame.data + error.quoted;
  std::uint8_t* l4 = frame.data + error.quoted_l4;
  std::uint8_t* address = ip + (source ? source_at(v6) : destination_at(v6));
  std::uint8_t* port = l4 + (source ? 0 : 2);
  const Change by = change(address, v6, load16(port), with);
  store_ip(address, v6, with.address);
  store16(port, with.port);
  if (!v6) store_raw16(ip + 10, updated(load_raw16(ip + 10), by.address));
  const std::size_t field = error.protocol == Protocol::tcp ? 16 : 6;
  if (error.quoted_l4 + field + 2 <= error.end) update_l4(l4 + field, error.protocol, by.both);
}

void translate_outer(std::uint8_t* ip, bool v6, const Ip& address, bool destination) noexcept {
  store_ip(ip + (destination ? destination_at(v6) : source_at(v6)), v6, address);
  --ip[v6 ? 7 : 8];
  if (v6) return;
  store16(ip + 10, 0);
  store_raw16(ip + 10, static_cast<std::uint16_t>(~sum_of(ip, std::size_t{ip[0]} % 16 * 4)));
}

}  // namespace

std::uint16_t icmp_sum(const IpHeader& header, std::span<const std::uint8_t> message) noexcept {
  if (!header.v6) return sum_of(message.data(), message.size());
  std::array<std::uint8_t, 40> pseudo{};
  store_ip(pseudo.data(), true, header.source);
  store_ip(pseudo.data() + 16, true, header.destination);
  store32(pseudo.data() + 32, static_cast<std::uint32_t>(message.size()));
  pseudo[39] = icmp6::protocol;
  return sum_of(message.data(), message.size(), sum_of(pseudo.data(), pseudo.size()));
}

IcmpKind read_icmp(const Frame& frame, const IpHeader& outer, IcmpError& out) noexcept {
  const std::size_t size = outer.length - outer.l4;
  const std::uint8_t* icmp = frame.data + kIp + outer.l4;
  if (size < kIcmpHeader || !is_icmp_error(outer.v6, icmp[0])) return IcmpKind::other;

  IpHeader quoted;
  const std::uint8_t* inner = icmp + kIcmpHeader;
  const std::size_t room = size - kIcmpHeader;
  const HeaderFault fault = read_ip(inner, room, Extent::quoted, quoted);
  if (fault == HeaderFault::none && !balanced(quoted.protocol)) return IcmpKind::other;
  if (fault != HeaderFault::none || quoted.v6 != outer.v6) return IcmpKind::malformed;
  if (refused_type(outer.v6, icmp[0])) return IcmpKind::refused;
  if (quoted.later_fragment() || room < quoted.l4 + kLeastQuote) return IcmpKind::malformed;
  if (quoted.source != outer.destination) return IcmpKind::malformed;
  if (icmp_sum(outer, {icmp, size}) != 0xffff) return IcmpKind::checksum;

  const std::uint8_t* l4 = inner + quoted.l4;
  out.about = {quoted.source, quoted.destination, load16(l4), load16(l4 + 2)};
  out.protocol = static_cast<Protocol>(quoted.protocol);
  out.icmp = static_cast<std::uint16_t>(kIp + outer.l4);
  out.quoted = static_cast<std::uint16_t>(out.icmp + kIcmpHeader);
  out.quoted_l4 = static_cast<std::uint16_t>(out.quoted + quoted.l4);
  out.end = static_cast<std::uint16_t>(kIp + outer.length);
  return IcmpKind::error;
}

void translate(Frame& frame, const IpHeader& outer, const IcmpError& error, const Endpoint& with,
               bool quotes_source) noexcept {
  translate_quoted(frame, outer.v6, error, with, quotes_source);
  translate_outer(frame.data + kIp, outer.v6, with.address, quotes_source);
  IpHeader fresh = outer;
  (quotes_source ? fresh.destination : fresh.source) = with.address;
  std::uint8_t* icmp = frame.data + error.icmp;
  store16(icmp + 2, 0);
  const std::size_t size = error.end - error.icmp;
  store_raw16(icmp + 2, static_cast<std::uint16_t>(~icmp_sum(fresh, {icmp, size})));
}

}  // namespace headgate::core
