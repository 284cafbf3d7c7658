// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <string>

#include <fmt/format.h>

namespace headgate::shell {

/// One line on stderr for one event. Never from the packet path.
template <class... Args>
void log(fmt::format_string<Args...> format, Args&&... args) {
  const std::string line = "headgate-dataplane: " + fmt::format(format, std::forward<Args>(args)...) + "\n";
  std::fwrite(line.data(), 1, line.size(),
              stderr);  // one write for a line, so that threads do not mix theirs
}

}  // namespace headgate::shell
