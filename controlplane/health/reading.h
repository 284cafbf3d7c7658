// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// What one probe has found, apart from whether it passed. Mission B.1 and C.3.
namespace headgate::health {

enum class Grade : std::uint8_t { available, degraded, unavailable };

using Score = std::uint8_t;  ///< ranks targets of one grade: 1, the worst, to kBestScore
constexpr Score kBestScore = 10;

/// How well a server does that has answered.
struct Reading {
  Grade grade = Grade::available;
  Score score = kBestScore;
  bool operator==(const Reading&) const = default;
};

/// The worse grade of two, and of equal grades the lower score.
[[nodiscard]] constexpr Reading worse(const Reading& left, const Reading& right) {
  if (left.grade != right.grade) return left.grade > right.grade ? left : right;
  return left.score < right.score ? left : right;
}

/// What a failure is worth, in hundredths of a complete one.
using Part = unsigned;
constexpr Part kComplete = 100;

}  // namespace headgate::health
