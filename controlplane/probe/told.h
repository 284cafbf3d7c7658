// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <ostream>
#include <string>
#include <string_view>

#include "controlplane/probe/bytes.h"
#include "controlplane/probe/conversation.h"

// For tests: a server's messages, told to a conversation one after the other.
namespace headgate::probe {

constexpr std::uint64_t kSalt = 0x1122334455667788;

/// The bytes of hexadecimal digits, as captures have them.
inline std::string hex(std::string_view digits) {
  return from_hex(digits).value_or("these are no hexadecimal digits");
}

/// For the messages of failed tests.
inline void PrintTo(const Conversation::Turn& turn, std::ostream* out) {
  *out << "says " << turn.say.size() << " bytes, "
       << (turn.outcome ? (turn.outcome->passed ? "passed: " : "failed: ") + turn.outcome->reason : "waits");
}

/// What a conversation says first.
inline std::string request_of(Conversation& conversation) {
  return conversation.begin().say;
}

/// Where a conversation is when it has heard these messages, or the first of them that settles it.
inline Conversation::Turn tell(Conversation& conversation, std::initializer_list<std::string_view> messages) {
  Conversation::Turn turn = conversation.begin();
  turn.say.clear();
  for (const std::string_view message : messages)
    if (!turn.outcome) turn = conversation.hear(message);
  return turn;
}

/// The same of a conversation that is made for this alone.
inline Conversation::Turn tell(std::unique_ptr<Conversation> conversation,
                               std::initializer_list<std::string_view> messages) {
  return tell(*conversation, messages);
}

/// Tells a conversation the first `size` bytes of a message, for every `size` but all of them; `check` is
/// given the size and the turn.
template <class Make, class Check>
void tell_cut(const Make& make, std::string_view message, const Check& check) {
  for (std::size_t size = 0; size < message.size(); ++size)
    check(size, tell(make(), {message.substr(0, size)}));
}

inline const Conversation::Turn kNothing{};
inline const Conversation::Turn kPassed{{}, Outcome{true, "answered"}};
/// This machine could not ask.
inline Conversation::Turn unaskable(std::string reason) {
  return {{}, Outcome{.reason = std::move(reason), .unasked = true}};
}

inline Conversation::Turn failed(std::string reason) {
  return {{}, Outcome{false, std::move(reason)}};
}

}  // namespace headgate::probe
