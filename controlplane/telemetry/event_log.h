// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

// What has happened: kept for /info/sys/log and passed on to syslog.
namespace headgate::telemetry {

/// RFC 5424, table 2.
enum class Severity : std::uint8_t { emergency, alert, critical, error, warning, notice, info, debug };

struct Line {
  std::uint64_t unix_ms = 0;  ///< of its last occurrence
  Severity severity = Severity::info;
  std::string text;  ///< with its tag: "slb: real server 10.0.0.11 operational"
  std::uint64_t times = 1;
  std::uint64_t first_unix_ms = 0;  ///< of the first of several times
  std::string subject;              ///< what has changed; empty: a condition

  bool operator==(const Line&) const = default;
};

/// A ring of lines. The same condition within a minute of itself is counted, not repeated (reports 127, 128).
/// A subject's changes are a line each, however soon it is what it was before, and the latest of them are
/// kept: neither a flapping server nor a flood can push everything else out.
class EventLog {
 public:
  static constexpr std::size_t kLines = 256;
  static constexpr std::size_t kLinesOfSubject = 20;
  static constexpr std::uint64_t kRepeatWithinMs = 60'000;

  /// Hears of each line that is not a repetition.
  explicit EventLog(std::function<void(const Line&)> on_line = {}) : on_line_(std::move(on_line)) {}

  /// A line about a subject tells what that is now.
  void add(std::uint64_t unix_ms, Severity severity, std::string text, std::string subject = {});
  /// The newest `count` lines, oldest first.
  [[nodiscard]] std::vector<Line> last(std::size_t count) const;

 private:
  void repeat(std::deque<Line>::iterator line, std::uint64_t unix_ms);
  void make_room(const std::string& subject);

  std::deque<Line> lines_;
  std::function<void(const Line&)> on_line_;
};

}  // namespace headgate::telemetry
