// SPDX-License-Identifier: Apache-2.0
#include "controlplane/telemetry/event_log.h"

#include <algorithm>

namespace headgate::telemetry {

void EventLog::add(std::uint64_t unix_ms, Severity severity, std::string text, std::string subject) {
  const auto says_so = [&](const Line& line) { return line.severity == severity && line.text == text; };
  const auto before = std::ranges::find_if(lines_.rbegin(), lines_.rend(), [&](const Line& line) {
    return line.subject == subject && (!subject.empty() || says_so(line));
  });
  const bool known = before != lines_.rend() && says_so(*before);
  if (known && unix_ms - before->unix_ms < kRepeatWithinMs) return repeat(std::next(before).base(), unix_ms);
  make_room(subject);
  lines_.push_back({unix_ms, severity, std::move(text), 1, 0, std::move(subject)});
  if (on_line_) on_line_(lines_.back());
}

void EventLog::repeat(std::deque<Line>::iterator line, std::uint64_t unix_ms) {
  Line repeated = std::move(*line);
  lines_.erase(line);
  if (repeated.times == 1) repeated.first_unix_ms = repeated.unix_ms;
  repeated.unix_ms = unix_ms;
  ++repeated.times;
  lines_.push_back(std::move(repeated));
}

/// For one more line, about a subject or about none.
void EventLog::make_room(const std::string& subject) {
  const auto of_subject = [&](const Line& line) { return line.subject == subject; };
  if (!subject.empty() && std::ranges::count_if(lines_, of_subject) >= std::ptrdiff_t{kLinesOfSubject})
    lines_.erase(std::ranges::find_if(lines_, of_subject));
  else if (lines_.size() >= kLines)
    lines_.pop_front();
}

std::vector<Line> EventLog::last(std::size_t count) const {
  const std::size_t skipped = lines_.size() - std::min(count, lines_.size());
  return {lines_.begin() + static_cast<std::ptrdiff_t>(skipped), lines_.end()};
}

}  // namespace headgate::telemetry
