// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/tftp.h"

#include <gtest/gtest.h>

#include "controlplane/probe/told.h"

namespace headgate::probe {
namespace {

std::unique_ptr<Conversation> ask() {
  return tftp_read("boot/kernel");
}

// What tftpd-hpa 5.2 sent; of a large file, its first block.
const std::string kSmallFile = hex("0003000168656c6c6f0a");
const std::string kLargeFile = hex("00030001") + std::string(512, 'x');
const std::string kNotFound = hex("0005000146696c65206e6f7420666f756e6400");

TEST(Tftp, TheRequestReadsOctets) {
  EXPECT_EQ(request_of(*ask()), hex("0001626f6f742f6b65726e656c006f6374657400"));
}

TEST(Tftp, TheLastBlockIsAcknowledged) {
  EXPECT_EQ(tell(ask(), {kSmallFile}), (Conversation::Turn{hex("00040001"), Outcome{true, "answered"}}));
  EXPECT_EQ(tell(ask(), {hex("00030001")}).say, hex("00040001")) << "an empty file";
}

TEST(Tftp, ABlockThatOthersFollowIsTheLastThatIsSent) {
  EXPECT_EQ(tell(ask(), {kLargeFile}),
            (Conversation::Turn{hex("00050000656e6f75676800"), Outcome{true, "answered"}}));
}

TEST(Tftp, AnErrorIsTold) {
  EXPECT_EQ(tell(ask(), {kNotFound}), failed("error 1 \"File not found\""));
  EXPECT_EQ(tell(ask(), {hex("00050002610a62")}), failed("error 2 \"a.b\"")) << "without its end";
}

TEST(Tftp, AnotherBlockIsNotHeard) {
  EXPECT_EQ(tell(ask(), {hex("0003000278")}), kNothing);
  EXPECT_EQ(tell(ask(), {hex("0003000278"), kSmallFile}).outcome, (Outcome{true, "answered"}));
}

TEST(Tftp, WhatIsNoAnswerIsTold) {
  for (const char* other : {"", "00", "0003", "000500", "00040001", "00010001", "000600016100", "ffff0001"})
    EXPECT_EQ(tell(ask(), {hex(other)}), failed("answer is not TFTP")) << other;
}

TEST(Tftp, WhatIsNoNameIsNotAskedFor) {
  EXPECT_EQ(tell(tftp_read(""), {}), unaskable("no such file can be asked for"));
  EXPECT_EQ(tell(tftp_read(std::string("a\0b", 3)), {}), unaskable("no such file can be asked for"));
}

}  // namespace
}  // namespace headgate::probe
