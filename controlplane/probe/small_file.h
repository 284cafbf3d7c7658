// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "model/result.h"

namespace headgate::probe {

/// How large a file may be that a check names.
constexpr std::size_t kLargestFile = 1024 * 1024;

/// The content of a regular file of at most kLargestFile octets. Never waits, whatever the path leads to; the
/// error names it and says what is wrong with it.
[[nodiscard]] headgate::Result<std::string> read_small_file(const std::string& path);

}  // namespace headgate::probe
