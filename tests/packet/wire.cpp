// SPDX-License-Identifier: Apache-2.0
#include "tests/packet/wire.h"

#include <cstdlib>
#include <ostream>

#include <fmt/format.h>

namespace headgate::testing {
namespace {

void put16(Bytes& out, std::uint32_t value) {
  out.push_back(static_cast<std::uint8_t>(value >> 8));
  out.push_back(static_cast<std::uint8_t>(value));
}

void put32(Bytes& out, std::uint32_t value) {
  put16(out, value >> 16);
  put16(out, value & 0xffff);
}

std::uint16_t get16(const Bytes& in, std::size_t at) {
  return static_cast<std::uint16_t>(in[at] << 8 | in[at + 1]);
}

std::uint32_t get32(const Bytes& in, std::size_t at) {
  return std::uint32_t{get16(in, at)} << 16 | get16(in, at + 2);
}

void set16(Bytes& out, std::size_t at, std::uint16_t value) {
  out[at] = static_cast<std::uint8_t>(value >> 8);
  out[at + 1] = static_cast<std::uint8_t>(value);
}

void append(Bytes& out, const Bytes& more) {
  out.insert(out.end(), more.begin(), more.end());
}

Bytes pseudo_header(const Packet& packet, std::size_t length) {
  Bytes out;
  put32(out, packet.source.value);
  put32(out, packet.destination.value);
  put16(out, packet.protocol);
  put16(out, static_cast<std::uint32_t>(length));
  return out;
}

Bytes segment(const Packet& packet) {
  Bytes out;
  put16(out, packet.source_port);
  put16(out, packet.destination_port);
  put32(out, packet.sequence);
  put32(out, packet.acknowledgement);
  out.push_back(static_cast<std::uint8_t>((20 + packet.options.size()) / 4 << 4));
  out.push_back(packet.flags);
  put16(out, packet.window);
  put32(out, 0);  // checksum and urgent pointer
  append(out, packet.options);
  out.insert(out.end(), packet.payload.begin(), packet.payload.end());
  Bytes summed = pseudo_header(packet, out.size());
  append(summed, out);
  set16(out, 16, internet_checksum(summed));
  return out;
}

Bytes datagram(const Packet& packet, const Bytes& inside) {
  Bytes out = {0x45, 0};
  put16(out, static_cast<std::uint32_t>(20 + inside.size()));
  put16(out, 0);
  put16(out, packet.fragment);
  out.push_back(packet.time_to_live);
  out.push_back(packet.protocol);
  put16(out, 0);
  put32(out, packet.source.value);
  put32(out, packet.destination.value);
  set16(out, 10, internet_checksum(out));
  append(out, inside);
  return out;
}

Bytes frame(const Packet& packet, const Mac& destination, const Mac& source) {
  Bytes out(destination.octets.begin(), destination.octets.end());
  out.insert(out.end(), source.octets.begin(), source.octets.end());
  put16(out, 0x0800);
  append(out, datagram(packet, segment(packet)));
  if (out.size() < packet.padding) out.resize(packet.padding, 0);
  return out;
}

bool sums_to_nothing(const Bytes& data) {
  return internet_checksum(data) == 0;
}

std::string flag_letters(std::uint8_t flags) {
  std::string out;
  for (int bit = 0; bit < 8; ++bit) {
    if ((flags >> bit & 1) != 0) out.push_back("FSRPAUEC"[bit]);
  }
  return out.empty() ? "-" : out;
}

}  // namespace

Ipv4 address(std::string_view text) {
  const auto parsed = Ipv4::parse(text);
  if (!parsed) std::abort();
  return *parsed;
}

Mac mac_of_host(Ipv4 host) {
  const auto octet = [&](unsigned shift) { return static_cast<std::uint8_t>(host.value >> shift); };
  return {{0x02, 0x01, octet(24), octet(16), octet(8), octet(0)}};
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

Packet ip(Ipv4 source, Ipv4 destination) {
  return {.source = source, .destination = destination};
}

Packet ip(std::string_view source, std::string_view destination) {
  return ip(address(source), address(destination));
}

Packet Packet::tcp(std::uint16_t from, std::uint16_t to, std::uint8_t control, std::string_view data) const {
  Packet next = *this;
  next.source_port = from;
  next.destination_port = to;
  next.flags = control;
  next.payload = data;
  return next;
}

Packet Packet::seq(std::uint32_t value) const {
  Packet next = *this;
  next.sequence = value;
  return next;
}

Packet Packet::ack(std::uint32_t value) const {
  Packet next = *this;
  next.acknowledgement = value;
  return next;
}

Packet Packet::ttl(std::uint8_t value) const {
  Packet next = *this;
  next.time_to_live = value;
  return next;
}

Packet Packet::of_protocol(std::uint8_t value) const {
  Packet next = *this;
  next.protocol = value;
  return next;
}

Packet Packet::fragmented(std::uint16_t value) const {
  Packet next = *this;
  next.fragment = value;
  return next;
}

Packet Packet::with_options(Bytes value) const {
  Packet next = *this;
  next.options = std::move(value);
  return next;
}

Packet Packet::padded(std::size_t frame_size) const {
  Packet next = *this;
  next.padding = frame_size;
  return next;
}

Packet Packet::via(std::string_view neighbour) const {
  Packet next = *this;
  next.hop = address(neighbour);
  return next;
}

Packet Packet::reply(std::uint8_t control, std::string_view data) const {
  return ip(destination, source).tcp(destination_port, source_port, control, data);
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

std::optional<Packet> decode(const Bytes& frame) {
  if (frame.size() < 54 || get16(frame, 12) != 0x0800 || frame[14] != 0x45 || frame[23] != 6) return {};
  const std::size_t length = get16(frame, 16);
  const std::size_t header = frame[46] / 16 * 4u;
  if (14 + length > frame.size() || header < 20 || length < 20 + header) return {};
  Packet packet =
      ip(Ipv4{get32(frame, 26)}, Ipv4{get32(frame, 30)}).tcp(get16(frame, 34), get16(frame, 36), frame[47]);
  packet.fragment = get16(frame, 20);
  packet.time_to_live = frame[22];
  packet.sequence = get32(frame, 38);
  packet.acknowledgement = get32(frame, 42);
  packet.window = get16(frame, 48);
  const auto at = [&](std::size_t offset) { return frame.begin() + static_cast<std::ptrdiff_t>(offset); };
  packet.options.assign(at(54), at(34 + header));
  packet.payload.assign(at(34 + header), at(14 + length));
  if (14 + length < frame.size()) packet.padding = frame.size();
  Bytes summed = pseudo_header(packet, length - 20);
  summed.insert(summed.end(), at(34), at(14 + length));
  if (!sums_to_nothing(summed) || !sums_to_nothing(Bytes(at(14), at(34)))) return {};
  return packet;
}

std::string describe(const Packet& packet) {
  return fmt::format("{}:{} > {}:{} {} seq {} ack {} ttl {} len {}", packet.source.text(), packet.source_port,
                     packet.destination.text(), packet.destination_port, flag_letters(packet.flags),
                     packet.sequence, packet.acknowledgement, packet.time_to_live, packet.payload.size());
}

std::ostream& operator<<(std::ostream& out, const Wire& wire) {
  out << "port " << wire.port << ": ";
  if (const auto packet = decode(wire.bytes)) {
    out << describe(*packet);
  } else {
    out << "no valid TCP";
  }
  out << " [";
  for (const std::uint8_t byte : wire.bytes) out << fmt::format("{:02x}", byte);
  return out << "]";
}

}  // namespace headgate::testing
