// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

// What a server said, and what a failed system call means, to an operator.
namespace headgate::probe {

/// As it may stand in a log: printable, and not long.
[[nodiscard]] inline std::string quoted(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  std::string out(text.substr(0, kLongest));
  std::ranges::replace_if(
      out, [](unsigned char c) { return c < ' ' || c > '~'; }, '.');
  return out + (text.size() > kLongest ? "..." : "");
}

/// In small letters, of ASCII alone.
[[nodiscard]] inline char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Whether a text is this word, which is in small letters, in any case.
[[nodiscard]] inline bool same_word(std::string_view text, std::string_view word) {
  return std::equal(text.begin(), text.end(), word.begin(), word.end(),
                    [](char t, char w) { return lower(t) == w; });
}

/// The reason in words, from an errno value.
[[nodiscard]] inline std::string words_of(int error) {
  switch (error) {
    case ECONNREFUSED:
      return "refused";
    case ECONNRESET:
    case EPIPE:
      return "connection reset";
    case EHOSTUNREACH:
    case EHOSTDOWN:
      return "host unreachable";
    case ENETUNREACH:
      return "network unreachable";
    case ETIMEDOUT:
      return "no answer";
    case EADDRNOTAVAIL:
      return "no free local port";
    case EMFILE:
    case ENFILE:
      return "too many open files on this switch";
    default:
      return std::strerror(error);
  }
}

/// Whether the error is itself an answer of the host.
[[nodiscard]] inline bool sign_of_life(int error) {
  return error == ECONNREFUSED || error == ECONNRESET || error == EPIPE;
}

}  // namespace headgate::probe
