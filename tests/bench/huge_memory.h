// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

namespace headgate::bench {

/// Zeroed memory on the largest pages there are: explicit ones of 1 GiB when they would be mostly used,
/// explicit ones of 2 MiB, then those that the kernel joins of its own accord. A figure is worth nothing
/// without the pages it was taken on, so that it can be asked for them.
class HugeMemory {
 public:
  explicit HugeMemory(std::size_t bytes);
  ~HugeMemory();
  HugeMemory(const HugeMemory&) = delete;
  HugeMemory& operator=(const HugeMemory&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }
  /// "1G", "2M", "transparent" (2 MiB, joined by the kernel), or "4K": what most of the memory lies on.
  [[nodiscard]] const char* pages() const noexcept { return pages_; }

 private:
  bool take(std::size_t bytes, int flags, const char* name) noexcept;
  void take_normal(std::size_t bytes) noexcept;

  std::span<std::byte> bytes_;
  const char* pages_ = "";
};

}  // namespace headgate::bench
