// SPDX-License-Identifier: Apache-2.0
#include "tests/packet/wire.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace headgate::testing {
namespace {

constexpr std::uint8_t kFragmentHeader = 44;

void put_address(Bytes& out, const Ip& address, bool ipv6) {
  if (ipv6) {
    out.insert(out.end(), address.octets.begin(), address.octets.end());
  } else {
    put32(out, address.v4().value);
  }
}

// RFC 9293, 3.1 and RFC 8200, 8.1. With the length in 32 bits for both: the sum is the same.
Bytes pseudo_header(const Packet& packet, std::size_t length) {
  Bytes out;
  put_address(out, packet.source, packet.is_ipv6());
  put_address(out, packet.destination, packet.is_ipv6());
  put32(out, static_cast<std::uint32_t>(length));
  put32(out, packet.protocol);
  return out;
}

void append_text(Bytes& out, const std::string& text) {
  out.insert(out.end(), text.begin(), text.end());
}

Bytes tcp_segment(const Packet& packet) {
  Bytes out;
  put16(out, packet.source_port);
  put16(out, packet.destination_port);
  put32(out, packet.sequence);
  put32(out, packet.acknowledgement);
  out.push_back(static_cast<std::uint8_t>((20 + packet.options.size()) / 4 << 4));
  out.push_back(packet.flags);
  put16(out, packet.window);
  put16(out, 0);  // checksum
  put16(out, packet.urgent);
  append(out, packet.options);
  append_text(out, packet.payload);
  return out;
}

Bytes udp_datagram(const Packet& packet) {
  Bytes out;
  put16(out, packet.source_port);
  put16(out, packet.destination_port);
  put16(out, static_cast<std::uint32_t>(8 + packet.payload.size()));
  put16(out, 0);
  append_text(out, packet.payload);
  return out;
}

Bytes icmp_message(const Packet& packet) {
  Bytes out = {packet.icmp_type, packet.icmp_code};
  put16(out, 0);
  put32(out, packet.icmp_rest);
  append_text(out, packet.payload);
  return out;
}

std::uint16_t transport_checksum(const Packet& packet, const Bytes& transport) {
  Bytes summed = packet.protocol == kIcmp ? Bytes() : pseudo_header(packet, transport.size());
  append(summed, transport);
  const std::uint16_t sum = internet_checksum(summed);
  return packet.protocol == kUdp && sum == 0 ? 0xffff : sum;  // RFC 768: zero would mean "none"
}

Bytes sealed(const Packet& packet, Bytes transport, std::size_t checksum_at) {
  const std::uint16_t right = transport_checksum(packet, transport);
  set16(transport, checksum_at, packet.checksum.value_or(right));
  return transport;
}

Bytes transport(const Packet& packet) {
  if (packet.raw) return {packet.payload.begin(), packet.payload.end()};
  switch (packet.protocol) {
    case kTcp:
      return sealed(packet, tcp_segment(packet), 16);
    case kUdp:
      return sealed(packet, udp_datagram(packet), 6);
    case kIcmp:
    case kIcmp6:
      return sealed(packet, icmp_message(packet), 2);
    default:
      return {packet.payload.begin(), packet.payload.end()};
  }
}

Bytes over_ipv4(const Packet& packet, const Bytes& inside) {
  const std::size_t header = 20 + packet.ip_options.size();
  Bytes out = {static_cast<std::uint8_t>(0x40 + header / 4), packet.traffic_class};
  put16(out, static_cast<std::uint32_t>(header + inside.size()));
  put16(out, packet.identification);
  put16(out, packet.fragment);
  out.push_back(packet.time_to_live);
  out.push_back(packet.protocol);
  put16(out, 0);
  put_address(out, packet.source, false);
  put_address(out, packet.destination, false);
  append(out, packet.ip_options);
  set16(out, 10, internet_checksum(out));
  append(out, inside);
  return out;
}

// The fragment header (RFC 8200, 4.5): the offset stands in the upper 13 bits, "more" in the lowest.
Extension fragment_header(const Packet& packet) {
  Extension out{.protocol = kFragmentHeader, .octets = {0, 0}};
  const auto more = static_cast<unsigned>((packet.fragment & kMoreFragments) != 0);
  put16(out.octets, static_cast<std::uint32_t>((packet.fragment & 0x1fff) << 3) | more);
  put32(out.octets, packet.identification);
  return out;
}

Bytes over_ipv6(const Packet& packet, const Bytes& inside) {
  std::vector<Extension> extensions = packet.extensions;
  if (packet.is_fragment() || packet.fragment_header) extensions.push_back(fragment_header(packet));
  Bytes chain;
  for (std::size_t i = 0; i < extensions.size(); ++i) {
    extensions[i].octets[0] = i + 1 < extensions.size() ? extensions[i + 1].protocol : packet.protocol;
    append(chain, extensions[i].octets);
  }
  Bytes out;
  put32(out, 6u << 28 | std::uint32_t{packet.traffic_class} << 20 | packet.flow_label);
  put16(out, static_cast<std::uint32_t>(chain.size() + inside.size()));
  out.push_back(extensions.empty() ? packet.protocol : extensions.front().protocol);
  out.push_back(packet.time_to_live);
  put_address(out, packet.source, true);
  put_address(out, packet.destination, true);
  append(out, chain);
  append(out, inside);
  return out;
}

template <class Field, class Value>
Packet with(Packet packet, Field Packet::*field, Value value) {
  packet.*field = std::move(value);
  return packet;
}

Bytes frame(const Packet& packet, const Mac& destination, const Mac& source) {
  Bytes out(destination.octets.begin(), destination.octets.end());
  out.insert(out.end(), source.octets.begin(), source.octets.end());
  put16(out, packet.is_ipv6() ? 0x86dd : 0x0800);
  append(out, packet.datagram());
  if (out.size() < packet.padding) out.resize(packet.padding, 0);
  return out;
}

}  // namespace

