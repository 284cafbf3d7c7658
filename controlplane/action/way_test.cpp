// SPDX-License-Identifier: Apache-2.0
#include "controlplane/action/way.h"

#include <gtest/gtest.h>

namespace headgate::action {
namespace {

using Words = std::vector<std::string>;

Words words(std::string_view text) {
  const auto way = read_way(text);
  if (!way) return {way.error().message};
  return std::get<Command>(*way).words;
}

std::string error(std::string_view text) {
  const auto way = read_way(text);
  return way ? "" : way.error().message;
}

const Act kAct{.remedy = health::Remedy::failover,
               .real = 7,
               .address = Ipv4{0x0a0a020b},
               .port = 8080,
               .reason = "status \"500\"\n"};

TEST(Way, OfACommandIsItsWords) {
  EXPECT_EQ(words("/bin/restart"), (Words{"/bin/restart"}));
  EXPECT_EQ(words("  /bin/restart  --now\tshop "), (Words{"/bin/restart", "--now", "shop"}));
  EXPECT_EQ(words(R"(/bin/r 'a "b' "c 'd" e"f g"h)"), (Words{"/bin/r", "a \"b", "c 'd", "ef gh"}));
  EXPECT_EQ(words(R"(/bin/r a\ b "c\"d" 'e\f' \\)"), (Words{"/bin/r", "a b", "c\"d", "e\\f", "\\"}));
  EXPECT_EQ(words("/bin/r '' \"\""), (Words{"/bin/r", "", ""}));
  EXPECT_EQ(words("/bin/r $HOME; ls | x"), (Words{"/bin/r", "$HOME;", "ls", "|", "x"}))
      << "there is no shell";
}

TEST(Way, OfACallIsItsAddressAndPath) {
  EXPECT_EQ(std::get<Call>(read_way("http://10.0.0.9").value()),
            (Call{.address = Ipv4{0x0a000009}, .host = "10.0.0.9"}));
  EXPECT_EQ(std::get<Call>(read_way("http://10.0.0.9:8000/a/b?c=d").value()),
            (Call{.address = Ipv4{0x0a000009}, .port = 8000, .host = "10.0.0.9:8000", .path = "/a/b?c=d"}));
  EXPECT_EQ(std::get<Call>(read_way("http://[fd00::1]:81/").value()),
            (Call{.address = Ip::parse("fd00::1").value(), .port = 81, .host = "[fd00::1]:81"}));
}

TEST(Way, ThatIsNoneSaysWhatIsAllowed) {
  EXPECT_EQ(
      error("restart shop"),
      "\"restart shop\" is none; a command that begins with /, or http://ADDRESS[:PORT][/PATH] is allowed");
  for (const char* text :
       {"https://10.0.0.1/", "http://", "http://shop.example/", "http://10.0.0.1:0/",
        "http://10.0.0.1:65536/", "http://10.0.0.1:/", "http://10.0.0.1x/", "http://[fd00::1/",
        "http://[10.0.0.1]/", "http://fd00::1/", "http://[]/", "http://0.0.0.0/", "http://10.0.0.1/a b",
        "http://10.0.0.1/a\r\nX:", " ", "\"\"", "'a' /b"})
    EXPECT_NE(error(text), "") << text;
  EXPECT_EQ(error("/bin/r 'a"), "\"/bin/r 'a\" ends within a quote or behind a backslash");
  EXPECT_NE(error("/bin/r \"a"), "");
  EXPECT_NE(error("/bin/r a\\"), "");
}

TEST(Way, IsToldTheFacts) {
  EXPECT_EQ(environment_of(kAct),
            (Words{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                   "HEADGATE_ACTION=failover", "HEADGATE_REAL=7", "HEADGATE_ADDRESS=10.10.2.11",
                   "HEADGATE_PORT=8080", "HEADGATE_REASON=status \"500\"\n"}));
  EXPECT_EQ(
      request_of({.address = Ipv4{0x0a000009}, .host = "10.0.0.9:8000", .path = "/x"}, kAct),
      "POST /x HTTP/1.1\r\nHost: 10.0.0.9:8000\r\nUser-Agent: headgate\r\nContent-Type: "
      "application/json\r\nContent-Length: 97\r\nConnection: close\r\n\r\n"
      R"({"action":"failover","real":7,"address":"10.10.2.11","port":8080,"reason":"status \"500\"\u000a"})");
}

}  // namespace
}  // namespace headgate::action
