// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/expression.h"

#include <gtest/gtest.h>

namespace headgate::probe {
namespace {

using Known = std::optional<bool>;
using Names = std::vector<std::string>;
constexpr Known kUnknown{};

Known value(std::string_view text, const std::vector<Known>& known) {
  const auto parsed = Expression::parse(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return parsed->value(known);
}

std::string error(std::string_view text) {
  const auto parsed = Expression::parse(text);
  return parsed.ok() ? "" : parsed.error().message;
}

TEST(Expression, NamesComeOnceInTheOrderOfTheirFirstUse) {
  EXPECT_EQ(Expression::parse("web&(db-1|web)|!a.b_c")->names(), (Names{"web", "db-1", "a.b_c"}));
}

TEST(Expression, AndBindsCloserThanOrAndNotCloserThanBoth) {
  EXPECT_EQ(value("a | b & c", {true, false, false}), true);
  EXPECT_EQ(value("(a | b) & c", {true, false, false}), false);
  EXPECT_EQ(value("!a & b", {false, true}), true);
  EXPECT_EQ(value("!(a & b)", {false, true}), true);
  EXPECT_EQ(value("!a & b", {false, false}), false);
}

TEST(Expression, WordsAndDoubledSignsMeanTheSame) {
  for (const char* text : {"a and not b or c", "a && !b || c", "a & ! b | c", "a&!b|c"}) {
    EXPECT_EQ(value(text, {true, false, false}), true) << text;
    EXPECT_EQ(value(text, {true, true, false}), false) << text;
    EXPECT_EQ(value(text, {false, true, true}), true) << text;
  }
}

TEST(Expression, IsDecidedAsSoonAsTheRestCantChangeIt) {
  EXPECT_EQ(value("a | b", {true, kUnknown}), true);
  EXPECT_EQ(value("a | b", {false, kUnknown}), kUnknown);
  EXPECT_EQ(value("a & b", {kUnknown, false}), false);
  EXPECT_EQ(value("a & b", {kUnknown, true}), kUnknown);
  EXPECT_EQ(value("!a", {kUnknown}), kUnknown);
}

TEST(Expression, SaysWhatIsWrong) {
  EXPECT_EQ(error(""), "a name is missing at the end");
  EXPECT_EQ(error("a &"), "a name is missing at the end");
  EXPECT_EQ(error("a b"), "\"b\" is not expected there");
  EXPECT_EQ(error("(a | b"), "a ) is missing");
  EXPECT_EQ(error("a)"), "\")\" is not expected there");
  EXPECT_EQ(error("| a"), "\"|\" is not expected there");
  EXPECT_EQ(error("a + b"), "\"+\" is not expected there");
  EXPECT_EQ(error(std::string(100, '(')), "it is nested too deeply");
  EXPECT_EQ(error(std::string(256, 'a')), "it is longer than 255 characters");
}

}  // namespace
}  // namespace headgate::probe
