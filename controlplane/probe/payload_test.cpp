// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/payload.h"

#include <gtest/gtest.h>

#include "controlplane/probe/told.h"

namespace headgate::probe {
namespace {

using namespace std::chrono_literals;

std::unique_ptr<Conversation> compare(std::size_t offset) {
  return compare_answer(hex("0142150a"), {.bytes = hex("0104ff"), .offset = offset});
}

TEST(Payload, HexadecimalDigitsAreBytes) {
  EXPECT_EQ(from_hex("00fFaB9c"), std::string("\0\xff\xab\x9c", 4));
  EXPECT_EQ(from_hex(""), "");
  for (const char* none : {"0", "0g", "g0", "0x01", "01 02", "/0", ":0", "@0", "`0"})
    EXPECT_EQ(from_hex(none), std::nullopt) << none;
}

TEST(Wap, WhatIsSentIsWhatWasGiven) {
  EXPECT_EQ(request_of(*compare(0)), hex("0142150a"));
  EXPECT_EQ(tell(compare_answer("", {"x"}), {}), unaskable("there is nothing to send"));
}

TEST(Wap, TheBytesAtTheOffsetDecide) {
  EXPECT_EQ(tell(compare(0), {hex("0104ff")}), kPassed);
  EXPECT_EQ(tell(compare(2), {hex("99990104ff77")}), kPassed);
  EXPECT_EQ(tell(compare(2), {hex("99990105ff77")}), failed("byte 3 is 05, wanted 04"));
  EXPECT_EQ(tell(compare(2), {hex("0104ff0104")}), failed("byte 2 is ff, wanted 01"));
}

TEST(Wap, AnAnswerThatIsTooShortFails) {
  tell_cut([] { return compare(2); }, hex("99990104ff"),
           [](std::size_t size, const auto& turn) {
             EXPECT_EQ(turn, failed("answer of " + std::to_string(size) + " bytes, wanted 3 at offset 2"));
           });
}

TEST(Wap, TheFirstAnswerDecides) {
  EXPECT_EQ(tell(compare(0), {hex("0204ff"), hex("0104ff")}), failed("byte 0 is 02, wanted 01"));
}

TEST(Udp, AnyAnswerPasses) {
  EXPECT_EQ(request_of(*await_answer("ping")), "ping");
  EXPECT_EQ(tell(await_answer("ping"), {"no"}), kPassed);
  EXPECT_EQ(tell(await_answer("ping"), {""}), kPassed);
  EXPECT_EQ(tell(await_no_refusal("ping", 1s), {"no"}), kPassed);
}

TEST(Udp, NothingToSayIsOneZero) {
  EXPECT_EQ(request_of(*await_answer("")), std::string(1, '\0'));
  EXPECT_EQ(request_of(*await_no_refusal("", 1s)), std::string(1, '\0'));
}

TEST(Udp, SilencePassesOnlyWhereNoAnswerIsExpected) {  // reports 16
  EXPECT_EQ(await_answer("ping")->begin().patience, std::nullopt);
  EXPECT_EQ(await_no_refusal("ping", 1s)->begin().patience, 1s);
  EXPECT_EQ(await_no_refusal("ping", 1s)->late().outcome, (Outcome{true, "not refused"}));
}

TEST(Wap, AnOffsetBeyondAnyDatagramIsRefused) {
  EXPECT_TRUE(read_wap("01 02 65535"));
  for (const auto* offset : {"65536", "18446744073709551615", "18446744073709551616", "-1"})
    EXPECT_FALSE(read_wap(std::string("01 02 ") + offset)) << offset;
}

}  // namespace
}  // namespace headgate::probe
