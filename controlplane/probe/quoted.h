// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace headgate::probe {

/// What a server said, as it may stand in a log: printable, and not long.
[[nodiscard]] inline std::string quoted(std::string_view words) {
  constexpr std::size_t kLongest = 60;
  std::string out(words.substr(0, kLongest));
  std::ranges::replace_if(
      out, [](unsigned char c) { return c < ' ' || c > '~'; }, '.');
  return out + (words.size() > kLongest ? "..." : "");
}

}  // namespace headgate::probe
