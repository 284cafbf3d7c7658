// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

// Words: in any case, and of failed system calls to an operator.
namespace headgate::probe {

/// In small letters, of ASCII alone.
[[nodiscard]] inline char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Whether two texts are the same but for small and capital letters.
[[nodiscard]] inline bool same_word(std::string_view one, std::string_view other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](char a, char b) { return lower(a) == lower(b); });
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

/// Whether the error is this machine's own, and says nothing about the host.
[[nodiscard]] inline bool own_fault(int error) {
  return error == EADDRNOTAVAIL || error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS;
}

/// Whether the error is itself an answer of the host.
[[nodiscard]] inline bool sign_of_life(int error) {
  return error == ECONNREFUSED || error == ECONNRESET || error == EPIPE;
}

}  // namespace headgate::probe
