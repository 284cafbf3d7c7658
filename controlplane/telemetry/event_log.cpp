// SPDX-License-Identifier: Apache-2.0
#include "controlplane/telemetry/event_log.h"

#include <algorithm>

namespace headgate::telemetry {

void EventLog::add(std::uint64_t unix_ms, Severity severity, std::string text) {
  const auto same = std::ranges::find_if(lines_.rbegin(), lines_.rend(), [&](const Line& line) {
    return line.severity == severity && line.text == text && unix_ms - line.unix_ms < kRepeatWithinMs;
  });
  if (same != lines_.rend()) {
    Line repeated = *same;
    lines_.erase(std::next(same).base());
    if (repeated.times == 1) repeated.first_unix_ms = repeated.unix_ms;
    repeated.unix_ms = unix_ms;
    ++repeated.times;
    lines_.push_back(std::move(repeated));
    return;
  }
  lines_.push_back({unix_ms, severity, std::move(text), 1});
  if (lines_.size() > kLines) lines_.pop_front();
  if (on_line_) on_line_(lines_.back());
}

std::vector<Line> EventLog::last(std::size_t count) const {
  const std::size_t skipped = lines_.size() - std::min(count, lines_.size());
  return {lines_.begin() + static_cast<std::ptrdiff_t>(skipped), lines_.end()};
}

}  // namespace headgate::telemetry
