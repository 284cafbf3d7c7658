// SPDX-License-Identifier: Apache-2.0
#include "controlplane/config/formula.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controlplane/config/compile.h"
#include "controlplane/config/sample.h"
#include "controlplane/config/validate.h"

namespace headgate::config {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// The services of the lab: of group 2 and of group 1.
constexpr int kFtp = 0, kHttp = 1;

/// "1 2 | 3 &"
template <class Terms>
std::string postfix(const Terms& terms) {
  std::string text;
  for (const forwarding::Term& term : terms) {
    const std::string real = std::to_string(term.real());
    const char* sign = term.join() == forwarding::Term::AND ? "&" : "|";
    text.append(text.empty() ? "" : " ").append(term.join() == forwarding::Term::MEMBER ? real : sign);
  }
  return text;
}

std::string read(std::string_view text) {
  const auto terms = parse_formula(text);
  return terms ? postfix(*terms) : terms.error().message;
}

std::vector<std::string> problems(const Config& config) {
  std::vector<std::string> lines;
  for (const Problem& problem : validate(config)) lines.push_back(problem.line());
  return lines;
}

TEST(Formula, IsReadIntoPostfixOrder) {
  EXPECT_EQ(read("7"), "7");
  EXPECT_EQ(read("(1|2)&(3|4)"), "1 2 | 3 4 | &");
  EXPECT_EQ(read("1|2&3|4"), "1 2 3 & | 4 |") << "& binds closer";
  EXPECT_EQ(read("1&2|3&4"), "1 2 & 3 4 & |");
  EXPECT_EQ(read("1&2&3"), "1 2 & 3 &");
  EXPECT_EQ(read("((((1023))))"), "1023");
}

TEST(Formula, WhatIsNoneIsSaidInASentence) {
  EXPECT_EQ(read("1|"), "the number of a real server is missing at the end");
  EXPECT_EQ(read("("), "the number of a real server is missing at the end");
  EXPECT_EQ(read("(1"), "a ) is missing");
  EXPECT_EQ(read("1)"), "\")\" is not expected there");
  EXPECT_EQ(read("()"), "\")\" is not expected there");
  EXPECT_EQ(read("1||2"), "\"|\" is not expected there");
  EXPECT_EQ(read("!1"), "\"!\" is not expected there");
  EXPECT_EQ(read("1 2"), "\" \" is not expected there");
  EXPECT_EQ(read("1(2)"), "\"(\" is not expected there");
  EXPECT_EQ(read("-1"), "\"-\" is not expected there");
  EXPECT_EQ(read("0"), "it names a real server that there can't be");
  EXPECT_EQ(read("99999999999"), "it names a real server that there can't be");
}

TEST(Formula, TheDeepestThatFitsIsRead) {
  EXPECT_EQ(read("(((((((((((((((1)))))))))))))))"), "1");
  EXPECT_EQ(read("((((((((((((((((((((((((((((((("), "the number of a real server is missing at the end");
}

TEST(Formula, NoneAnd128ClearIt) {
  for (const char* none : {"none", "128"}) {
    const Config config =
        with(lab(), "/c/slb/group 1/advhlth 1&2\n/c/slb/group 1/advhlth " + std::string(none));
    EXPECT_THAT(problems(config), IsEmpty());
    EXPECT_EQ(compile(config).generation.service(kHttp).formula_size(), 0);
    EXPECT_THAT(compile(config).formulas, IsEmpty());
  }
}

TEST(Formula, OfAGroupIsThatOfItsServices) {
  const Compiled compiled = compile(with(lab(), "/c/slb/group 1/advhlth (1|2)&1\n"));
  EXPECT_EQ(postfix(compiled.generation.service(kHttp).formula()), "1 2 | 1 &");
  EXPECT_EQ(compiled.generation.service(kFtp).formula_size(), 0) << "of group 2";
  EXPECT_EQ(compiled.formulas.at(1), "(1|2)&1");
}

TEST(Formula, OfStrangersAndWhatIsNoneAreRefused) {
  EXPECT_THAT(
      problems(with(lab(), "/c/slb/group 1/advhlth (1|\n")),
      ElementsAre("/cfg/slb/group 1: advhlth (1|: the number of a real server is missing at the end"));
  EXPECT_THAT(
      problems(with(lab(), "/c/slb/group 1/advhlth 1&7&(7|128)\n")),
      ElementsAre("/cfg/slb/group 1: advhlth 1&7&(7|128): real server 7 is no member of this group",
                  "/cfg/slb/group 1: advhlth 1&7&(7|128): real server 128 is no member of this group"));
  EXPECT_THAT(problems(with(lab(), "/c/slb/real 3/name \"later\"\n/c/slb/group 1/add 3/advhlth 1|3\n")),
              ElementsAre("/cfg/slb/group 1: advhlth 1|3: real server 3 has no address"));
}

}  // namespace
}  // namespace headgate::config
