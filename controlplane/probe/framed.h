// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "controlplane/probe/conversation.h"

namespace headgate::probe {

/// Carries a conversation of whole messages over a stream: each message has its length in two octets before
/// it (RFC 1035, 4.2.2). Holds no more than one message.
class Framed final : public Conversation {
 public:
  explicit Framed(std::unique_ptr<Conversation> inner) : inner_(std::move(inner)) {}

  [[nodiscard]] Turn begin() override;
  [[nodiscard]] Turn hear(std::string_view bytes) override;
  [[nodiscard]] Turn late() override;
  [[nodiscard]] Outcome end() override;

 private:
  [[nodiscard]] std::size_t missing() const;

  std::unique_ptr<Conversation> inner_;
  std::string frame_;  ///< what has come of the next one
};

}  // namespace headgate::probe
