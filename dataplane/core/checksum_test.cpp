// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/checksum.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace headgate::core {
namespace {

using Bytes = std::vector<std::uint8_t>;

// RFC 1071 written plainly, in network order.
std::uint16_t plain_sum(const Bytes& data) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < data.size(); ++i) sum += i % 2 == 0 ? data[i] << 8 : data[i];
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(sum);
}

std::uint16_t in_memory(std::uint16_t host) {
  return static_cast<std::uint16_t>(host << 8 | host >> 8);
}

TEST(Checksum, SumsAnyLengthLikeThePlainWay) {
  std::mt19937 random(1);
  for (std::size_t length = 0; length < 200; ++length) {
    Bytes data(length);
    for (auto& byte : data) byte = static_cast<std::uint8_t>(random());
    EXPECT_EQ(sum_of(data.data(), length), in_memory(plain_sum(data))) << length;
  }
}

TEST(Checksum, AHeaderIsRightIfItsSumIsAllOnes) {
  std::mt19937 random(2);
  for (int round = 0; round < 100'000; ++round) {
    Bytes header(20);
    for (auto& byte : header) byte = static_cast<std::uint8_t>(random() % 4 == 0 ? 0xff : random());
    header[0] = 0x45;
    if (round % 2 == 0) {
      header[10] = header[11] = 0;
      const std::uint16_t sum = static_cast<std::uint16_t>(~plain_sum(header));
      header[10] = static_cast<std::uint8_t>(sum >> 8), header[11] = static_cast<std::uint8_t>(sum);
    }
    ASSERT_EQ(sums_to_ones(header.data()), plain_sum(header) == 0xffff);
    if (round % 2 == 0) {
      ASSERT_TRUE(sums_to_ones(header.data()));
    }
  }
}

TEST(Checksum, FoldsTheLargestSums) {
  EXPECT_EQ(fold(0), 0);
  EXPECT_EQ(fold(0xffff), 0xffff);
  EXPECT_EQ(fold(0x10000), 1);
  EXPECT_EQ(fold(~std::uint64_t{0}), 0xffff);
  EXPECT_EQ(fold(0xffffffff), 0xffff);
  EXPECT_EQ(fold(0xffff0001ffffffff), fold(0xffff + 0x0001ull + 0xffff + 0xffff));
}

// A pseudo header, a header with its checksum in bytes 10 and 11, and a replacement of bytes 0 to 5.
void expect_update_equals_recomputation(Bytes data, const Bytes& replacement) {
  const auto sealed = [](Bytes bytes) {
    bytes[10] = bytes[11] = 0;
    const auto sum = static_cast<std::uint16_t>(~plain_sum(bytes));
    bytes[10] = static_cast<std::uint8_t>(sum >> 8);
    bytes[11] = static_cast<std::uint8_t>(sum);
    return bytes;
  };
  data = sealed(data);
  Bytes expected = data;
  std::copy(replacement.begin(), replacement.end(), expected.begin());
  expected = sealed(expected);

  const std::uint16_t change = delta(sum_of(data.data(), 6), sum_of(replacement.data(), 6));
  const auto raw = [](const Bytes& bytes) { return static_cast<std::uint16_t>(bytes[10] | bytes[11] << 8); };
  EXPECT_EQ(updated(raw(data), change), raw(expected));
  EXPECT_EQ(updated(updated(raw(data), change), opposite(change)), raw(data)) << "there and back";
}

TEST(Checksum, UpdateEqualsRecomputationForRandomTuples) {
  std::mt19937 random(86);
  for (int i = 0; i < 10000; ++i) {
    Bytes data(40 + random() % 40);
    Bytes replacement(6);
    for (auto& byte : data) byte = static_cast<std::uint8_t>(random());
    for (auto& byte : replacement) byte = static_cast<std::uint8_t>(random());
    data[30] = 1;  // never all zeros
    expect_update_equals_recomputation(data, replacement);
  }
}

// Every value the checksum may have, 0x0000 among them, before and after.
TEST(Checksum, UpdateEqualsRecomputationForEveryResult) {
  for (unsigned word = 0; word < 65536; ++word) {
    Bytes data = {10, 10, 1, 100, 0, 80, 0, 0, 0, 0, 0, 0, 1, 2};
    Bytes replacement = {
        10, 10, 2, 11, static_cast<std::uint8_t>(word >> 8), static_cast<std::uint8_t>(word)};
    expect_update_equals_recomputation(data, replacement);
    data[12] = static_cast<std::uint8_t>(word >> 8);
    data[13] = static_cast<std::uint8_t>(word);
    expect_update_equals_recomputation(data, {10, 10, 2, 11, 0x1f, 0x90});
  }
}

TEST(Checksum, ReplacingByTheSameChangesNothing) {
  for (unsigned field = 0; field < 0xffff; ++field) {
    const auto value = static_cast<std::uint16_t>(field);
    EXPECT_EQ(updated(value, delta(0x1234, 0x1234)), value);
  }
}

}  // namespace
}  // namespace headgate::core
