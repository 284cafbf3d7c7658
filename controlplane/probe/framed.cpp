// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/framed.h"

#include <algorithm>
#include <utility>

#include "controlplane/probe/bytes.h"

namespace headgate::probe {
namespace {

constexpr std::size_t kHeader = 2;

Conversation::Turn framed(Conversation::Turn turn) {
  if (turn.say.empty()) return turn;
  std::string frame;
  put(frame, turn.say.size(), kHeader);
  turn.say = frame + turn.say;
  return turn;
}

}  // namespace

/// How many octets the frame still needs; of its length first, then of what it announces.
std::size_t Framed::missing() const {
  if (frame_.size() < kHeader) return kHeader - frame_.size();
  return kHeader + Reader(frame_).number<std::uint16_t>() - frame_.size();
}

Conversation::Turn Framed::begin() {
  return framed(inner_->begin());
}

Conversation::Turn Framed::hear(std::string_view bytes) {
  Turn turn;
  while (!bytes.empty() && !turn.outcome) {
    const std::size_t taken = std::min(missing(), bytes.size());
    frame_ += bytes.substr(0, taken);
    bytes.remove_prefix(taken);
    if (frame_.size() < kHeader || missing() > 0) continue;
    const std::string message = std::exchange(frame_, {}).substr(kHeader);
    Turn next = framed(inner_->hear(message));
    turn = {turn.say + next.say, std::move(next.outcome), next.patience ? next.patience : turn.patience};
  }
  return turn;
}

Conversation::Turn Framed::late() {
  return framed(inner_->late());
}

Outcome Framed::end() {
  return frame_.empty() ? inner_->end() : Outcome{false, "answer is cut short"};
}

}  // namespace headgate::probe
