// SPDX-License-Identifier: Apache-2.0
#include "dataplane/shell/session_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace headgate::shell {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

void* map(std::size_t bytes, int flags) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace

Result<SessionMemory> SessionMemory::take(std::size_t bytes, bool want_huge) {
  const std::size_t size = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  if (want_huge) {
    if (void* memory = map(size, MAP_HUGETLB | MAP_POPULATE)) {
      return SessionMemory({static_cast<std::byte*>(memory), size}, true);
    }
  }
  void* memory = map(size, 0);
  if (memory == nullptr) {
    return Error{fmt::format("no {} MiB of memory for sessions: {}", size >> 20, std::strerror(errno))};
  }
  madvise(memory, size, MADV_HUGEPAGE);  // a wish
  if (madvise(memory, size, MADV_POPULATE_WRITE) != 0) {
    std::memset(memory, 0, size);  // kernels before 5.14
  }
  return SessionMemory({static_cast<std::byte*>(memory), size}, false);
}

SessionMemory::SessionMemory(SessionMemory&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})), huge_(other.huge_) {}

SessionMemory::~SessionMemory() {
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
}

}  // namespace headgate::shell