Ipv4 address(std::string_view text) {
  const auto parsed = Ipv4::parse(text);
  if (!parsed) std::abort();
  return *parsed;
}

Ip host(std::string_view text) {
  const auto parsed = Ip::parse(text);
  if (!parsed) std::abort();
  return *parsed;
}

Mac mac_of_host(const Ip& host) {
  const auto& octets = host.octets;
  const std::uint8_t family = host.is_v4() || host.none() ? 1 : 6;
  return {{0x02, family, octets[12], octets[13], octets[14], octets[15]}};
}

Mac mac_of_port(unsigned port) {
  return {{0x02, 0, 0, 0, 0, static_cast<std::uint8_t>(port)}};
}

std::uint16_t internet_checksum(const Bytes& data) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < data.size(); ++i) sum += i % 2 == 0 ? data[i] << 8 : data[i];
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

Packet ip(const Ip& source, const Ip& destination) {
  return {.source = source, .destination = destination};
}

Packet ip(std::string_view source, std::string_view destination) {
  return ip(host(source), host(destination));
}

Packet Packet::tcp(std::uint16_t from, std::uint16_t to, std::uint8_t control, std::string_view data) const {
  Packet next = *this;
  next.protocol = kTcp;
  next.source_port = from;
  next.destination_port = to;
  next.flags = control;
  next.payload = data;
  return next;
}

Packet Packet::udp(std::uint16_t from, std::uint16_t to, std::string_view data) const {
  Packet next = tcp(from, to, 0, data);
  next.protocol = kUdp;
  return next;
}

Packet Packet::icmp(std::uint8_t type, std::uint8_t code, std::uint32_t rest, std::string_view data) const {
  Packet next = *this;
  next.protocol = is_ipv6() ? kIcmp6 : kIcmp;
  next.icmp_type = type;
  next.icmp_code = code;
  next.icmp_rest = rest;
  next.payload = data;
  return next;
}

