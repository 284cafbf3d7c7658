// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/http_reply.h"

#include <algorithm>

#include <fmt/format.h>

namespace headgate::probe {
namespace {

constexpr std::string_view kVersion = "HTTP/1.";
constexpr std::size_t kStatusAt = kVersion.size() + 2;  // the minor version's digit and a blank
constexpr std::size_t kDecidedAt = kStatusAt + 4;       // three digits and what ends them

bool digit(char c) {
  return c >= '0' && c <= '9';
}

/// Whether `line`, complete or not, can be the beginning of a status line.
bool plausible(std::string_view line) {
  const auto fits = [](std::size_t at, char c) {
    if (at < kVersion.size()) return c == kVersion[at];
    if (at == kVersion.size() || (at >= kStatusAt && at < kStatusAt + 3)) return digit(c);
    if (at == kStatusAt - 1) return c == ' ';
    return c == ' ' || c == '\r' || c == '\n';
  };
  for (std::size_t at = 0; at < std::min(line.size(), kDecidedAt); ++at)
    if (!fits(at, line[at])) return false;
  return true;
}

Outcome verdict(std::string_view line) {
  const std::string_view status = line.substr(kStatusAt, 3);
  if (status == "200") return {true, "status 200"};
  return {false, fmt::format("status {}, wanted 200", status)};
}

}  // namespace

const std::optional<Outcome>& HttpReply::append(std::string_view bytes) {
  if (outcome_) return outcome_;
  line_.append(bytes.substr(0, kLongest - std::min(kLongest, line_.size())));
  decide();
  return outcome_;
}

void HttpReply::decide() {
  if (!plausible(line_))
    outcome_ = Outcome{false, "answer is not HTTP"};
  else if (line_.size() >= kDecidedAt)
    outcome_ = verdict(line_);
}

Outcome HttpReply::end() {
  if (outcome_) return *outcome_;
  outcome_ =
      line_.empty() ? Outcome{false, "closed without an answer"} : Outcome{false, "answer is cut short"};
  return *outcome_;
}

}  // namespace headgate::probe
