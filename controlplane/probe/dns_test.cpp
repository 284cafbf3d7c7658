// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/dns.h"

#include <gtest/gtest.h>

#include "controlplane/probe/told.h"

namespace headgate::probe {
namespace {

std::unique_ptr<Conversation> query(std::string_view name = "www.lab.test", DnsType type = DnsType::a) {
  return dns_query(name, type, kSalt);
}

const std::string kQuestion = hex("03777777036c616204746573740000010001");
// What BIND 9.18 sent.
const std::string kAnswer =
    hex("77888500000100010000000003777777036c616204746573740000010001"
        "c00c000100010000003c00040a0a020b");
const std::string kAnswerInSmallLetters =
    hex("77888500000100010000000003575757036c6162047465737400001c000103777777c010001c00010000003c0010"
        "20010db8000200000000000000000011");
const std::string kNoSuchName =
    hex("778885030001000000010000026e6f036c616204746573740000010001c00f000600010000003c0020026e73c00f"
        "04726f6f74c00f000000010000003c0000003c0000003c0000003c");
const std::string kRefused = hex("77888105000100000000000009656c7365776865726504746573740000010001");
const std::string kServerFailed = hex("77888102000100000000000001780662726f6b656e04746573740000010001");

std::string with(std::string message, std::size_t at, char octet) {
  message[at] = octet;
  return message;
}

TEST(Dns, TheQueryAsksOneQuestionAndWantsRecursion) {
  EXPECT_EQ(request_of(*query()), hex("778801000001000000000000") + kQuestion);
  EXPECT_EQ(request_of(*query(".", DnsType::ns)), hex("7788010000010000000000000000020001"));
}

TEST(Dns, TheDotAtTheEndOfANameMakesNoDifference) {  // reports 29
  EXPECT_EQ(request_of(*query("www.lab.test.")), request_of(*query("www.lab.test")));
}

TEST(Dns, NamesHaveTheirBounds) {  // reports 29
  const std::string label(63, 'a');
  const std::string longest = label + "." + label + "." + label + "." + std::string(61, 'a');
  EXPECT_EQ(dns_name("a.bc"), std::string("\1a\2bc\0", 6));
  EXPECT_EQ(dns_name("."), std::string(1, '\0'));
  ASSERT_TRUE(dns_name(label + "."));
  EXPECT_EQ(dns_name(label)->size(), 65u);
  EXPECT_FALSE(dns_name(label + "a"));
  ASSERT_TRUE(dns_name(longest));
  EXPECT_EQ(dns_name(longest)->size(), 255u);
  EXPECT_FALSE(dns_name(longest + "a"));
  for (const char* none : {"", "..", ".a", "a..b", "a.."}) EXPECT_FALSE(dns_name(none)) << none;
  EXPECT_EQ(tell(query("a..b"), {}), unaskable("no such name can be asked for"));
}

TEST(Dns, AnAnswerWithoutAnErrorPasses) {
  EXPECT_EQ(tell(query(), {kAnswer}), kPassed);
  EXPECT_EQ(tell(query("WWW.lab.test", DnsType::aaaa), {kAnswerInSmallLetters}), kPassed);
  EXPECT_EQ(tell(query("www.lab.test", DnsType::aaaa), {kAnswerInSmallLetters}), kPassed);
}

TEST(Dns, ATruncatedAnswerIsOne) {
  EXPECT_EQ(tell(query(), {with(kAnswer, 2, '\x87')}), kPassed);
}

TEST(Dns, AnErrorIsNamed) {
  EXPECT_EQ(tell(query("no.lab.test"), {kNoSuchName}), failed("dns answered NXDOMAIN, wanted NOERROR"));
  EXPECT_EQ(tell(query("elsewhere.test"), {kRefused}), failed("dns answered REFUSED, wanted NOERROR"));
  EXPECT_EQ(tell(query("x.broken.test"), {kServerFailed}), failed("dns answered SERVFAIL, wanted NOERROR"));
  EXPECT_EQ(tell(query(), {with(kAnswer, 3, '\x0b')}), failed("dns answered RCODE 11, wanted NOERROR"));
}

TEST(Dns, AServerThatCouldNotReadTheQuestionNeedNotRepeatIt) {
  EXPECT_EQ(tell(query(), {hex("778880010000000000000000")}), failed("dns answered FORMERR, wanted NOERROR"));
  EXPECT_EQ(tell(query(), {hex("778880000000000000000000")}), kNothing) << "no error: which question?";
}

TEST(Dns, AnotherIdOrQuestionIsNotHeard) {
  EXPECT_EQ(tell(query(), {with(kAnswer, 0, '\x78'), with(kAnswer, 1, '\x89'), kNoSuchName,
                           with(kAnswer, 27, '\x1c'), with(kAnswer, 5, '\2')}),
            kNothing);
  EXPECT_EQ(tell(query(), {with(kAnswer, 0, '\x78'), kAnswer}), kPassed);
}

TEST(Dns, AQuestionThatPointsToItselfIsNotHeard) {
  EXPECT_EQ(tell(query(), {hex("778885000001000100000000c00c00010001")}), kNothing);
}

TEST(Dns, WhatRepeatsTheQueryIsNoServer) {
  EXPECT_EQ(tell(query(), {request_of(*query())}), failed("answer is not DNS"));
}

TEST(Dns, AnAnswerCutInItsQuestionIsNoAnswer) {
  tell_cut([] { return query(); }, kAnswer,
           [](std::size_t size, const auto& turn) {
             const std::size_t header = 12;
             if (size < header)
               EXPECT_EQ(turn, failed("answer is not DNS")) << size;
             else
               EXPECT_EQ(turn, size < header + kQuestion.size() ? kNothing : kPassed) << size;
           });
}

// ---- Over a stream

std::unique_ptr<Conversation> stream() {
  return dns_query_over_tcp("www.lab.test", DnsType::a, kSalt);
}

std::string frame(const std::string& message) {
  std::string out;
  put(out, message.size(), 2);
  return out + message;
}

/// Tells a stream in pieces; where nothing settles it, that it has ended.
Outcome tell_in_pieces(std::string_view bytes, std::size_t piece) {
  const auto conversation = stream();
  static_cast<void>(conversation->begin());
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size())))
    if (const auto turn = conversation->hear(bytes.substr(0, piece)); turn.outcome) return *turn.outcome;
  return conversation->end();
}

