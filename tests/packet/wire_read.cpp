// SPDX-License-Identifier: Apache-2.0
// Frames read back: into packets, and into words.
#include <algorithm>
#include <ostream>

#include <fmt/format.h>

#include "tests/packet/wire.h"

namespace headgate::testing {
namespace {

constexpr std::size_t kEthernet = 14;
constexpr std::uint8_t kHopByHop = 0, kRouting = 43, kFragmentHeader = 44, kDestinationOptions = 60;

/// An IP datagram taken apart: the packet so far, and where its transport begins and ends.
struct Opened {
  Packet packet;
  std::size_t begin = 0;
  std::size_t end = 0;
};

Ip address_at(const Bytes& in, std::size_t at) {
  Ip out;
  std::copy_n(in.begin() + static_cast<std::ptrdiff_t>(at), 16, out.octets.begin());
  return out;
}

std::string text_of(const Bytes& in, std::size_t begin, std::size_t end) {
  return {in.begin() + static_cast<std::ptrdiff_t>(begin), in.begin() + static_cast<std::ptrdiff_t>(end)};
}

std::optional<Opened> open_ipv4(const Bytes& in) {
  if (in.size() < 20 || in[0] / 16 != 4) return {};
  const std::size_t header = in[0] % 16 * 4u;
  const std::size_t length = get16(in, 2);
  if (header < 20 || length < header || length > in.size()) return {};
  if (internet_checksum(slice(in, 0, header)) != 0) return {};
  Opened out{.packet = ip(Ipv4{get32(in, 12)}, Ipv4{get32(in, 16)}), .begin = header, .end = length};
  out.packet.traffic_class = in[1];
  out.packet.identification = get16(in, 4);
  out.packet.fragment = get16(in, 6);
  out.packet.time_to_live = in[8];
  out.packet.protocol = in[9];
  out.packet.ip_options = slice(in, 20, header);
  return out;
}

void take_fragment_header(const Bytes& in, Opened& out) {
  const std::uint16_t word = get16(in, out.begin + 2);
  out.packet.fragment = static_cast<std::uint16_t>(word >> 3);
  if ((word & 1) != 0) out.packet.fragment |= kMoreFragments;
  out.packet.identification = get32(in, out.begin + 4);
  out.packet.fragment_header = !out.packet.is_fragment();
}

// Goes over one extension header; false when it is cut off.
bool skip_extension(const Bytes& in, Opened& out) {
  if (out.begin + 8 > out.end) return false;
  const std::uint8_t kind = out.packet.protocol;
  const std::size_t size = kind == kFragmentHeader ? 8 : 8 + in[out.begin + 1] * 8u;
  if (out.begin + size > out.end) return false;
  out.packet.protocol = in[out.begin];
  if (kind == kFragmentHeader) {
    take_fragment_header(in, out);
  } else {
    out.packet.extensions.push_back({kind, slice(in, out.begin, out.begin + size)});
    out.packet.extensions.back().octets[0] = 0;  // what follows is told by the order
  }
  out.begin += size;
  return true;
}

std::optional<Opened> open_ipv6(const Bytes& in) {
  if (in.size() < 40 || in[0] / 16 != 6) return {};
  Opened out{.packet = ip(address_at(in, 8), address_at(in, 24)), .begin = 40, .end = 40u + get16(in, 4)};
  if (out.end > in.size()) return {};
  out.packet.traffic_class = static_cast<std::uint8_t>(get16(in, 0) >> 4);
  out.packet.flow_label = get32(in, 0) & 0xfffff;
  out.packet.protocol = in[6];
  out.packet.time_to_live = in[7];
  const auto extends = [&] {
    const std::uint8_t kind = out.packet.protocol;
    return kind == kHopByHop || kind == kRouting || kind == kFragmentHeader || kind == kDestinationOptions;
  };
  bool fragmented = false;
  while (extends() && !fragmented) {
    fragmented = out.packet.protocol == kFragmentHeader;
    if (!skip_extension(in, out)) return {};
  }
  return out;
}

bool read_tcp(const Bytes& in, Packet& packet) {
  if (in.size() < 20) return false;
  const std::size_t header = in[12] / 16 * 4u;
  if (header < 20 || header > in.size()) return false;
  packet.source_port = get16(in, 0);
  packet.destination_port = get16(in, 2);
  packet.sequence = get32(in, 4);
  packet.acknowledgement = get32(in, 8);
  packet.flags = in[13];
  packet.window = get16(in, 14);
  packet.urgent = get16(in, 18);
  packet.options = slice(in, 20, header);
  packet.payload = text_of(in, header, in.size());
  return true;
}

bool read_udp(const Bytes& in, Packet& packet) {
  if (in.size() < 8 || get16(in, 4) != in.size()) return false;
  packet.source_port = get16(in, 0);
  packet.destination_port = get16(in, 2);
  packet.payload = text_of(in, 8, in.size());
  if (get16(in, 6) == 0) packet.checksum = 0;
  return get16(in, 6) != 0 || !packet.is_ipv6();
}

bool read_icmp(const Bytes& in, Packet& packet) {
  if (in.size() < 8) return false;
  packet.icmp_type = in[0];
  packet.icmp_code = in[1];
  packet.icmp_rest = get32(in, 4);
  packet.payload = text_of(in, 8, in.size());
  return true;
}

// What the writer makes of the same fields: the whole datagram has to come out again, with the checksums.
bool read_transport(const Bytes& in, Packet& packet) {
  if (packet.is_fragment()) {
    packet.raw = true;
    packet.payload = text_of(in, 0, in.size());
    return true;
  }
  switch (packet.protocol) {
    case kTcp:
      return read_tcp(in, packet);
    case kUdp:
      return read_udp(in, packet);
    case kIcmp:
    case kIcmp6:
      return read_icmp(in, packet);
    default:
      packet.raw = true;
      packet.payload = text_of(in, 0, in.size());
      return true;
  }
}

std::string flag_letters(std::uint8_t flags) {
  std::string out;
  for (int bit = 0; bit < 8; ++bit) {
    if ((flags >> bit & 1) != 0) out.push_back("FSRPAUEC"[bit]);
  }
  return out.empty() ? "-" : out;
}

std::string endpoint(const Ip& address, std::uint16_t port, bool with_port) {
  if (!with_port) return address.text();
  const bool ipv6 = !address.is_v4() && !address.none();
  return fmt::format("{}{}{}:{}", ipv6 ? "[" : "", address.text(), ipv6 ? "]" : "", port);
}

std::string transport_words(const Packet& packet) {
  if (packet.raw) return fmt::format("protocol {}", packet.protocol);
  switch (packet.protocol) {
    case kTcp:
      return fmt::format("{} seq {} ack {}", flag_letters(packet.flags), packet.sequence,
                         packet.acknowledgement);
    case kUdp:
      return packet.checksum ? fmt::format("udp sum {:04x}", *packet.checksum) : "udp";
    case kIcmp:
    case kIcmp6:
      return fmt::format("icmp {}/{} rest {}", packet.icmp_type, packet.icmp_code, packet.icmp_rest);
    default:
      return fmt::format("protocol {}", packet.protocol);
  }
}

std::string fragment_words(const Packet& packet) {
  if (!packet.is_fragment()) return packet.fragment_header ? " atomic fragment" : "";
  return fmt::format(" fragment {} at {}{}", packet.identification, (packet.fragment & 0x1fff) * 8,
                     (packet.fragment & kMoreFragments) != 0 ? " more" : "");
}

std::string hex(const Bytes& bytes) {
  std::string out;
  for (const std::uint8_t byte : bytes) out += fmt::format("{:02x}", byte);
  return out;
}

/// Where a frame's octets belong, for those that differ.
std::string_view part_of(std::size_t at, bool ipv6) {
  if (at < kEthernet) return "Ethernet";
  return at < kEthernet + (ipv6 ? 40u : 20u) ? "IP" : "transport";
}

}  // namespace

std::optional<Packet> decode(const Bytes& frame) {
  if (frame.size() < kEthernet) return {};
  const std::uint16_t kind = get16(frame, 12);
  const Bytes datagram = slice(frame, kEthernet, frame.size());
  auto opened = kind == 0x0800 ? open_ipv4(datagram) : kind == 0x86dd ? open_ipv6(datagram) : std::nullopt;
  if (!opened || !read_transport(slice(datagram, opened->begin, opened->end), opened->packet)) return {};
  if (opened->packet.datagram() != slice(datagram, 0, opened->end)) return {};
  if (opened->end < datagram.size()) opened->packet.padding = frame.size();
  return opened->packet;
}

std::string describe(const Packet& packet) {
  const bool ports = !packet.raw && (packet.protocol == kTcp || packet.protocol == kUdp);
  return fmt::format("{} > {} {} ttl {} len {}{}", endpoint(packet.source, packet.source_port, ports),
                     endpoint(packet.destination, packet.destination_port, ports), transport_words(packet),
                     packet.time_to_live, packet.payload.size(), fragment_words(packet));
}

std::ostream& operator<<(std::ostream& out, const Packet& packet) {
  return out << describe(packet);
}

std::ostream& operator<<(std::ostream& out, const Wire& wire) {
  const auto packet = decode(wire.bytes);
  return out << "port " << wire.port << ": " << (packet ? describe(*packet) : "no valid packet") << " ["
             << hex(wire.bytes) << "]";
}

std::string differences(const Wire& expected, const Wire& actual) {
  std::string out;
  if (expected.port != actual.port) out += fmt::format("port {} not {}\n", actual.port, expected.port);
  if (expected.bytes.size() != actual.bytes.size())
    out += fmt::format("{} octets not {}\n", actual.bytes.size(), expected.bytes.size());
  const bool ipv6 = expected.bytes.size() >= kEthernet && get16(expected.bytes, 12) == 0x86dd;
  for (std::size_t at = 0; at < std::min(expected.bytes.size(), actual.bytes.size()); ++at) {
    if (expected.bytes[at] == actual.bytes[at]) continue;
    out += fmt::format("{} octet {}: {:02x} not {:02x}\n", part_of(at, ipv6), at, actual.bytes[at],
                       expected.bytes[at]);
  }
  return out;
}

}  // namespace headgate::testing