Packet Packet::about(const Packet& packet, std::size_t octets) const {
  const Bytes whole = packet.datagram();
  const std::size_t header = packet.is_ipv6() ? 40 : 20 + packet.ip_options.size();
  Packet next = *this;
  next.payload.assign(whole.begin(),
                      whole.begin() + static_cast<std::ptrdiff_t>(std::min(whole.size(), header + octets)));
  return next;
}

Packet Packet::carrying(std::uint8_t value, const Bytes& octets) const {
  Packet next = *this;
  next.protocol = value;
  next.raw = true;
  next.payload.assign(octets.begin(), octets.end());
  return next;
}

Packet Packet::seq(std::uint32_t value) const {
  return with(*this, &Packet::sequence, value);
}

Packet Packet::ack(std::uint32_t value) const {
  return with(*this, &Packet::acknowledgement, value);
}

Packet Packet::ttl(std::uint8_t value) const {
  return with(*this, &Packet::time_to_live, value);
}

Packet Packet::of_protocol(std::uint8_t value) const {
  return with(*this, &Packet::protocol, value);
}

Packet Packet::fragmented(std::uint16_t value) const {
  return with(*this, &Packet::fragment, value);
}

Packet Packet::id(std::uint32_t value) const {
  return with(*this, &Packet::identification, value);
}

Packet Packet::classed(std::uint8_t value, std::uint32_t label) const {
  Packet next = *this;
  next.traffic_class = value;
  next.flow_label = label;
  return next;
}

Packet Packet::with_options(Bytes value) const {
  return with(*this, &Packet::options, std::move(value));
}

Packet Packet::with_ip_options(Bytes value) const {
  return with(*this, &Packet::ip_options, std::move(value));
}

Packet Packet::with_extension(std::uint8_t number, Bytes octets) const {
  Packet next = *this;
  next.extensions.push_back({number, std::move(octets)});
  return next;
}

Packet Packet::with_checksum(std::uint16_t value) const {
  return with(*this, &Packet::checksum, value);
}

Packet Packet::padded(std::size_t frame_size) const {
  return with(*this, &Packet::padding, frame_size);
}

Packet Packet::via(std::string_view neighbour) const {
  return with(*this, &Packet::hop, host(neighbour));
}

std::vector<Packet> Packet::fragments(std::size_t octets, std::uint32_t number) const {
  const Bytes whole = transport(*this);
  std::vector<Packet> out;
  for (std::size_t at = 0; at < whole.size(); at += octets) {
    const std::size_t end = std::min(whole.size(), at + octets);
    Packet part = ip(source, destination).carrying(protocol, slice(whole, at, end)).ttl(time_to_live);
    part = part.id(number).classed(traffic_class, flow_label);
    part.hop = hop;
    part.fragment = static_cast<std::uint16_t>(at / 8);
    if (end < whole.size()) part.fragment |= kMoreFragments;
    out.push_back(std::move(part));
  }
  return out;
}

Bytes Packet::datagram() const {
  const Bytes inside = transport(*this);
  return is_ipv6() ? over_ipv6(*this, inside) : over_ipv4(*this, inside);
}

Packet Packet::reply(std::uint8_t control, std::string_view data) const {
  return ip(destination, source).tcp(destination_port, source_port, control, data);
}

Packet Packet::answer(std::string_view data) const {
  return ip(destination, source).udp(destination_port, source_port, data);
}

Wire Packet::in(unsigned port) const {
  return {port, frame(*this, mac_of_port(port), mac_of_host(hop.value_or(source)))};
}

Wire Packet::out(unsigned port) const {
  return {port, frame(*this, mac_of_host(hop.value_or(destination)), mac_of_port(port))};
}

Packet reset(const Packet& flow) {
  return flow.padded(60);
}

}  // namespace headgate::testing
