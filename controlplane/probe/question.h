// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "controlplane/probe/conversation.h"

namespace headgate::probe {

/// A conversation of one request and of messages that come whole, as datagrams do: the first that answers the
/// request settles it.
class Question final : public Conversation {
 public:
  /// What a message means. A turn without an outcome: it answers something else, and another is waited for.
  using Judge = std::function<Turn(std::string_view message)>;

  Question(std::string request, Judge judge) : request_(std::move(request)), judge_(std::move(judge)) {}

  [[nodiscard]] Turn begin() override { return {request_, {}}; }
  [[nodiscard]] Turn hear(std::string_view message) override { return judge_(message); }
  [[nodiscard]] Outcome end() override { return {false, "closed without an answer"}; }

 private:
  std::string request_;
  Judge judge_;
};

/// A conversation that can't even begin, for the reason given, which is this machine's own.
class Unaskable final : public Conversation {
 public:
  explicit Unaskable(std::string reason) : outcome_{.reason = std::move(reason), .unasked = true} {}

  [[nodiscard]] Turn begin() override { return {{}, outcome_}; }
  [[nodiscard]] Turn hear(std::string_view) override { return {{}, outcome_}; }
  [[nodiscard]] Outcome end() override { return outcome_; }

 private:
  Outcome outcome_;
};

/// The turn that ends a conversation.
[[nodiscard]] inline Conversation::Turn passes(std::string reason = "answered") {
  return {{}, Outcome{true, std::move(reason)}};
}
[[nodiscard]] inline Conversation::Turn fails(std::string reason) {
  return {{}, Outcome{false, std::move(reason)}};
}

}  // namespace headgate::probe