TEST(DnsOverTcp, TheQueryHasItsLengthBeforeIt) {
  EXPECT_EQ(request_of(*stream()), frame(request_of(*query())));
}

TEST(DnsOverTcp, PiecesMakeNoDifference) {
  const std::string bytes =
      frame(with(kAnswer, 0, '\x78')) + frame("") + frame("x" + kAnswer) + frame(kAnswer);
  const std::string good = frame(with(kAnswer, 0, '\x78')) + frame(kAnswer);
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    EXPECT_EQ(tell_in_pieces(good, piece), (Outcome{true, "answered"})) << piece;
    EXPECT_EQ(tell_in_pieces(bytes, piece), (Outcome{false, "answer is not DNS"})) << piece;
  }
}

TEST(DnsOverTcp, WhatIsCutShortFailsAtTheEnd) {  // reports 27
  const std::string bytes = frame(kAnswer);
  EXPECT_EQ(tell_in_pieces("", 1), (Outcome{false, "closed without an answer"}));
  for (std::size_t size = 1; size < bytes.size(); ++size)
    EXPECT_EQ(tell_in_pieces(bytes.substr(0, size), 3), (Outcome{false, "answer is cut short"})) << size;
}

TEST(DnsOverTcp, ALengthThatLiesIsWaitedForAndNoLonger) {
  EXPECT_EQ(tell_in_pieces("\xff\xff" + kAnswer, 7), (Outcome{false, "answer is cut short"}));
}

}  // namespace
}  // namespace headgate::probe
