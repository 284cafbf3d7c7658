// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/split.h"

#include <array>
#include <memory>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "dataplane/core/bytes.h"
#include "dataplane/core/checksum.h"
#include "dataplane/core/ip_header.h"

namespace headgate::core {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes datagram(std::size_t data, std::uint16_t fragment) {
  Bytes out(34 + data);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::uint8_t>(i * 7);
  const Bytes header = {8, 0, 0x45, 0, 0, 0, 0x12, 0x34, 0, 0, 63, 17, 0, 0, 10, 10, 1, 10, 10, 10, 2, 11};
  std::copy(header.begin(), header.end(), out.begin() + 12);
  store16(out.data() + 16, static_cast<std::uint16_t>(20 + data));
  store16(out.data() + 20, fragment);
  store_raw16(out.data() + 24, static_cast<std::uint16_t>(~sum_of(out.data() + 14, 20)));
  return out;
}

// Cuts a datagram; every buffer is exactly as large as its capacity says.
std::vector<Bytes> cut(Bytes whole, std::uint16_t mtu, std::size_t spares) {
  Frame frame{.data = whole.data(), .length = static_cast<std::uint16_t>(whole.size())};
  frame.capacity = frame.length;
  const std::size_t room = 14u + mtu;
  std::vector<std::unique_ptr<std::uint8_t[]>> buffers;
  std::vector<Frame> rest;
  for (std::size_t i = 0; i < spares; ++i) {
    buffers.push_back(std::make_unique<std::uint8_t[]>(room));
    rest.push_back({.data = buffers.back().get(), .capacity = static_cast<std::uint16_t>(room)});
  }
  const std::size_t count = split(frame, mtu, rest);
  std::vector<Bytes> out = {Bytes(frame.data, frame.data + frame.length)};
  for (std::size_t i = 0; i < count; ++i) out.emplace_back(rest[i].data, rest[i].data + rest[i].length);
  return out;
}

Bytes reassembled(const std::vector<Bytes>& pieces, std::uint16_t base, bool more_at_end, std::uint16_t mtu) {
  Bytes data;
  for (const Bytes& piece : pieces) {
    EXPECT_LE(piece.size(), 14u + mtu);
    IpHeader header;
    EXPECT_EQ(read_ip(piece.data() + 14, piece.size() - 14, Extent::whole, header), HeaderFault::none);
    EXPECT_EQ(header.fragment_offset, base + data.size());
    EXPECT_EQ(header.more, &piece != &pieces.back() || more_at_end);
    EXPECT_EQ(header.id, 0x1234u);
    EXPECT_EQ(header.ttl, 63);
    data.insert(data.end(), piece.begin() + 34, piece.end());
  }
  return data;
}

TEST(Split, PiecesMakeUpTheWholeForAnySizeAndMtu) {
  std::mt19937 random(79);
  for (int round = 0; round < 2000; ++round) {
    const auto mtu = static_cast<std::uint16_t>(68 + random() % 1500);
    const std::size_t size = mtu - 20u + 1 + random() % (3 * (mtu - 20u));
    const auto base = static_cast<std::uint16_t>(random() % 100 * 8);
    const bool more = random() % 2 == 0;
    const auto whole =
        datagram(more ? size / 8 * 8 + 8 : size, static_cast<std::uint16_t>(base / 8 | (more ? 0x2000 : 0)));
    const auto pieces = cut(whole, mtu, 8);
    ASSERT_GT(pieces.size(), 1u);
    ASSERT_EQ(reassembled(pieces, base, more, mtu), Bytes(whole.begin() + 34, whole.end()));
  }
}

TEST(Split, LeavesAloneWhatMayNotBeCut) {
  const auto alone = [](const Bytes& whole, std::uint16_t mtu, std::size_t spares) {
    const auto pieces = cut(whole, mtu, spares);
    return pieces.size() == 1 && pieces[0] == whole;
  };
  EXPECT_TRUE(alone(datagram(1480, 0x4000), 1400, 4)) << "don't fragment";
  EXPECT_TRUE(alone(datagram(2800, 0), 1400, 1)) << "not enough spares";
  EXPECT_TRUE(alone(datagram(100, 0), 27, 32)) << "an MTU that carries nothing";
  Bytes options = datagram(1480, 0);
  options[14] = 0x46;
  EXPECT_TRUE(alone(options, 1400, 4));
  Bytes other = datagram(1480, 0);
  other[14] = 0x60;
  EXPECT_TRUE(alone(other, 1400, 4));
}

}  // namespace
}  // namespace headgate::core
