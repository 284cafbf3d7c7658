// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "dataplane/core/session_view.h"

namespace headgate::shell {

/// Work on a worker's sessions that the worker does itself, between two bursts, a piece at a time. The
/// control thread posts it, and posts it again while there is `more`.
struct SessionTask {
  enum class Kind : std::uint8_t { dump, clear };
  /// Positions of the table that one piece looks at: a few microseconds.
  static constexpr std::size_t kPiece = 1024;

  Kind kind = Kind::dump;
  core::SessionFilter filter;
  std::size_t cursor = 0;
  bool more = true;
  std::vector<core::SessionView> views;  ///< has room for kPiece, so that the worker does not allocate
  std::size_t cleared = 0;
};

}  // namespace headgate::shell
