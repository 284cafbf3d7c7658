// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/ip_header.h"

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "dataplane/core/bytes.h"
#include "dataplane/core/checksum.h"

namespace headgate::core {
namespace {

using Bytes = std::vector<std::uint8_t>;

struct Read {
  HeaderFault fault = HeaderFault::none;
  IpHeader header;
};

// Reads from a heap buffer of exactly that size, so that a sanitizer sees a byte read outside.
Read read(const Bytes& bytes, Extent extent = Extent::whole) {
  const auto copy = std::make_unique<std::uint8_t[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), copy.get());
  Read out;
  out.fault = read_ip(copy.get(), bytes.size(), extent, out.header);
  return out;
}

Bytes with_options4(const Bytes& options) {
  Bytes out = {0, 0, 0, 0, 0, 7, 0x40, 0, 64, 17, 0, 0, 10, 10, 1, 10, 10, 10, 1, 100};
  out[0] = static_cast<std::uint8_t>(0x45 + options.size() / 4);
  out.insert(out.end(), options.begin(), options.end());
  const std::size_t header = out.size();
  out.resize(header + 8);
  store16(out.data() + 2, static_cast<std::uint16_t>(out.size()));
  store_raw16(out.data() + 10, static_cast<std::uint16_t>(~sum_of(out.data(), header)));
  return out;
}

// An IPv6 packet of extension headers, the first of `next`, and eight bytes of UDP.
Bytes with_extensions6(std::uint8_t next, const Bytes& extensions) {
  Bytes out(40);
  out[0] = 0x60, out[6] = next, out[7] = 64;
  out[8] = out[24] = 0x20, out[23] = 1, out[39] = 2;
  out.insert(out.end(), extensions.begin(), extensions.end());
  out.resize(out.size() + 8);
  store16(out.data() + 4, static_cast<std::uint16_t>(out.size() - 40));
  return out;
}

TEST(IpHeader, ReadsEveryFieldOfIpv4) {
  const Read got = read(with_options4({}));
  ASSERT_EQ(got.fault, HeaderFault::none);
  EXPECT_EQ(got.header.source.text(), "10.10.1.10");
  EXPECT_EQ(got.header.destination.text(), "10.10.1.100");
  EXPECT_EQ(got.header.protocol, 17);
  EXPECT_EQ(got.header.ttl, 64);
  EXPECT_EQ(got.header.l4, 20);
  EXPECT_EQ(got.header.length, 28u);
  EXPECT_FALSE(got.header.fragment());
}

TEST(IpHeader, WalksIpv4Options) {
  EXPECT_EQ(read(with_options4({1, 1, 1, 0})).fault, HeaderFault::none);
  EXPECT_EQ(read(with_options4({148, 4, 0, 0})).fault, HeaderFault::none) << "router alert";
  EXPECT_EQ(read(with_options4({7, 7, 4, 0, 0, 0, 0, 0})).header.l4, 28) << "record route";
  EXPECT_EQ(read(with_options4({0, 131, 9, 9})).fault, HeaderFault::none) << "nothing behind the end counts";
}

TEST(IpHeader, RefusesIpv4SourceRoutes) {
  for (const std::uint8_t type : {131, 137}) {
    EXPECT_EQ(read(with_options4({type, 7, 4, 10, 0, 0, 1, 0})).fault, HeaderFault::source_route);
    EXPECT_EQ(read(with_options4({1, type, 3, 4})).fault, HeaderFault::source_route);
  }
}

TEST(IpHeader, RefusesIpv4OptionsThatLie) {
  EXPECT_EQ(read(with_options4({7, 0, 0, 0})).fault, HeaderFault::malformed) << "would never end";
  EXPECT_EQ(read(with_options4({7, 1, 0, 0})).fault, HeaderFault::malformed);
  EXPECT_EQ(read(with_options4({7, 5, 0, 0})).fault, HeaderFault::malformed) << "beyond the header";
  EXPECT_EQ(read(with_options4({1, 1, 1, 7})).fault, HeaderFault::malformed) << "no length";
}

TEST(IpHeader, FollowsIpv6ExtensionHeaders) {
  const Bytes options = {60, 0, 1, 4, 0, 0, 0, 0}, more_options = {17, 0, 0, 0, 0, 0, 0, 0};
  Bytes chain = options;
  chain.insert(chain.end(), more_options.begin(), more_options.end());
  const Read got = read(with_extensions6(0, chain));
  ASSERT_EQ(got.fault, HeaderFault::none);
  EXPECT_EQ(got.header.protocol, 17);
  EXPECT_EQ(got.header.l4, 56);
}

TEST(IpHeader, RefusesIpv6SourceRoutes) {
  EXPECT_EQ(read(with_extensions6(43, {17, 0, 0, 0, 0, 0, 0, 0})).fault, HeaderFault::source_route)
      << "type 0";
  EXPECT_EQ(read(with_extensions6(43, {17, 0, 4, 1, 0, 0, 0, 0})).fault, HeaderFault::source_route)
      << "another destination is to come";
  EXPECT_EQ(read(with_extensions6(43, {17, 0, 4, 0, 0, 0, 0, 0})).fault, HeaderFault::none);
}

TEST(IpHeader, ReadsFragmentsOfBothFamilies) {
  const Read got = read(with_extensions6(44, {17, 0, 0x05, 0xc9, 1, 2, 3, 4}));
  ASSERT_EQ(got.fault, HeaderFault::none);
  EXPECT_EQ(got.header.fragment_offset, 0x5c8);
  EXPECT_TRUE(got.header.more);
  EXPECT_EQ(got.header.id, 0x01020304u);
  const Read atomic = read(with_extensions6(44, {17, 0, 0, 0, 1, 2, 3, 4}));
  EXPECT_EQ(atomic.fault, HeaderFault::none);
  EXPECT_FALSE(atomic.header.fragment());
  EXPECT_EQ(atomic.header.l4, 48);
  EXPECT_EQ(read(with_extensions6(44, {44, 0, 0, 0, 1, 2, 3, 4, 17, 0, 0, 0, 1, 2, 3, 4})).fault,
            HeaderFault::malformed)
      << "twice";
}

TEST(IpHeader, BoundsIpv6ExtensionHeaders) {
  Bytes many;
  for (int i = 0; i < 9; ++i) {
    const Bytes options = {static_cast<std::uint8_t>(i == 8 ? 17 : 60), 0, 1, 4, 0, 0, 0, 0};
    many.insert(many.end(), options.begin(), options.end());
  }
  EXPECT_EQ(read(with_extensions6(60, many)).fault, HeaderFault::extensions);
  Bytes long_one(256, 0);
  long_one[0] = 17, long_one[1] = 31;
  EXPECT_EQ(read(with_extensions6(60, long_one)).fault, HeaderFault::extensions);
}

TEST(IpHeader, RefusesIpv6ExtensionHeadersThatLie) {
  EXPECT_EQ(read(with_extensions6(60, {17, 9, 1, 4, 0, 0, 0, 0})).fault, HeaderFault::truncated);
  EXPECT_EQ(read(with_extensions6(60, {17, 0, 1, 5, 0, 0, 0, 0})).fault, HeaderFault::malformed)
      << "an option beyond its header";
  EXPECT_EQ(read(with_extensions6(60, {0, 0, 1, 4, 0, 0, 0, 0, 17, 0, 1, 4, 0, 0, 0, 0})).fault,
            HeaderFault::malformed)
      << "hop-by-hop options are first or nowhere";
}

TEST(IpHeader, Ipv4AddressesWithinIpv6AreRefused) {
  for (const std::size_t at : {8u, 24u}) {
    Bytes bytes = with_extensions6(17, {});
    const Bytes mapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 10, 1, 10};
    std::copy(mapped.begin(), mapped.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
    EXPECT_EQ(read(bytes).fault, HeaderFault::malformed);
  }
}

TEST(IpHeader, EveryTruncationIsNoticed) {
  for (const Bytes& whole : {with_options4({148, 4, 0, 0}),
                             with_extensions6(0, {60, 0, 1, 4, 0, 0, 0, 0, 17, 0, 1, 4, 0, 0, 0, 0})}) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_EQ(read(cut).fault, HeaderFault::truncated) << size;
    }
  }
}

