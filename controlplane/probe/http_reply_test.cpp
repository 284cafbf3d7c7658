// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/http_reply.h"

#include <gtest/gtest.h>

namespace headgate::probe {
namespace {

Outcome all_at_once(std::string_view bytes) {
  HttpReply reply;
  reply.append(bytes);
  return reply.end();
}

Outcome byte_by_byte(std::string_view bytes) {
  HttpReply reply;
  for (const char c : bytes) reply.append(std::string_view(&c, 1));
  return reply.end();
}

struct Case {
  std::string_view bytes;
  bool passed;
  std::string_view reason;
};

class Replies : public testing::TestWithParam<Case> {};

TEST_P(Replies, AreJudgedTheSameHoweverTheyAreSplit) {
  const Outcome expected{GetParam().passed, std::string(GetParam().reason)};
  EXPECT_EQ(all_at_once(GetParam().bytes), expected);
  EXPECT_EQ(byte_by_byte(GetParam().bytes), expected);
}

// Reports 19-27.
INSTANTIATE_TEST_SUITE_P(
    HttpReply, Replies,
    testing::Values(Case{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", true, "status 200"},
                    Case{"HTTP/1.0 200 OK\r\n\r\n", true, "status 200"},  //
                    Case{"HTTP/1.1 200\r\n", true, "status 200"},         //
                    Case{"HTTP/1.1 200 \r\n", true, "status 200"},        //
                    Case{"HTTP/1.1 200 OK\nServer: x\n\n", true, "status 200"},
                    Case{"HTTP/1.1 200\n", true, "status 200"},
                    Case{"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", true,
                         "status 200"},
                    Case{"HTTP/1.1 206 Partial Content\r\n\r\n", false, "status 206, wanted 200"},
                    Case{"HTTP/1.1 301 Moved\r\n\r\n", false, "status 301, wanted 200"},
                    Case{"HTTP/1.1 404 Not Found\r\n\r\n200 OK", false, "status 404, wanted 200"},
                    Case{"HTTP/1.1 503 Service Unavailable\r\n\r\n", false, "status 503, wanted 200"},
                    Case{"HTTP/1.1 2000 OK\r\n", false, "answer is not HTTP"},
                    Case{"HTTP/2.0 200 OK\r\n", false, "answer is not HTTP"},
                    Case{"ABC\r\n", false, "answer is not HTTP"},       //
                    Case{"\x16\x03\x01", false, "answer is not HTTP"},  //
                    Case{"", false, "closed without an answer"},        //
                    Case{"H", false, "answer is cut short"},            //
                    Case{"HTTP/1.1 20", false, "answer is cut short"},  //
                    Case{"HTTP/1.1 200", false, "answer is cut short"}));

TEST(HttpReply, DecidesBeforeTheHeadersHaveCome) {
  HttpReply reply;
  EXPECT_FALSE(reply.append("HTTP/1.1 2"));
  EXPECT_EQ(reply.append("00 "), (Outcome{true, "status 200"}));
}

TEST(HttpReply, DecidesAtTheFirstByteThatIsNotHttp) {
  HttpReply reply;
  EXPECT_EQ(reply.append("S"), (Outcome{false, "answer is not HTTP"}));
}

TEST(HttpReply, BigHeadersChangeNothing) {  // reports 33
  HttpReply reply;
  reply.append("HTTP/1.1 200 OK\r\n");
  for (int i = 0; i < 64; ++i) EXPECT_TRUE(reply.append(std::string(1024, 'x'))->passed);
}

}  // namespace
}  // namespace headgate::probe
