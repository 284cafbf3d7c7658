// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/split.h"

#include <algorithm>
#include <cstring>

#include "dataplane/core/bytes.h"
#include "dataplane/core/checksum.h"
#include "dataplane/core/ethernet.h"

namespace headgate::core {
namespace {

constexpr std::size_t kIp = kEthernetHeader;
constexpr std::size_t kHeader = 20;
constexpr std::uint16_t kDontFragment = 0x4000, kMoreFragments = 0x2000, kOffset = 0x1fff;

// The datagram of `data` bytes at a position in the whole one: its length, flags and checksum.
void finish(Frame& frame, std::size_t data, std::uint16_t fragment) noexcept {
  std::uint8_t* ip = frame.data + kIp;
  store16(ip + 2, static_cast<std::uint16_t>(kHeader + data));
  store16(ip + 6, fragment);
  store16(ip + 10, 0);
  store_raw16(ip + 10, static_cast<std::uint16_t>(~sum_of(ip, kHeader)));
  frame.length = static_cast<std::uint16_t>(kIp + kHeader + data);
}

// Bytes of data in each piece but the last.
std::size_t piece_of(std::uint16_t mtu) noexcept {
  return (mtu - kHeader) / 8 * 8;
}

std::size_t pieces(const Frame& frame, std::uint16_t mtu) noexcept {
  const std::size_t data = load16(frame.data + kIp + 2) - kHeader;
  return (data + piece_of(mtu) - 1) / piece_of(mtu);
}

}  // namespace

bool can_split(const Frame& frame, std::uint16_t mtu, std::span<const Frame> rest) noexcept {
  const std::uint8_t* ip = frame.data + kIp;
  if (ip[0] != 0x45 || (load16(ip + 6) & kDontFragment) != 0 || mtu < kHeader + 8) return false;
  const std::size_t count = pieces(frame, mtu) - 1;
  if (count == 0 || rest.size() < count) return false;
  const std::size_t size = kIp + kHeader + piece_of(mtu);
  const auto needed = rest.first(count);
  return std::all_of(needed.begin(), needed.end(), [&](const Frame& one) { return one.capacity >= size; });
}

std::size_t split(Frame& frame, std::uint16_t mtu, std::span<Frame> rest) noexcept {
  if (!can_split(frame, mtu, rest)) return 0;
  const std::uint8_t* ip = frame.data + kIp;
  const std::uint16_t fragment = load16(ip + 6);
  const std::size_t data = load16(ip + 2) - kHeader;
  const std::size_t piece = piece_of(mtu);
  const std::size_t count = pieces(frame, mtu) - 1;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = (i + 1) * piece;
    const std::size_t size = std::min(piece, data - at);
    Frame& next = rest[i];
    std::memcpy(next.data, frame.data, kIp + kHeader);
    std::memcpy(next.data + kIp + kHeader, ip + kHeader + at, size);
    const bool last = i + 1 == count && (fragment & kMoreFragments) == 0;
    finish(next, size,
           static_cast<std::uint16_t>(((fragment & kOffset) + at / 8) | (last ? 0 : kMoreFragments)));
  }
  finish(frame, piece, static_cast<std::uint16_t>((fragment & kOffset) | kMoreFragments));
  return count;
}

}  // namespace headgate::core
