// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "controlplane/probe/dialogue.h"
#include "controlplane/probe/heard.h"

namespace headgate::probe {
namespace {

using namespace std::string_view_literals;

/// What a client did: its words, where it connected, whether it waited for a file, and how it ended.
struct Played {
  std::string said;
  std::optional<L4Port> port;
  bool fetched = false;
  Outcome outcome;
  bool operator==(const Played&) const = default;
};

/// What the second stream does.
struct Second {
  std::string_view failure = {};
  std::size_t octets = 5;
};

Played play(std::string_view file, std::string_view server, Second second = {}, std::size_t piece = 4096) {
  Dialogue client(ftp_script(std::string(file)));
  Played out;
  auto turn = client.begin();
  while (true) {
    out.said += turn.say;
    if (turn.outcome || (server.empty() && !turn.connect && !turn.fetch)) break;
    if (turn.connect) {
      out.port = turn.connect;
      turn = client.connected(second.failure);
    } else if (turn.fetch) {
      out.fetched = true;
      turn = client.fetched(second.octets);
    } else {
      turn = client.hear(server.substr(0, piece));
      server.remove_prefix(std::min(piece, server.size()));
    }
  }
  out.outcome = turn.outcome ? *turn.outcome : client.end();
  return out;
}

constexpr std::string_view kLogin = "220 ready\r\n331 password\r\n230 welcome\r\n";
const std::string kReady = std::string(kLogin) + "200 binary\r\n";
const std::string kPort = kReady + "229 Entering Extended Passive Mode (|||40001|)\r\n";
constexpr std::string_view kFirst = "USER anonymous\r\nPASS headgate@\r\n";

TEST(Ftp, LogsInWhereNoFileIsWanted) {
  EXPECT_EQ(play("", kLogin), (Played{std::string(kFirst) + "QUIT\r\n", {}, false, {true, "answered"}}));
  EXPECT_EQ(play("", "220 ready\r\n230 no password here\r\n"),
            (Played{"USER anonymous\r\nQUIT\r\n", {}, false, {true, "answered"}}));
}

TEST(Ftp, PassesWithTheFirstOctetsOfTheFile) {
  const Played whole = play("health", kPort + "150 here it comes\r\n");
  EXPECT_EQ(whole, (Played{std::string(kFirst) + "TYPE I\r\nEPSV\r\nRETR health\r\nQUIT\r\n",
                           40001,
                           true,
                           {true, "answered"}}));
}

TEST(Ftp, AnEmptyFilePassesWhenItIsComplete) {
  EXPECT_EQ(play("health", kPort + "150 here\r\n", {.octets = 0}).outcome,
            (Outcome{false, "answer is cut short"}));
  EXPECT_TRUE(play("health", kPort + "125 here\r\n226 done\r\n", {.octets = 0}).outcome.passed);
  EXPECT_EQ(play("health", kPort + "150 here\r\n426 broken\r\n", {.octets = 0}).outcome,
            (Outcome{false, "transfer: \"426 broken\", wanted 226"}));
}

TEST(Ftp, PiecesMakeNoDifference) {
  const std::string server = kPort + "150 here\r\n226 done\r\n";
  for (const std::size_t octets : {0u, 5u}) {
    const Played whole = play("health", server, {.octets = octets});
    EXPECT_TRUE(whole.outcome.passed);
    for (std::size_t piece = 1; piece < server.size(); ++piece)
      EXPECT_EQ(play("health", server, {.octets = octets}, piece), whole) << piece;
  }
}

// Reports 27 and 30.
TEST(Ftp, WhatIsCutShortFails) {
  const std::string server = kPort + "150 here\r\n226 done\r\n";
  EXPECT_EQ(play("health", "").outcome, (Outcome{false, "closed without an answer"}));
  for (std::size_t size = 1; size + 2 < server.size(); ++size)
    EXPECT_EQ(play("health", server.substr(0, size), {.octets = 0}).outcome,
              (Outcome{false, "answer is cut short"}))
        << size;
}

TEST(Ftp, PassiveModeIsTheFallback) {
  const Played played = play("health", kReady +
                                           "500 EPSV not understood\r\n"
                                           "227 Entering Passive Mode (192,0,2,1,156,66).\r\n150 here\r\n");
  EXPECT_EQ(played, (Played{std::string(kFirst) + "TYPE I\r\nEPSV\r\nPASV\r\nRETR health\r\nQUIT\r\n",
                            156 * 256 + 66,
                            true,
                            {true, "answered"}}));
  EXPECT_EQ(play("x", kReady + "502 no\r\n227 Passive 10,0,0,1,0,21\r\n150 here\r\n").port, 21);
}

TEST(Ftp, APortThatIsNoneIsRefused) {
  for (const char* answer :
       {"229 (|||0|)", "229 (|||65536|)", "229 (|||40001)", "229 (||40001|)", "229 (", "229 |||40001|",
        "229 (|||x|)", "229 (|||-1|)", "229 (|||99999999999|)", "530 log in first", "421 busy"}) {
    const Played played = play("health", kReady + answer + "\r\n");
    EXPECT_EQ(played.outcome,
              (Outcome{false, "EPSV: \"" + std::string(answer) + "\", wanted 229 and a port"}));
    EXPECT_EQ(played.port, std::nullopt);
  }
  for (const char* answer : {"227 (1,2,3,4,5)", "227 (1,2,3,4,256,1)", "227 (1,2,3,4,0,0)", "227 none",
                             "227 (1,2,3,4,,1)", "227", "500 no"})
    EXPECT_EQ(play("health", kReady + "500 no\r\n" + answer + "\r\n").outcome,
              (Outcome{false, "PASV: \"" + std::string(answer) + "\", wanted 227 and a port"}));
}

TEST(Ftp, ADataConnectionThatFailsIsSaid) {
  const Played played = play("health", kPort, {.failure = "refused"});
  EXPECT_EQ(played.outcome, (Outcome{false, "data connection: refused"}));
  EXPECT_TRUE(played.said.ends_with("EPSV\r\nQUIT\r\n"));
}

TEST(Ftp, AFileThatIsNotThereFailsWithTheServersAnswer) {
  const Played played = play("health", kPort + "550 Failed to open file.\r\n");
  EXPECT_EQ(played.outcome, (Outcome{false, "RETR health: \"550 Failed to open file.\", wanted 125 or 150"}));
  EXPECT_FALSE(played.fetched);
}

TEST(Ftp, BetweenTheLinesOfAnAnswerAnythingMayStand) {
  EXPECT_TRUE(play("",
                   "220-hello\r\nanything\r\n 220 indented\r\n331 not the end\r\n220 ready\r\n"
                   "331 password\r\n230-\r\n230-x\r\n230 in\r\n")
                  .outcome.passed);
  EXPECT_EQ(play("", "220-hello\r\n220 ready\r\n530-sorry\r\nno\r\n530 closed\r\n").outcome,
            (Outcome{false, "USER anonymous: \"530 closed\", wanted 230 or 331"}));
  std::string endless = "220-hello\r\n";
  for (int i = 0; i < 300; ++i) endless += "and so on\r\n";
  EXPECT_EQ(play("", endless).outcome, (Outcome{false, "answer has no end"}));
}

}  // namespace
}  // namespace headgate::probe
