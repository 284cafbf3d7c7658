// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/ntp.h"

#include <gtest/gtest.h>

#include "controlplane/probe/told.h"

namespace headgate::probe {
namespace {

std::unique_ptr<Conversation> ask() {
  return ntp_request(kSalt);
}

// What chrony 4.3 sent, with a clock and without.
const std::string kSynchronised =
    hex("240800e700000000000000007f7f0101eeb845d166cda9db1122334455667788eeb845d2c3b97f59eeb845d2c3bd51a4");
const std::string kNotSynchronised =
    hex("e40000e700010000000100000000000000000000000000001122334455667788eeb845d44fa434efeeb845d44fa78ba0");

std::string with(std::size_t at, std::string_view octets) {
  std::string message = kSynchronised;
  return message.replace(at, octets.size(), octets);
}

TEST(Ntp, TheRequestTellsNothingButATimeThatIsRandom) {
  EXPECT_EQ(request_of(*ask()), "\x23" + std::string(39, '\0') + hex("1122334455667788"));
}

TEST(Ntp, AServerWithAClockPasses) {
  EXPECT_EQ(tell(ask(), {kSynchronised}), kPassed);
  EXPECT_EQ(tell(ask(), {kSynchronised + "an extension"}), kPassed);
  EXPECT_EQ(tell(ask(), {with(1, "\x0f")}), kPassed) << "stratum 15";
}

TEST(Ntp, AServerWithoutAClockFails) {
  EXPECT_EQ(tell(ask(), {kNotSynchronised}), failed("not synchronised"));
  EXPECT_EQ(tell(ask(), {with(1, "\x10")}), failed("not synchronised")) << "stratum 16";
  EXPECT_EQ(tell(ask(), {with(0, "\xe4")}), failed("not synchronised")) << "the alarm of the leap indicator";
}

TEST(Ntp, AnAnswerWithoutATimeFails) {
  EXPECT_EQ(tell(ask(), {with(40, std::string(8, '\0'))}), failed("answer has no transmit time"));
  EXPECT_EQ(tell(ask(), {with(40, std::string(7, '\0'))}), kPassed);
}

TEST(Ntp, AKissIsNamed) {
  std::string kiss = with(1, std::string(1, '\0'));
  EXPECT_EQ(tell(ask(), {kiss.replace(12, 4, "RATE")}), failed("kiss code RATE"));
  EXPECT_EQ(tell(ask(), {kiss.replace(12, 4, std::string("X\n\0\0", 4))}), failed("kiss code X."));
}

TEST(Ntp, AnAnswerToAnotherRequestIsNotHeard) {
  for (std::size_t at = 24; at < 32; ++at) EXPECT_EQ(tell(ask(), {with(at, "\x99")}), kNothing) << at;
  EXPECT_EQ(tell(ask(), {with(24, "\x99"), kSynchronised}), kPassed);
}

TEST(Ntp, WhatIsNoAnswerOfAServerIsTold) {
  EXPECT_EQ(tell(ask(), {request_of(*ask())}), failed("answer is not NTP"));
  tell_cut(ask, kSynchronised,
           [](std::size_t size, const auto& turn) { EXPECT_EQ(turn, failed("answer is not NTP")) << size; });
}

}  // namespace
}  // namespace headgate::probe
