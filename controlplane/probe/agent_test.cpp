// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/agent.h"

#include <gtest/gtest.h>

#include "controlplane/probe/heard.h"
#include "controlplane/probe/rtsp.h"

namespace headgate::probe {
namespace {

using Mode = AgentSays::Mode;

TEST(AgentLine, IsReadWordByWord) {
  EXPECT_EQ(parse_agent("up"), (AgentSays{.up = true}));
  EXPECT_EQ(parse_agent("UP\r"), (AgentSays{.up = true}));
  for (const char* word : {"down", "fail", "failed", "stopped"})
    EXPECT_EQ(parse_agent(word), (AgentSays{.up = false})) << word;
  EXPECT_EQ(parse_agent("ready"), (AgentSays{.mode = Mode::ready}));
  EXPECT_EQ(parse_agent("drain"), (AgentSays{.mode = Mode::drain}));
  EXPECT_EQ(parse_agent("maint"), (AgentSays{.mode = Mode::maintenance}));
  EXPECT_EQ(parse_agent("75%"), (AgentSays{.percent = 75}));
  EXPECT_EQ(parse_agent(" ready, up\t50%"), (AgentSays{.up = true, .mode = Mode::ready, .percent = 50}));
}

TEST(AgentLine, HasAReasonBehindTheHash) {
  EXPECT_EQ(parse_agent("down#disk full, up"), (AgentSays{.up = false, .reason = "disk full, up"}));
  EXPECT_EQ(parse_agent("0% stopped #\x07"), (AgentSays{.up = false, .percent = 0, .reason = "."}));
  EXPECT_EQ(parse_agent("#only this"), std::nullopt);
}

TEST(AgentLine, OfTwoWordsTheLaterOneCounts) {
  EXPECT_EQ(parse_agent("up down"), (AgentSays{.up = false}));
  EXPECT_EQ(parse_agent("drain ready 5% 6%"), (AgentSays{.mode = Mode::ready, .percent = 6}));
}

TEST(AgentLine, WhatIsUnknownIsNothing) {
  for (const char* line :
       {"", " ", ",,", "sick", "up sick", "%", "-5%", "5", "5%%", "1001%", "99999999999%", "5.5%"})
    EXPECT_EQ(parse_agent(line), std::nullopt) << line;
  EXPECT_EQ(parse_agent("1000%"), (AgentSays{.percent = 1000}));
}

std::optional<health::Bearing> percent(std::uint32_t number) {
  return health::Bearing{health::Bearing::Of::configured, number};
}

Heard talk(std::string_view server, std::size_t piece = 4096) {
  return hear(*agent("status\n"), server, piece);
}

TEST(AgentLine, GradesItsServer) {
  const auto reading = [](const char* line) { return reading_of(*parse_agent(line)); };
  using health::Grade;
  using health::Reading;
  EXPECT_EQ(reading("up"), (Reading{Grade::available, 10}));
  EXPECT_EQ(reading("ready 3%"), (Reading{Grade::available, 10})) << "that is a matter of its weight";
  EXPECT_EQ(reading("0%"), (Reading{Grade::degraded, 1}));
  EXPECT_EQ(reading("drain 50%"), (Reading{Grade::degraded, 1}));
  EXPECT_EQ(reading("maint"), std::nullopt);
  EXPECT_EQ(reading("down 100%"), std::nullopt);
}

TEST(Agent, PassesUnlessItSaysThatTheServerIsDown) {
  EXPECT_EQ(
      talk("up 50%\n"),
      (Heard{"status\n", {.passed = true, .reason = "answered", .value = "up 50%", .bears = percent(50)}}));
  EXPECT_EQ(talk("0%\n").outcome.bears, percent(0));
  EXPECT_EQ(talk("up\n").outcome.bears, std::nullopt);
  EXPECT_EQ(talk("drain\n").outcome.reading.grade, health::Grade::degraded);
  EXPECT_EQ(talk("maint\n").outcome.reason, "agent says \"maint\"");
  EXPECT_EQ(talk("down#disk full\r\n").outcome,
            (Outcome{false, "agent says \"down#disk full\"", "down#disk full"}));
  EXPECT_EQ(talk("sick\n").outcome, (Outcome{false, "agent says \"sick\", which is nothing known", "sick"}));
}

TEST(Agent, PiecesMakeNoDifference) {
  constexpr std::string_view kServer = "drain 50%#busy\r\nand more";
  for (std::size_t piece = 1; piece < kServer.size(); ++piece) EXPECT_EQ(talk(kServer, piece), talk(kServer));
}

TEST(Agent, TheEndOfTheStreamEndsTheLine) {
  EXPECT_EQ(talk("up"), talk("up\n"));
  EXPECT_EQ(talk("").outcome, (Outcome{false, "closed without an answer"}));
}

TEST(Agent, ALineWithoutEndIsGivenUp) {
  const auto client = agent("");
  EXPECT_EQ(client->begin().say, "");
  EXPECT_EQ(client->hear(std::string(256, ' ')).outcome, std::nullopt);
  EXPECT_EQ(client->hear(" ").outcome, (Outcome{false, "answer has no end of line"}));
}

TEST(Rtsp, AsksWhatTheServerCan) {
  const RtspAsk ask{.address = *Ip::parse("10.10.2.11")};
  EXPECT_EQ(hear(*rtsp(ask), "RTSP/1.0 200 OK\r\nCSeq: 1\r\n\r\n"),
            (Heard{"OPTIONS rtsp://10.10.2.11 RTSP/1.0\r\nCSeq: 1\r\nUser-Agent: headgate\r\n\r\n",
                   {true, "status 200"}}));
}

TEST(Rtsp, HasAPathDescribed) {
  const RtspAsk ask{.address = *Ip::parse("2001:db8::11"), .port = 8554, .path = "/live"};
  EXPECT_EQ(hear(*rtsp(ask), "RTSP/1.0 404 Not Found\r\n"),
            (Heard{"DESCRIBE rtsp://[2001:db8::11]:8554/live RTSP/1.0\r\nCSeq: 1\r\nUser-Agent: headgate\r\n"
                   "Accept: application/sdp\r\n\r\n",
                   {false, "status 404, wanted 200"}}));
  EXPECT_TRUE(
      hear(*rtsp({.host = "www.example.com", .path = "/live", .statuses = StatusSet::parse("404").value()}),
           "RTSP/1.0 404 Not Found\r\n")
          .outcome.passed);
}

TEST(Rtsp, AnotherProtocolIsNone) {
  EXPECT_EQ(hear(*rtsp({}), "HTTP/1.1 200 OK\r\n").outcome, (Outcome{false, "answer is not RTSP"}));
  EXPECT_EQ(hear(*rtsp({}), "").outcome, (Outcome{false, "closed without an answer"}));
}

TEST(Agent, ALimitOfSessionsIsKnownAndLeftToTheConfiguration) {
  EXPECT_EQ(parse_agent("up 75% maxconn:30"), (AgentSays{.up = true, .percent = 75}));
  for (const auto* line : {"up maxconn:", "up maxconn:3x", "up maxconn", "up maxcon:3"})
    EXPECT_EQ(parse_agent(line), std::nullopt) << line;
}

}  // namespace
}  // namespace headgate::probe
