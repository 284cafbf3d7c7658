// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/script.h"

#include <gtest/gtest.h>

namespace headgate::probe {
namespace {

using Verb = Statement::Verb;
using std::chrono::milliseconds;
using Statements = std::vector<Statement>;

std::string error(const Statements& statements) {
  const auto read = read_script(statements);
  return read.ok() ? "" : read.error().message;
}

std::vector<ScriptLeg> legs(const Statements& statements) {
  const auto read = read_script(statements);
  EXPECT_TRUE(read.ok()) << (read.ok() ? "" : read.error().message);
  return read.ok() ? *read : std::vector<ScriptLeg>{};
}

TEST(ScriptText, EachOpenIsAConnectionOfItsOwn) {
  const auto read = legs({{Verb::open, "http"},
                          {Verb::send, R"(GET / HTTP/1.0\r\n\r\n)"},
                          {Verb::expect, "200"},
                          {Verb::close, ""},
                          {Verb::open, "53,udp"},
                          {Verb::bsend, "00ff"},
                          {Verb::nsend, "10"},
                          {Verb::bexpect, "AB"},
                          {Verb::nexpect, "cd"},
                          {Verb::offset, "3"},
                          {Verb::depth, "8"},
                          {Verb::wait, "500"},
                          {Verb::open, "inherit"},
                          {Verb::expect, "*"}});
  ASSERT_EQ(read.size(), 3u);
  EXPECT_EQ(read[0],
            (ScriptLeg{80,
                       Carrier::stream,
                       {{.send = "GET / HTTP/1.0\r\n\r\n"}, {.expect = "200", .shown = "expect \"200\""}}}));
  EXPECT_EQ(read[1], (ScriptLeg{53,
                                Carrier::datagrams,
                                {{.send = std::string("\0\xff\x10", 3)},
                                 {.expect = "\xab\xcd",
                                  .offset = 2,
                                  .depth = 8,
                                  .wait = milliseconds(500),
                                  .shown = "bexpect ABcd"}}}));
  EXPECT_EQ(read[2], (ScriptLeg{0, std::nullopt, {{.shown = "expect \"*\""}}}));
}

TEST(ScriptText, EscapesStandForWhatTheyMean) {
  EXPECT_EQ(legs({{Verb::open, "80"}, {Verb::send, R"(a\"b\\c\td\xe\)"}})[0].moves[0].send,
            "a\"b\\c\td\\xe\\");
}

TEST(ScriptText, SaysWhichStatementCantBe) {
  const Statement open{Verb::open, "80"};
  EXPECT_EQ(error({{Verb::send, "a"}}), "statement 1: it needs an open before it");
  EXPECT_EQ(error({open, {Verb::close, ""}, {Verb::send, "a"}}), "statement 3: it needs an open before it");
  EXPECT_EQ(error({{Verb::open, "80,sctp"}}),
            "statement 1: sctp is not allowed behind the port, allowed is tcp or udp");
  EXPECT_EQ(error({{Verb::open, "70000"}}),
            "statement 1: port 70000 is not allowed, allowed is 1-65535, a name such as http, or inherit");
  EXPECT_EQ(error({open, {Verb::bsend, "0g"}}), "statement 2: 0g is not hexadecimal");
  EXPECT_EQ(error({open, {Verb::nsend, "00"}}), "statement 2: nsend goes on with a bsend right before it");
  EXPECT_EQ(error({open, {Verb::bexpect, "00"}, {Verb::offset, "2"}, {Verb::nexpect, "00"}}),
            "statement 4: nexpect goes on with a bexpect right before it");
  EXPECT_EQ(error({open, {Verb::send, "a"}, {Verb::wait, "2"}}),
            "statement 3: it is about an expect or bexpect, and there is none before it");
  for (const Verb verb : {Verb::send, Verb::expect, Verb::bsend, Verb::bexpect})
    EXPECT_EQ(error({open, {verb, ""}}), "statement 2: it says no octets; what takes any answer is expect *");
  EXPECT_EQ(error({{Verb::open, "80,udp"}, {Verb::close, ""}}), "statement 2: close is for tcp");
}

TEST(ScriptText, TakesNoMoreThanItsRoom) {
  const Statements fitting{
      {Verb::open, "80"}, {Verb::send, std::string(507, 'a')}, {Verb::send, std::string(513, 'b')}};
  EXPECT_EQ(error(fitting), "statement 3: the script takes 1025 octets, allowed are 1024");
}

Conversation::Turn on(ScriptLeg leg, Carrier carrier, const std::vector<std::string>& answers) {
  const auto talk = script_conversation(std::move(leg), carrier);
  auto turn = talk->begin();
  for (const auto& answer : answers) {
    if (turn.outcome) return turn;
    turn = talk->hear(answer);
  }
  if (!turn.outcome) turn.outcome = talk->end();
  return turn;
}

const Outcome kPassed{true, "answered"};
const Statements kGreeting{{Verb::open, "25"},
                           {Verb::expect, "220"},
                           {Verb::send, "HELO x\\r\\n"},
                           {Verb::expect, "250"},
                           {Verb::send, "QUIT\\r\\n"}};

TEST(ScriptTalk, SendsWhatFollowsOnceItsExpectationIsMet) {
  const auto talk = script_conversation(legs(kGreeting)[0], Carrier::stream);
  EXPECT_EQ(talk->begin(), Conversation::Turn{});
  EXPECT_EQ(talk->hear("22"), Conversation::Turn{});
  EXPECT_EQ(talk->hear("0 hello\r\n"), (Conversation::Turn{"HELO x\r\n", {}}));
  EXPECT_EQ(talk->hear("250 x\r\n"), (Conversation::Turn{"QUIT\r\n", kPassed}));
}

TEST(ScriptTalk, AnAnswerToAnEarlierSendMeetsNoLaterExpectation) {
  const auto leg =
      legs({{Verb::open, "1"}, {Verb::expect, "ok"}, {Verb::send, "x"}, {Verb::expect, "ok"}})[0];
  EXPECT_EQ(on(leg, Carrier::stream, {"ok"}).outcome,
            (Outcome{false, "expect \"ok\": not in the 2 octets that came"}));
  EXPECT_EQ(on(leg, Carrier::stream, {"ok", "ok"}).outcome, kPassed);
}

TEST(ScriptTalk, WhatIsSaidTooSoonAnswersTheNextSend) {
  const auto leg =
      legs({{Verb::open, "1"}, {Verb::expect, "ok"}, {Verb::send, "x"}, {Verb::expect, "ok"}})[0];
  EXPECT_EQ(on(leg, Carrier::stream, {"ok ok"}).outcome, kPassed);
}

TEST(ScriptTalk, ExpectationsAreMetInWhateverOrderTheAnswerHasThem) {
  const auto leg = legs({{Verb::open, "1"}, {Verb::expect, "b"}, {Verb::expect, "a"}})[0];
  EXPECT_EQ(on(leg, Carrier::stream, {"ab"}).outcome, kPassed);
}

TEST(ScriptTalk, AnAnswerMayComeInAnyPieces) {
  const auto leg = legs({{Verb::open, "1"}, {Verb::expect, "role:master"}})[0];
  const std::string answer = "$20\r\nrole:master\r\n";
  for (std::size_t cut = 0; cut <= answer.size(); ++cut)
    EXPECT_EQ(on(leg, Carrier::stream, {answer.substr(0, cut), answer.substr(cut)}).outcome, kPassed) << cut;
}

TEST(ScriptTalk, DatagramsAreAnswersOfTheirOwn) {
  const auto leg = legs({{Verb::open, "1,udp"}, {Verb::expect, "abc"}})[0];
  EXPECT_EQ(on(leg, Carrier::datagrams, {"ab", "c"}).outcome,
            (Outcome{false, "expect \"abc\": not in the 3 octets that came"}));
  EXPECT_EQ(on(leg, Carrier::datagrams, {"x", "abc"}).outcome, kPassed);
}

TEST(ScriptTalk, OffsetAndDepthSayWhereOctetsMayStand) {
  const auto with = [](const char* offset, const char* depth, const std::string& answer) {
    const auto leg =
        legs({{Verb::open, "1"}, {Verb::bexpect, "6162"}, {Verb::offset, offset}, {Verb::depth, depth}})[0];
    return on(leg, Carrier::stream, {answer}).outcome == kPassed;
  };
  EXPECT_TRUE(with("1", "2", "abxx"));
  EXPECT_FALSE(with("2", "2", "abxx"));
  EXPECT_TRUE(with("3", "2", "xxab"));
  EXPECT_FALSE(with("3", "2", "xxxab"));
  EXPECT_TRUE(with("3", "3", "xxxab"));
  EXPECT_FALSE(with("1464", "2", "ab"));
}

TEST(ScriptTalk, AnyAnswerBehindAnOffsetHasAnOctetThere) {
  const auto leg = legs({{Verb::open, "1"},
                         {Verb::expect, "*"},
                         {Verb::offset, "2"},
                         {Verb::send, "x"},
                         {Verb::expect, "b"}})[0];
  EXPECT_EQ(on(leg, Carrier::stream, {"a"}).outcome,
            (Outcome{false, "expect \"*\": not in the 1 octets that came"}));
  for (const auto& pieces : {std::vector<std::string>{"ab"}, {"a", "b"}})
    EXPECT_EQ(on(leg, Carrier::stream, pieces).outcome,
              (Outcome{false, "expect \"b\": not in the 2 octets that came"}))
        << pieces.size();
}

TEST(ScriptTalk, AWaitIsThePatienceOfItsExpectation) {
  const auto talk = script_conversation(
      legs({{Verb::open, "1"}, {Verb::send, "x"}, {Verb::expect, "y"}, {Verb::wait, "300"}})[0],
      Carrier::stream);
  EXPECT_EQ(talk->begin(), (Conversation::Turn{"x", {}, milliseconds(300)}));
  EXPECT_EQ(talk->hear("z").patience, std::nullopt) << "it is not prolonged by other answers";
  EXPECT_EQ(talk->late().outcome, (Outcome{false, "expect \"y\": no match in 300 ms"}));
}

TEST(ScriptTalk, AnEndlessAnswerIsRememberedInBounds) {
  const auto talk = script_conversation(legs({{Verb::open, "1"}, {Verb::expect, "end"}})[0], Carrier::stream);
  (void)talk->begin();
  for (int i = 0; i < 255; ++i) EXPECT_FALSE(talk->hear(std::string(4096, 'x')).outcome);
  EXPECT_EQ(talk->hear("end").outcome, kPassed);
}

TEST(ScriptTalk, AServerThatOnlyTalksHasFailed) {
  const auto talk = script_conversation(legs({{Verb::open, "1"}, {Verb::expect, "end"}})[0], Carrier::stream);
  (void)talk->begin();
  for (int i = 0; i < 256; ++i) EXPECT_FALSE(talk->hear(std::string(4096, 'x')).outcome);
  EXPECT_EQ(talk->hear("end").outcome, (Outcome{false, "expect \"end\": not in 1048576 octets, and no end"}));
}

}  // namespace
}  // namespace headgate::probe
