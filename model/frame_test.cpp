// SPDX-License-Identifier: Apache-2.0
#include "model/frame.h"

#include <gtest/gtest.h>

#include "model/control.pb.h"

namespace headgate {
namespace {

control::Edit edit(const std::string& lines) {
  control::Edit message;
  message.set_lines(lines);
  return message;
}

TEST(Frame, LengthStandsInFrontBigEndian) {
  const std::string bytes = frame(edit(std::string(300, 'x')));
  EXPECT_EQ(bytes.substr(0, 4), std::string("\x00\x00\x01\x2f", 4));
  EXPECT_EQ(*frame_length(bytes.substr(0, 4)), bytes.size() - 4);
}

TEST(Frame, TooLongAMessageIsRefused) {
  EXPECT_TRUE(frame_length(std::string("\x04\x00\x00\x00", 4)).ok());
  EXPECT_EQ(frame_length(std::string("\x04\x00\x00\x01", 4)).error().message,
            "message of 67108865 bytes refused: at most 67108864 are allowed");
  FrameReader reader;
  reader.append("\xff\xff\xff\xff");
  EXPECT_FALSE(reader.next().ok());
}

TEST(Frame, BodiesComeOutWholeHoweverTheBytesArrive) {
  const std::string bytes = frame(edit("a")) + frame(edit("")) + frame(edit("bc"));
  FrameReader reader;
  std::vector<std::string> bodies;
  for (const char byte : bytes) {
    reader.append({&byte, 1});
    while (const auto body = *reader.next()) bodies.push_back(*body);
  }
  ASSERT_EQ(bodies.size(), 3u);
  EXPECT_EQ(bodies[0], edit("a").SerializeAsString());
  EXPECT_EQ(bodies[1], "");
  EXPECT_EQ(bodies[2], edit("bc").SerializeAsString());
}

}  // namespace
}  // namespace headgate