TEST(IpHeader, AQuotedHeaderMayBeCutBehindItselfAndHaveAnyChecksum) {
  Bytes bytes = with_options4({});
  bytes[10] ^= 0x55;
  store16(bytes.data() + 2, 1500);
  EXPECT_EQ(read(bytes).fault, HeaderFault::truncated);
  const Read got = read(bytes, Extent::quoted);
  EXPECT_EQ(got.fault, HeaderFault::none);
  EXPECT_EQ(got.header.length, 1500u);
}

TEST(IpHeader, NeverReadsOutsideOfRandomBytes) {
  std::mt19937 random(3);
  unsigned good = 0;
  for (int round = 0; round < 200'000; ++round) {
    Bytes bytes = random() % 2 == 0
                      ? with_options4(Bytes(random() % 11 * 4, 1))
                      : with_extensions6(static_cast<std::uint8_t>(random() % 64), Bytes(random() % 8 * 8));
    for (unsigned changes = random() % 6; changes > 0; --changes)
      bytes[random() % bytes.size()] =
          static_cast<std::uint8_t>(random() % 3 == 0 ? random() : random() % 64);
    bytes.resize(random() % 3 == 0 ? random() % (bytes.size() + 1) : bytes.size());
    const Read got = read(bytes, random() % 2 == 0 ? Extent::quoted : Extent::whole);
    if (got.fault != HeaderFault::none) continue;
    ++good;
    ASSERT_LE(got.header.l4, bytes.size());
    ASSERT_LE(got.header.l4, 40 + kMostExtensionBytes);
  }
  EXPECT_GT(good, 10'000u);
}

}  // namespace
}  // namespace headgate::core
