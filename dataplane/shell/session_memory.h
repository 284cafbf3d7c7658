// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "model/result.h"

namespace headgate::shell {

/// Zeroed memory for the sessions of one worker: huge pages where there are enough, else normal ones that the
/// kernel is asked to join. All of it is taken at once, so that the packet path never waits for a page.
class SessionMemory {
 public:
  /// `want_huge`: try huge pages first.
  [[nodiscard]] static Result<SessionMemory> take(std::size_t bytes, bool want_huge);
  SessionMemory(SessionMemory&& other) noexcept;
  SessionMemory& operator=(SessionMemory&&) = delete;
  ~SessionMemory();

  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }
  [[nodiscard]] bool huge() const noexcept { return huge_; }

 private:
  SessionMemory(std::span<std::byte> bytes, bool huge) : bytes_(bytes), huge_(huge) {}
  std::span<std::byte> bytes_;
  bool huge_;
};

}  // namespace headgate::shell
