// SPDX-License-Identifier: Apache-2.0
#include "model/line.h"

#include <gtest/gtest.h>

namespace headgate::line {
namespace {

TEST(Line, StepsAreSeparatedBySlashesAndWordsByBlanks) {
  EXPECT_EQ(*split("/cfg/slb/real 1/rip 10.0.0.1"),
            (Line{true, {{{"cfg"}}, {{"slb"}}, {{"real"}, {"1"}}, {{"rip"}, {"10.0.0.1"}}}}));
  EXPECT_EQ(*split("\t hst1  10.0.0.1\f7 /  ena / "),
            (Line{false, {{{"hst1"}, {"10.0.0.1"}, {"7"}}, {{"ena"}}}}));
  EXPECT_EQ(*split("/"), (Line{true, {}}));
  EXPECT_EQ(*split("a//b"), (Line{false, {{{"a"}}, {}, {{"b"}}}}));
}

TEST(Line, QuotesProtectBlanksSlashesAndEscapes) {
  EXPECT_EQ(*split(R"(name "a/b \"c\" \\ \d")"), (Line{false, {{{"name"}, {R"(a/b "c" \ \d)", true}}}}));
  EXPECT_EQ(*split("name \"\""), (Line{false, {{{"name"}, {"", true}}}}));
}

TEST(Line, ControlCharactersAndOpenQuotesAreRefused) {
  EXPECT_EQ(split("name a\x01").error().message, "control characters are not allowed");
  EXPECT_EQ(split("name \"a\tb\"").error().message, "control characters are not allowed");
  EXPECT_EQ(split("name \"a").error().message, "a closing double quote is missing");
  EXPECT_EQ(split(std::string_view("na\0me", 5)).error().message, "control characters are not allowed");
}

TEST(Line, QuotedTextComesBack) {
  for (const char* text : {"", "a", "a b", R"(\)", R"(\")", R"("\)", "/*", "a/b"}) {
    EXPECT_EQ(split("x " + quote(text))->steps[0][1].text, text);
    EXPECT_EQ(split("x " + quote_if_needed(text))->steps[0][1].text, text);
  }
}

TEST(Line, CommentsAndTheScriptWrapperMeanNothing) {
  for (const char* text :
       {"", " \t", "/* anything", "\t/* x", "script start \"Headgate\" 4  /**** DO NOT EDIT THIS LINE!",
        "script end  /**** DO NOT EDIT THIS LINE!"})
    EXPECT_TRUE(skipped(text)) << text;
  for (const char* text : {"/", "/c/slb", "script1", "s"}) EXPECT_FALSE(skipped(text)) << text;
}

}  // namespace
}  // namespace headgate::line
