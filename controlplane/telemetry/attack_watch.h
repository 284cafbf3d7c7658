// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

// Tells an attack by the rate of something: half-open sessions, or new ones. Reference 8.1, 8.3. Pure: time
// and counts are passed in.
namespace headgate::telemetry {

class AttackWatch {
 public:
  struct Rule {
    std::chrono::seconds period{0};  ///< over so long; 0: not watched
    std::uint64_t limit = 0;         ///< so many in a period are none yet

    bool operator==(const Rule&) const = default;
  };
  enum class Change { none, begins, ends };

  /// What has changed with this sample of a count that grows. Judges once a period; a period may be longer
  /// when samples come late, and its limit is then in proportion. A new rule, or a count that fell back,
  /// begins a new period; an attack that nobody watches any more is over without a word.
  Change sample(const Rule& rule, std::chrono::milliseconds now, std::int64_t count);

  [[nodiscard]] bool active() const { return active_; }
  /// Of the last whole period, for its nominal length.
  [[nodiscard]] std::uint64_t last() const { return last_; }
  /// How often an attack began.
  [[nodiscard]] std::uint64_t warnings() const { return warnings_; }

 private:
  void restart(const Rule& rule, std::chrono::milliseconds now, std::int64_t count);

  Rule rule_;
  std::chrono::milliseconds begin_{0};
  std::int64_t counted_ = 0;
  std::uint64_t last_ = 0;
  std::uint64_t warnings_ = 0;
  bool started_ = false;
  bool active_ = false;
};

}  // namespace headgate::telemetry
