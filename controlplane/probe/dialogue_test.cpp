// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/dialogue.h"

#include <gtest/gtest.h>

#include "controlplane/probe/heard.h"

namespace headgate::probe {
namespace {

struct Case {
  const char* name;
  Dialogue::Script script;
  std::string_view server;  ///< one that agrees
  std::string_view client;  ///< what it is told
};

const Case kCases[] = {
    {"smtp", smtp_script("postmaster"),
     "220-mail.test ESMTP\r\n220 ready\r\n250 mail.test\r\n252 2.0.0 postmaster\r\n",
     "HELO headgate\r\nVRFY postmaster\r\nQUIT\r\n"},
    {"pop3", pop3_script("joe", "secret"), "+OK ready <1.2@test>\r\n+OK\r\n+OK logged in\r\n",
     "USER joe\r\nPASS secret\r\nQUIT\r\n"},
    {"imap", imap_script("joe", "a\"b\\c"),
     "* OK [CAPABILITY IMAP4rev1] ready\r\n* CAPABILITY IMAP4rev1\r\nhg1 OK logged in\r\n",
     "hg1 LOGIN \"joe\" \"a\\\"b\\\\c\"\r\nhg2 LOGOUT\r\n"},
    {"ftp", ftp_script(""), "220-hello\r\nand more\r\n220 ready\r\n331 password?\r\n230 welcome\r\n",
     "USER anonymous\r\nPASS headgate@\r\nQUIT\r\n"},
    {"nntp", nntp_script("local.test"), "201 no posting\r\n201 no posting\r\n211 0 0 0 local.test\r\n",
     "MODE READER\r\nGROUP local.test\r\nQUIT\r\n"},
};

class DialogueTest : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Protocols, DialogueTest, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(DialogueTest, AServerThatAgreesPasses) {
  EXPECT_EQ(hear(GetParam().script, GetParam().server),
            (Heard{std::string(GetParam().client), {true, "answered"}}));
}

TEST_P(DialogueTest, PiecesMakeNoDifference) {
  const Heard whole = hear(GetParam().script, GetParam().server);
  for (std::size_t piece = 1; piece < GetParam().server.size(); ++piece)
    EXPECT_EQ(hear(GetParam().script, GetParam().server, piece), whole) << piece;
}

TEST_P(DialogueTest, BareLineFeedsAreLineEnds) {
  std::string server(GetParam().server);
  std::erase(server, '\r');
  EXPECT_TRUE(hear(GetParam().script, server).outcome.passed);
}

// Reports 27 and 30: cut at each byte, or nothing at all.
TEST_P(DialogueTest, WhatIsCutShortFailsAtTheEnd) {
  EXPECT_EQ(hear(GetParam().script, "").outcome, (Outcome{false, "closed without an answer"}));
  for (std::size_t size = 1; size + 2 < GetParam().server.size(); ++size)
    EXPECT_EQ(hear(GetParam().script, GetParam().server.substr(0, size)).outcome,
              (Outcome{false, "answer is cut short"}))
        << size;
}

TEST_P(DialogueTest, WhatHasNoEndIsGivenUp) {
  Dialogue dialogue(GetParam().script);
  static_cast<void>(dialogue.begin());
  const std::string rubbish(1000, 'x');
  std::size_t heard = 0;
  for (; heard < 100; ++heard)
    if (const auto turn = dialogue.hear(rubbish); turn.outcome) {
      EXPECT_EQ(turn.outcome, (Outcome{false, "answer has no end of line"}));
      break;
    }
  EXPECT_LE(heard, Dialogue::kLongestLine / rubbish.size());
}

TEST_P(DialogueTest, WhatWasToBeSaidIsSaidBeforeAFailure) {
  const std::string first(GetParam().server.substr(0, GetParam().server.find('\n') + 1));
  const std::string server = first + first + std::string(3000, 'x');
  EXPECT_EQ(hear(GetParam().script, server, server.size()).said, hear(GetParam().script, server, 1).said);
}

TEST_P(DialogueTest, AnotherProtocolIsRefusedInItsWords) {
  const Outcome outcome = hear(GetParam().script, "HTTP/1.1 400 \x01\xff\r\n").outcome;
  EXPECT_FALSE(outcome.passed);
  EXPECT_TRUE(outcome.reason.starts_with("greeting \"HTTP/1.1 400 ..\", wanted ")) << outcome.reason;
}

TEST(Smtp, AnUnknownUserFailsWithTheServersAnswer) {
  EXPECT_EQ(hear(smtp_script("nobody"), "220 x\r\n250 x\r\n550 5.1.1 <nobody>: unknown\r\n").outcome,
            (Outcome{false, "VRFY nobody: \"550 5.1.1 <nobody>: unknown\", wanted 250 to 252"}));
  EXPECT_EQ(hear(smtp_script("nobody"), "554 no service\r\n").outcome,
            (Outcome{false, "greeting \"554 no service\", wanted 220"}));
}

TEST(Smtp, AnAnswerWithoutItsLastLineIsGivenUp) {
  std::string talk;
  for (int i = 0; i < 300; ++i) talk += "220-and so on\r\n";
  EXPECT_EQ(hear(smtp_script("x"), talk).outcome, (Outcome{false, "answer has no end"}));
}

TEST(Login, ARefusalShowsNoPassword) {
  for (const auto& script : {pop3_script("joe", "secret"), imap_script("joe", "secret")}) {
    const Outcome outcome =
        hear(script, script.farewell == "QUIT" ? "+OK\r\n+OK\r\n-ERR no\r\n" : "* OK\r\nhg1 NO wrong\r\n")
            .outcome;
    EXPECT_FALSE(outcome.passed);
    EXPECT_TRUE(outcome.reason.starts_with("login: ")) << outcome.reason;
    EXPECT_EQ(outcome.reason.find("secret"), std::string::npos) << outcome.reason;
  }
}

TEST(Login, ARefusalThatRepeatsThePasswordIsNotShown) {
  EXPECT_EQ(hear(pop3_script("joe", "secret"), "+OK\r\n+OK\r\n-ERR secret is wrong\r\n").outcome,
            (Outcome{false, "login refused"}));
}

TEST(Imap, KeywordsMayBeInAnyCaseAndPreauthNeedsNoLogin) {
  EXPECT_TRUE(hear(imap_script("a", "b"), "* ok\r\nhg1 ok\r\n").outcome.passed);
  EXPECT_EQ(hear(imap_script("a", "b"), "* PREAUTH ready\r\n"),
            (Heard{"hg2 LOGOUT\r\n", {true, "answered"}}));
  EXPECT_EQ(hear(imap_script("a", "b"), "* BYE busy\r\n").outcome,
            (Outcome{false, "greeting \"* BYE busy\", wanted OK"}));
  EXPECT_FALSE(hear(imap_script("a", "b"), "* OK\r\n* BYE gone\r\n").outcome.passed);
}

TEST(DialogueNntp, AServerThatKnowsNoModeReaderIsReadAllTheSame) {
  for (const std::string answer : {"500 what?", "501 syntax", "200 posting", "400-busy\r\n400 busy"})
    EXPECT_TRUE(hear(nntp_script("local.test"), "200 here\r\n" + answer + "\r\n211 0 0 0 local.test\r\n")
                    .outcome.passed)
        << answer;
}

TEST(DialogueNntp, AServerThatStaysInAnotherModeFailsInItsWords) {
  EXPECT_EQ(hear(nntp_script("local.test"), "200 here\r\n502 no\r\n401 MODE-READER\r\n").outcome.reason,
            "GROUP local.test: \"401 MODE-READER\", wanted 211");
}

}  // namespace
}  // namespace headgate::probe
