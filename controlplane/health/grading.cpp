// SPDX-License-Identifier: Apache-2.0
#include "controlplane/health/grading.h"

#include <algorithm>

#include <fmt/format.h>

namespace headgate::health {
namespace {

/// One border between two grades.
struct Border {
  const std::optional<Measure>& outer;
  const std::optional<Measure>& inner;

  [[nodiscard]] bool crossed_down(Measure value) const { return outer && value > *outer; }
  [[nodiscard]] bool crossed_up(Measure value) const {
    return !outer || (inner ? value < *inner : value <= *outer);
  }
};

std::optional<std::string> problem(const Border& border, const char* outer, const char* inner) {
  if (!border.inner) return std::nullopt;
  if (!border.outer)
    return fmt::format("{} {} has no effect without {}: set both or none", inner, *border.inner, outer);
  if (*border.inner <= *border.outer) return std::nullopt;
  return fmt::format("{} {} is more than {} {}: it must be that or less", inner, *border.inner, outer,
                     *border.outer);
}

Score between(Measure best, Measure worst, Measure value) {
  const Measure within = std::clamp(value, best, worst) - best;
  const auto lost = static_cast<unsigned __int128>(within) * (kBestScore - 1) / (worst - best);
  return static_cast<Score>(kBestScore - lost);
}

Score falling(Measure best, Measure value) {
  if (value <= best) return kBestScore;
  const auto left = static_cast<unsigned __int128>(best) * kBestScore / value;
  return static_cast<Score>(std::max<unsigned __int128>(left, 1));
}

}  // namespace

std::optional<std::string> problem(const Bands& bands) {
  if (auto wrong = problem({bands.degrade_above, bands.restore_below}, "degrade above", "restore below"))
    return wrong;
  if (auto wrong = problem({bands.fail_above, bands.recover_below}, "fail above", "recover below"))
    return wrong;
  if (!bands.degrade_above || !bands.fail_above || *bands.degrade_above < *bands.fail_above)
    return std::nullopt;
  return fmt::format("degrade above {} is not less than fail above {}: nothing would be degraded",
                     *bands.degrade_above, *bands.fail_above);
}

Grade grade(const Bands& bands, Grade before, Measure value) {
  const Border degraded{bands.degrade_above, bands.restore_below};
  const Border unavailable{bands.fail_above, bands.recover_below};
  if (unavailable.crossed_down(value)) return Grade::unavailable;
  if (before == Grade::unavailable && !unavailable.crossed_up(value)) return Grade::unavailable;
  if (before == Grade::available) return degraded.crossed_down(value) ? Grade::degraded : Grade::available;
  return degraded.crossed_up(value) ? Grade::available : Grade::degraded;
}

Score score(const Bands& bands, Grade grade, Measure value) {
  if (grade == Grade::unavailable) return 1;
  const bool available = grade == Grade::available;
  const std::optional<Measure>& end =
      available && bands.degrade_above ? bands.degrade_above : bands.fail_above;
  if (available) return end && *end != 0 ? between(0, *end, value) : kBestScore;
  const Measure begin = bands.restore_below.value_or(bands.degrade_above.value_or(0));
  return end && *end > begin ? between(begin, *end, value) : falling(begin, value);
}

}  // namespace headgate::health
