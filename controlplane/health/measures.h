// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "controlplane/health/grading.h"
#include "controlplane/health/reading.h"

// What a server tells of itself in numbers, each graded by bounds of its own: a backlog, its age, how busy it
// is. Mission B.4, reference 9.
namespace headgate::health {

/// One number that was read, and is better when it is less.
struct Measured {
  std::string name;
  Measure value = 0;
  bool operator==(const Measured&) const = default;
};

/// The bounds of one number.
struct NamedBands {
  std::string name;
  Bands bands;
  bool operator==(const NamedBands&) const = default;
};

/// The grades by the measures before, by name; of one that is not in it: available.
using Grades = std::map<std::string, Grade>;

/// What all measures together make of a server: the worst of them counts.
struct Judgement {
  Reading reading;
  std::string words;  ///< of each that is not available: ", missing-changes 1200, more than 1000"
  bool operator==(const Judgement&) const = default;
};

/// Grades every measure that has bounds, and keeps its grade in `grades`. One that was not read keeps the
/// grade that it had, and counts for nothing.
[[nodiscard]] Judgement judge(const std::vector<NamedBands>& bounds, const std::vector<Measured>& measured,
                              Grades& grades);

}  // namespace headgate::health
