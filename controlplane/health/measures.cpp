// SPDX-License-Identifier: Apache-2.0
#include "controlplane/health/measures.h"

#include <algorithm>

#include <fmt/format.h>

namespace headgate::health {
namespace {

/// Which bound a measure has crossed, or not yet crossed back.
std::string bound_words(const Bands& bands, Grade grade, Measure value) {
  const bool fails = grade == Grade::unavailable;
  const Measure outer = (fails ? bands.fail_above : bands.degrade_above).value_or(0);
  if (value > outer) return fmt::format("more than {}", outer);
  const auto& inner = fails ? bands.recover_below : bands.restore_below;
  return fmt::format("not yet less than {}", inner.value_or(outer));
}

}  // namespace

Judgement judge(const std::vector<NamedBands>& bounds, const std::vector<Measured>& measured,
                Grades& grades) {
  Judgement all;
  for (const auto& [name, bands] : bounds) {
    const auto found = std::ranges::find(measured, name, &Measured::name);
    if (found == measured.end()) continue;
    Grade& grade = grades[name];
    const Reading reading = read(bands, grade, found->value);
    grade = reading.grade;
    all.reading = worse(all.reading, reading);
    if (grade != Grade::available)
      all.words += fmt::format(", {} {}, {}", name, found->value, bound_words(bands, grade, found->value));
  }
  return all;
}

}  // namespace headgate::health
