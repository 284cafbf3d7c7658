// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/packet.h"

#include <memory>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "dataplane/core/checksum.h"
#include "dataplane/core/glance.h"
#include "dataplane/core/reset.h"

namespace headgate::core {
namespace {

using Bytes = std::vector<std::uint8_t>;

// A SYN from 10.10.1.10:40000 to 10.10.1.100:80 with four bytes of options and two of data.
Bytes good() {
  Bytes frame(60, 0);
  const Bytes headers = {
      2,    0,    0, 0,    0,   1,  2,    0, 0,  0, 0, 2, 8,    0,                          // Ethernet
      0x45, 0,    0, 46,   0,   7,  0x40, 0, 64, 6, 0, 0, 10,   10, 1, 10, 10, 10, 1, 100,  // IP
      0x9c, 0x40, 0, 80,   0,   0,  0,    5, 0,  0, 0, 9, 0x60, 2,  1, 0,  0,  0,  0, 0,    // TCP
      2,    4,    5, 0xb4, 'h', 'i'};
  std::copy(headers.begin(), headers.end(), frame.begin());
  const auto sum = static_cast<std::uint16_t>(~sum_of(frame.data() + 14, 20));
  store_raw16(frame.data() + 24, sum);
  return frame;
}

// A glance knows a packet only if parse() finds it whole, and then the same of it.
void expect_agreement(const Frame& frame, const Parsed& parsed) {
  constexpr HashSeed kSeed(7);
  Glance glance;
  look(frame, kSeed, glance);
  if (glance.hash == 0) {
    EXPECT_TRUE(glance.plain.none());
    return;
  }
  EXPECT_EQ(parsed_of(frame), parsed);
  EXPECT_EQ(parsed.shape, Shape::whole);
  EXPECT_EQ(glance.hash, hash(parsed.key, parsed.transport(), kSeed));
  const bool plain = !parsed.is_tcp() || is_plain(parsed.flags);
  EXPECT_EQ(glance.plain, plain && parsed.ttl > 1 ? parsed.transport() : Transport{});
  if (parsed.is_tcp()) {
    EXPECT_EQ(glance.payload, payload_of(frame, parsed));
  }
}

// Parses from a heap buffer of exactly that size, so that a sanitizer sees a byte read outside. The short way
// must agree wherever it claims to know.
Parsed parse_exactly(const Bytes& bytes) {
  const auto copy = std::make_unique<std::uint8_t[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), copy.get());
  Frame frame{.data = copy.get(), .length = static_cast<std::uint16_t>(bytes.size())};
  const Parsed parsed = parse(frame);
  expect_agreement(frame, parsed);
  return parsed;
}

Shape with(std::size_t at, std::uint8_t value) {
  Bytes bytes = good();
  bytes[at] = value;
  store_raw16(bytes.data() + 24, 0);
  const std::size_t header = std::size_t{bytes[14]} % 16 * 4;
  if (header >= 20 && 14 + header <= bytes.size())
    store_raw16(bytes.data() + 24, static_cast<std::uint16_t>(~sum_of(bytes.data() + 14, header)));
  return parse_exactly(bytes).shape;
}

// A frame of each kind that a glance knows, with two bytes of data.
Bytes sample(Transport transport) {
  const Bytes tcp = {0x9c, 0x40, 0, 80, 0, 0, 0, 5, 0, 0, 0, 9, 0x50, tcp::ack, 1, 0, 0, 0, 0, 0, 'h', 'i'};
  const Bytes udp = {0x9c, 0x40, 0, 53, 0, 10, 1, 2, 'h', 'i'};
  const Bytes& l4 = transport.is_tcp() ? tcp : udp;
  const auto protocol = static_cast<std::uint8_t>(transport.protocol());
  Bytes frame(12, 2);
  if (transport.v6()) {
    const Bytes ip = {0x86, 0xdd, 0x60, 0, 0, 0, 0, static_cast<std::uint8_t>(l4.size()), protocol, 64};
    frame.insert(frame.end(), ip.begin(), ip.end());
    for (std::uint8_t i = 0; i < 32; ++i) frame.push_back(static_cast<std::uint8_t>(0x20 + i));
  } else {
    const auto length = static_cast<std::uint8_t>(20 + l4.size());
    const Bytes ip = {8,        0, 0x45, 0,  0,  length, 0,  7,  0x40, 0, 64,
                      protocol, 0, 0,    10, 10, 1,      10, 10, 10,   1, 100};
    frame.insert(frame.end(), ip.begin(), ip.end());
  }
  frame.insert(frame.end(), l4.begin(), l4.end());
  frame.resize(std::max<std::size_t>(frame.size(), transport.v6() ? 74 : 60));
  return frame;
}

class Glances : public ::testing::TestWithParam<Transport> {};

TEST_P(Glances, KnowItsKindAndAgreeWithTheParserOnMutatedFrames) {
  std::mt19937 random(11);
  unsigned known = 0;
  for (int round = 0; round < 50'000; ++round) {
    Bytes bytes = sample(GetParam());
    for (unsigned changes = random() % 3; changes > 0; --changes) {
      bytes[random() % bytes.size()] = static_cast<std::uint8_t>(random());
    }
    if (random() % 4 == 0) bytes.resize(random() % (bytes.size() + 1));
    if (bytes.size() >= 34 && !GetParam().v6() && random() % 4 != 0) {
      store_raw16(bytes.data() + 24, 0);
      store_raw16(bytes.data() + 24, static_cast<std::uint16_t>(~sum_of(bytes.data() + 14, 20)));
    }
    const Frame frame{.data = bytes.data(), .length = static_cast<std::uint16_t>(bytes.size())};
    Glance glance;
    look(frame, HashSeed(1), glance);
    if (glance.hash != 0) ++known;
    static_cast<void>(parse_exactly(bytes));
  }
  EXPECT_GT(known, 10'000u);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Glances, ::testing::ValuesIn(kUsual));

TEST(Parse, FindsEveryFieldOfAGoodSegment) {
  Bytes bytes = good();
  const Parsed parsed = parse_exactly(bytes);
  EXPECT_EQ(parsed.shape, Shape::whole);
  EXPECT_EQ(parsed.key, (FlowKey{Ipv4{0x0a0a010a}, Ipv4{0x0a0a0164}, 40000, 80}));
  EXPECT_EQ(parsed.ttl, 64);
  EXPECT_EQ(parsed.flags, tcp::syn);
  EXPECT_EQ(parsed.l4, 34);
  EXPECT_EQ(parsed.end, 60);
  Frame frame{.data = bytes.data(), .length = 60};
  const Segment segment = segment_of(frame, parsed);
  EXPECT_EQ(segment.sequence, 5u);
  EXPECT_EQ(segment.acknowledgement, 9u);
  EXPECT_EQ(segment.payload, 2u) << "without the padding";
  EXPECT_EQ(segment.end(), 8u);
}

TEST(Parse, EveryTruncationIsNoticed) {
  const Bytes bytes = good();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const Shape shape =
        parse_exactly(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length))).shape;
    EXPECT_EQ(shape, length < 14 ? Shape::foreign : Shape::truncated) << length;
  }
}

