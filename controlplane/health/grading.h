// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "controlplane/health/reading.h"

// Grades of anything that is measured and better when it is less: a time to answer, a backlog, its age, how
// busy a server is. Mission B.3, reference 9.
namespace headgate::health {

using Measure = std::uint64_t;

/// Two bounds each way. Those that are not set bound nothing; without an inner bound the outer one is both.
struct Bands {
  std::optional<Measure> degrade_above;
  std::optional<Measure> restore_below;  ///< from degraded to available
  std::optional<Measure> fail_above;
  std::optional<Measure> recover_below;  ///< from unavailable to degraded

  [[nodiscard]] bool any() const { return degrade_above || fail_above; }
  bool operator==(const Bands&) const = default;
};

/// What is wrong with bands, as a sentence; nothing when they are sound: an inner bound has its outer one and
/// is at most that, and what fails is more than what degrades.
[[nodiscard]] std::optional<std::string> problem(const Bands& bands);

/// The grade after one more measure: only an outer bound crossed takes a target down a grade, only an inner
/// one takes it up. So it keeps its grade as long as it stays between the two. Pure; total for sound bands.
[[nodiscard]] Grade grade(const Bands& bands, Grade before, Measure value);

/// Where a measure lies within its grade: kBestScore at the better end of the grade, 1 at the worse; 1 of
/// what is unavailable. Without a worse end, what is available has kBestScore, and what is degraded half the
/// score as the measure doubles.
[[nodiscard]] Score score(const Bands& bands, Grade grade, Measure value);

/// Both.
[[nodiscard]] inline Reading read(const Bands& bands, Grade before, Measure value) {
  const Grade now = grade(bands, before, value);
  return {now, score(bands, now, value)};
}

}  // namespace headgate::health
