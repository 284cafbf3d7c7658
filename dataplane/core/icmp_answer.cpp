// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/icmp_answer.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "dataplane/core/bytes.h"
#include "dataplane/core/checksum.h"
#include "dataplane/core/ethernet.h"

namespace headgate::core {
namespace {

constexpr std::size_t kIp = kEthernetHeader;
constexpr std::size_t kMostAnswer4 = 576;
constexpr std::size_t kMostAnswer6 = 1280;
constexpr std::uint16_t kLeastMtu6 = 1280;
constexpr std::size_t kLeastQuote = 8;
constexpr std::uint8_t kTtl = 64;
constexpr std::uint8_t kInternetControl = 0xc0;  // precedence of errors: RFC 1812, 4.3.2.5
constexpr std::uint16_t kDontFragment = 0x4000;

struct Code {
  std::uint8_t type;
  std::uint8_t code;
};

Code code_of(Complaint complaint, bool v6) noexcept {
  switch (complaint) {
    case Complaint::time_exceeded:
      return {v6 ? icmp6::time_exceeded : icmp4::time_exceeded, 0};
    case Complaint::too_big:
      return v6 ? Code{icmp6::too_big, 0} : Code{icmp4::unreachable, icmp4::fragmentation_needed};
    case Complaint::port_unreachable:
      break;
  }
  return v6 ? Code{icmp6::unreachable, icmp6::port_unreachable}
            : Code{icmp4::unreachable, icmp4::port_unreachable};
}

// One host, by the address alone: a subnet's own broadcast address can't be told from a host's.
bool is_host(const Ip& address) noexcept {
  const auto& octets = address.octets;
  if (!address.is_v4()) {
    const bool loopback = std::all_of(octets.begin(), octets.end() - 1, [](auto o) { return o == 0; });
    return octets[0] != 0xff && !loopback;  // ::, ::1
  }
  const std::uint8_t first = octets[12];
  return first != 0 && first != 127 && first < 224;
}

void write_ip4(std::uint8_t* ip, const Ip& from, const Ip& to, std::size_t length) noexcept {
  std::memset(ip, 0, 20);
  ip[0] = 0x45;
  ip[1] = kInternetControl;
  store16(ip + 2, static_cast<std::uint16_t>(length));
  store16(ip + 6, kDontFragment);
  ip[8] = kTtl;
  ip[9] = icmp4::protocol;
  store_ip(ip + 12, false, from);
  store_ip(ip + 16, false, to);
  store_raw16(ip + 10, static_cast<std::uint16_t>(~sum_of(ip, 20)));
}

void write_ip6(std::uint8_t* ip, const Ip& from, const Ip& to, std::size_t length) noexcept {
  std::memset(ip, 0, 8);
  ip[0] = 0x60;
  store16(ip + 4, static_cast<std::uint16_t>(length - 40));
  ip[6] = icmp6::protocol;
  ip[7] = kTtl;
  store_ip(ip + 8, true, from);
  store_ip(ip + 24, true, to);
}

void swap_addresses(std::uint8_t* ethernet) noexcept {
  std::array<std::uint8_t, 6> destination{};
  std::memcpy(destination.data(), ethernet, 6);
  std::memcpy(ethernet, ethernet + 6, 6);
  std::memcpy(ethernet + 6, destination.data(), 6);
}

}  // namespace

bool answerable(const Frame& frame, const IpHeader& header) noexcept {
  const bool transport = header.protocol == static_cast<std::uint8_t>(Protocol::tcp) ||
                         header.protocol == static_cast<std::uint8_t>(Protocol::udp);
  const bool unicast_frame = (frame.data[0] & 1) == 0;
  return transport && unicast_frame && !header.later_fragment() && is_host(header.source) &&
         is_host(header.destination);
}

bool write_answer(Frame& frame, const IpHeader& header, Complaint complaint, const Ip& from,
                  std::uint16_t mtu) noexcept {
  const bool v6 = header.v6;
  const std::size_t in_front = (v6 ? 40 : 20) + kIcmpHeader;
  const std::size_t most = std::min<std::size_t>(v6 ? kMostAnswer6 : kMostAnswer4, frame.capacity - kIp);
  const std::size_t least = header.l4 + kLeastQuote;
  if (frame.capacity < kIp || header.length < least || most < in_front + least) return false;
  const std::size_t quote = std::min<std::size_t>(header.length, most - in_front);
  const std::size_t length = in_front + quote;

  std::uint8_t* ip = frame.data + kIp;
  std::uint8_t* icmp = ip + in_front - kIcmpHeader;
  std::memmove(ip + in_front, ip, quote);
  (v6 ? write_ip6 : write_ip4)(ip, from, header.source, length);
  const Code code = code_of(complaint, v6);
  std::memset(icmp, 0, kIcmpHeader);
  icmp[0] = code.type;
  icmp[1] = code.code;
  if (complaint == Complaint::too_big) store32(icmp + 4, v6 ? std::max(mtu, kLeastMtu6) : mtu);
  const IpHeader own{.source = from, .destination = header.source, .v6 = v6};
  store_raw16(icmp + 2, static_cast<std::uint16_t>(~icmp_sum(own, {icmp, kIcmpHeader + quote})));
  swap_addresses(frame.data);
  frame.length = static_cast<std::uint16_t>(kIp + length);
  return true;
}

}  // namespace headgate::core