TEST(Parse, ChecksVersionAndHeaderLength) {
  for (unsigned first = 0; first < 256; ++first) {
    const Shape shape = with(14, static_cast<std::uint8_t>(first));
    const bool possible = first / 16 == 4 && first % 16 >= 5 && first % 16 * 4 <= 46;
    if (possible) continue;
    EXPECT_EQ(shape, Shape::malformed) << first;
  }
  EXPECT_EQ(with(14, 0x45), Shape::whole);
  EXPECT_EQ(with(14, 0x4b), Shape::malformed) << "what stands there are no options";
}

TEST(Parse, ChecksTheTotalLength) {
  for (unsigned length = 0; length < 256; ++length) {
    const Shape shape = with(17, static_cast<std::uint8_t>(length));
    const Shape expected = length < 20                  ? Shape::malformed
                           : length < 44 || length > 46 ? Shape::truncated
                                                        : Shape::whole;
    EXPECT_EQ(shape, expected) << length;
  }
}

TEST(Parse, ChecksTheDataOffset) {
  for (unsigned words = 0; words < 16; ++words) {
    const Shape shape = with(46, static_cast<std::uint8_t>(words << 4));
    EXPECT_EQ(shape, words < 5 ? Shape::malformed : words > 6 ? Shape::truncated : Shape::whole) << words;
  }
}

