// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/framed.h"

#include <gtest/gtest.h>

#include "controlplane/probe/question.h"
#include "controlplane/probe/told.h"

namespace headgate::probe {
namespace {

using namespace std::chrono_literals;

/// Repeats what it hears, until that is "bye".
class Echo final : public Conversation {
 public:
  Turn begin() override { return {"hello", {}, 1s}; }
  Turn hear(std::string_view message) override {
    if (message == "bye") return passes();
    if (message == "wait") return {{}, {}, 2s};
    return {std::string(message), {}};
  }
  Turn late() override { return {"late", {}}; }
  Outcome end() override { return {false, "closed"}; }
};

Framed echo() {
  return Framed(std::make_unique<Echo>());
}

TEST(Framed, EveryMessageThatIsSaidHasItsLength) {
  EXPECT_EQ(echo().begin(), (Conversation::Turn{hex("0005") + "hello", {}, 1s}));
  EXPECT_EQ(echo().late(), (Conversation::Turn{hex("0004") + "late", {}}));
}

TEST(Framed, MessagesThatComeTogetherAreAllAnswered) {
  EXPECT_EQ(echo().hear(hex("0001") + "a" + hex("0002") + "bb"),
            (Conversation::Turn{hex("0001") + "a" + hex("0002") + "bb", {}}));
  EXPECT_EQ(echo().hear(hex("0001") + "a" + hex("0003") + "bye" + hex("0001") + "c"),
            (Conversation::Turn{hex("0001") + "a", Outcome{true, "answered"}}))
      << "and nothing after the verdict";
  EXPECT_EQ(echo().hear(hex("0004") + "wait" + hex("0001") + "a"),
            (Conversation::Turn{hex("0001") + "a", {}, 2s}))
      << "the last patience that was named";
}

TEST(Framed, AMessageThatComesInPiecesIsHeardWhole) {
  Framed framed = echo();
  EXPECT_EQ(framed.hear(hex("00")), kNothing);
  EXPECT_EQ(framed.hear(hex("02")), kNothing);
  EXPECT_EQ(framed.hear("a"), kNothing);
  EXPECT_EQ(framed.end(), (Outcome{false, "answer is cut short"}));
  EXPECT_EQ(framed.hear(hex("6200")), (Conversation::Turn{hex("0002") + "ab", {}}));
  EXPECT_EQ(framed.end(), (Outcome{false, "answer is cut short"}));
}

}  // namespace
}  // namespace headgate::probe
