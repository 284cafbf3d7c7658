// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/ip_header.h"

#include <algorithm>
#include <cstring>

#include "dataplane/core/bytes.h"
#include "dataplane/core/checksum.h"

namespace headgate::core {
namespace {

constexpr std::size_t kHeader4 = 20;
constexpr std::size_t kHeader6 = 40;

// ---- IPv4

namespace option4 {
constexpr std::uint8_t end = 0, no_operation = 1, loose_route = 131, strict_route = 137;
}

HeaderFault check_options4(const std::uint8_t* options, std::size_t length) noexcept {
  while (length > 0 && options[0] != option4::end) {
    std::size_t size = 1;
    if (options[0] == option4::loose_route || options[0] == option4::strict_route)
      return HeaderFault::source_route;
    if (options[0] != option4::no_operation) {
      if (length < 2 || options[1] < 2 || options[1] > length) return HeaderFault::malformed;
      size = options[1];
    }
    options += size;
    length -= size;
  }
  return HeaderFault::none;
}

HeaderFault read_ip4(const std::uint8_t* ip, std::size_t room, Extent extent, IpHeader& out) noexcept {
  if (room < kHeader4) return HeaderFault::truncated;
  const std::size_t header = std::size_t{ip[0]} % 16 * 4;
  out.length = load16(ip + 2);
  if (header < kHeader4 || out.length < header) return HeaderFault::malformed;
  const bool whole = extent == Extent::whole;
  if (room < header || (whole && room < out.length)) return HeaderFault::truncated;
  if (whole && sum_of(ip, header) != 0xffff) return HeaderFault::checksum;
  const std::uint16_t fragment = load16(ip + 6);
  out.source = load_ip(ip + 12, false);
  out.destination = load_ip(ip + 16, false);
  out.more = (fragment & 0x2000) != 0;
  out.fragment_offset = static_cast<std::uint16_t>(fragment << 3);
  out.id = load16(ip + 4);
  out.protocol = ip[9];
  out.ttl = ip[8];
  out.l4 = static_cast<std::uint16_t>(header);
  return header == kHeader4 ? HeaderFault::none : check_options4(ip + kHeader4, header - kHeader4);
}

// ---- IPv6

namespace next6 {
constexpr std::uint8_t hop_by_hop = 0, routing = 43, fragment = 44, destination = 60;
}

// Options of a hop-by-hop or destination header (RFC 8200, 4.2): only their lengths are looked at.
bool options6_fit(const std::uint8_t* options, std::size_t length) noexcept {
  while (length > 0) {
    if (options[0] != 0 && length < 2) return false;
    const std::size_t size = options[0] == 0 ? 1 : std::size_t{options[1]} + 2;  // 0: Pad1
    if (size > length) return false;
    options += size;
    length -= size;
  }
  return true;
}

/// Follows a chain of extension headers through the bytes that are there.
class Extensions {
 public:
  Extensions(const std::uint8_t* ip, std::size_t end, IpHeader& out) noexcept
      : ip_(ip), end_(end), out_(out) {}

  HeaderFault follow() noexcept {
    for (std::size_t count = 0; extends(); ++count) {
      if (count == kMostExtensions) return HeaderFault::extensions;
      const HeaderFault fault = step(count);
      if (fault != HeaderFault::none) return fault;
      if (out_.l4 > kHeader6 + kMostExtensionBytes) return HeaderFault::extensions;
      if (out_.fragment()) break;  // what follows is a piece of something
    }
    return extends() ? HeaderFault::extensions : HeaderFault::none;
  }

 private:
  [[nodiscard]] bool extends() const noexcept {
    return out_.protocol == next6::hop_by_hop || out_.protocol == next6::routing ||
           out_.protocol == next6::fragment || out_.protocol == next6::destination;
  }

  HeaderFault step(std::size_t count) noexcept {
    if (end_ - out_.l4 < 8) return HeaderFault::truncated;
    const std::uint8_t* header = ip_ + out_.l4;
    const std::size_t size = out_.protocol == next6::fragment ? 8 : (std::size_t{header[1]} + 1) * 8;
    if (end_ - out_.l4 < size) return HeaderFault::truncated;
    const HeaderFault fault = check(header, size, count);
    out_.protocol = header[0];
    out_.l4 = static_cast<std::uint16_t>(out_.l4 + size);
    return fault;
  }

  HeaderFault check(const std::uint8_t* header, std::size_t size, std::size_t count) noexcept {
    if (out_.protocol == next6::fragment) return read_fragment(header);
    // A way that is not over yet has another destination behind the one that is balanced.
    if (out_.protocol == next6::routing)
      return header[2] == 0 || header[3] != 0 ? HeaderFault::source_route : HeaderFault::none;
    if (out_.protocol == next6::hop_by_hop && count != 0) return HeaderFault::malformed;
    return options6_fit(header + 2, size - 2) ? HeaderFault::none : HeaderFault::malformed;
  }

  HeaderFault read_fragment(const std::uint8_t* header) noexcept {
    if (seen_fragment_) return HeaderFault::malformed;
    seen_fragment_ = true;
    const std::uint16_t word = load16(header + 2);
    out_.fragment_offset = word & 0xfff8;
    out_.more = (word & 1) != 0;
    out_.id = load32(header + 4);
    return HeaderFault::none;
  }

  const std::uint8_t* ip_;
  std::size_t end_;
  IpHeader& out_;
  bool seen_fragment_ = false;
};

HeaderFault read_ip6(const std::uint8_t* ip, std::size_t room, Extent extent, IpHeader& out) noexcept {
  if (room < kHeader6) return HeaderFault::truncated;
  out.v6 = true;
  out.length = static_cast<std::uint32_t>(kHeader6 + load16(ip + 4));
  if (extent == Extent::whole && room < out.length) return HeaderFault::truncated;
  out.source = load_ip(ip + 8, true);
  out.destination = load_ip(ip + 24, true);
  out.protocol = ip[6];
  out.ttl = ip[7];
  out.l4 = kHeader6;
  // On the wire nobody has such an address; in here it would be the IPv4 host's (RFC 4942, 2.2).
  if (out.source.is_v4() || out.destination.is_v4()) return HeaderFault::malformed;
  return Extensions(ip, std::min<std::size_t>(room, out.length), out).follow();
}

}  // namespace

HeaderFault read_ip(const std::uint8_t* ip, std::size_t room, Extent extent, IpHeader& out) noexcept {
  out = {};
  if (room == 0) return HeaderFault::truncated;
  if (ip[0] / 16 == 4) return read_ip4(ip, room, extent, out);
  if (ip[0] / 16 == 6) return read_ip6(ip, room, extent, out);
  return HeaderFault::malformed;
}

Ip load_ip(const std::uint8_t* at, bool v6) noexcept {
  Ip out;
  if (!v6) out.octets[10] = out.octets[11] = 0xff;
  std::memcpy(out.octets.data() + (v6 ? 0 : 12), at, v6 ? 16 : 4);
  return out;
}

void store_ip(std::uint8_t* at, bool v6, const Ip& address) noexcept {
  std::memcpy(at, address.octets.data() + (v6 ? 0 : 12), v6 ? 16 : 4);
}

}  // namespace headgate::core