TEST(Parse, NoticesEveryBitOfAWrongHeaderChecksum) {
  for (std::size_t bit = 0; bit < 16; ++bit) {
    Bytes bytes = good();
    bytes[24 + bit / 8] = static_cast<std::uint8_t>(bytes[24 + bit / 8] ^ 1 << bit % 8);
    EXPECT_EQ(parse_exactly(bytes).shape, Shape::checksum);
  }
}

TEST(Parse, TellsFragmentsAndOtherProtocols) {
  EXPECT_EQ(with(20, 0x20), Shape::fragment);
  EXPECT_EQ(with(20, 0x1f), Shape::fragment);
  EXPECT_EQ(with(21, 0x01), Shape::fragment);
  EXPECT_EQ(with(20, 0x40), Shape::whole);
  EXPECT_EQ(with(20, 0x80), Shape::whole) << "the reserved bit says nothing of fragments";
  EXPECT_EQ(with(23, 1), Shape::other);
  EXPECT_EQ(with(23, 17), Shape::udp_length) << "as UDP, its length is impossible";
}

TEST(Parse, TaggedAndForeignFramesAreForeign) {
  for (const auto& [high, low] : {std::pair{0x81, 0x00}, {0x88, 0xa8}, {0x08, 0x06}, {0x00, 0x2e}}) {
    Bytes bytes = good();
    bytes[12] = static_cast<std::uint8_t>(high);
    bytes[13] = static_cast<std::uint8_t>(low);
    EXPECT_EQ(parse_exactly(bytes).shape, Shape::foreign);
  }
}

// ---- Resets

TEST(Reset, WritesAllSixtyBytes) {
  Bytes bytes(60, 0xee);
  Frame frame{.data = bytes.data(), .capacity = 60};
  write_reset(frame, {Ipv4{0x0a0a0164}, Ipv4{0x0a0a010a}, 80, 40000},
              {.sequence = 1, .acknowledgement = 2, .acknowledges = true});
  write_ethernet(frame.data, MacWord(Mac{{1, 2, 3, 4, 5, 6}}), MacWord(Mac{{7, 8, 9, 10, 11, 12}}));
  const Bytes expected = {1,  2,    3,    4,  5, 6,    7,    8,    9, 10,   11,   12, 8,  0, 0x45,
                          0,  0,    40,   0,  0, 0,    0,    64,   6, 0x64, 0x4f, 10, 10, 1, 100,
                          10, 10,   1,    10, 0, 80,   0x9c, 0x40, 0, 0,    0,    1,  0,  0, 0,
                          2,  0x50, 0x14, 0,  0, 0xfc, 0xbb, 0,    0, 0,    0,    0,  0,  0, 0};
  EXPECT_EQ(frame.length, 60);
  EXPECT_EQ(bytes, expected);
}

TEST(Reset, NumbersAreThoseItsReceiverBelieves) {
  EXPECT_EQ(reset_to_sender({.flags = tcp::ack, .sequence = 5, .acknowledgement = 9, .payload = 3}),
            (ResetNumbers{.sequence = 9}));
  EXPECT_EQ(reset_to_sender({.flags = tcp::syn, .sequence = 5, .payload = 3}),
            (ResetNumbers{.acknowledgement = 9, .acknowledges = true}));
  EXPECT_EQ(reset_to_sender({.flags = tcp::fin, .sequence = 0xffffffff}),
            (ResetNumbers{.acknowledgement = 0, .acknowledges = true}));
  EXPECT_EQ(reset_to_receiver({.flags = tcp::ack, .sequence = 5, .acknowledgement = 9, .payload = 3}, 5),
            (ResetNumbers{.sequence = 5, .acknowledgement = 9, .acknowledges = true}));
  EXPECT_EQ(reset_to_receiver({.flags = tcp::syn, .sequence = 5}, 5), (ResetNumbers{.sequence = 5}));
  EXPECT_EQ(reset_to_receiver({.sequence = 0xffffffff}, 2), (ResetNumbers{.sequence = 2})) << "sent again";
  EXPECT_EQ(reset_to_receiver({.sequence = 2}, 0xffffffff), (ResetNumbers{.sequence = 2})) << "news";
}

}  // namespace
}  // namespace headgate::core
