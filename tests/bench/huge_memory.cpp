// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/huge_memory.h"

#include <linux/mman.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

namespace headgate::bench {
namespace {

constexpr std::size_t kHuge = std::size_t{2} << 20;
constexpr std::size_t kGigantic = std::size_t{1} << 30;

std::size_t rounded(std::size_t bytes, std::size_t page) {
  return (bytes + page - 1) / page * page;
}

void* map(std::size_t bytes, int flags) noexcept {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  return at == MAP_FAILED ? nullptr : at;
}

/// Bytes of the mapping that starts at `at` that the kernel joined to huge pages.
std::size_t joined_bytes(const void* at) {
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long long from = 0, to = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx", &from, &to) == 2) {
      const auto address = reinterpret_cast<std::uintptr_t>(at);
      inside = from <= address && address < to;
    }
    if (inside && line.starts_with("AnonHugePages:")) return std::stoull(line.substr(14)) << 10;
  }
  return 0;
}

}  // namespace

HugeMemory::HugeMemory(std::size_t bytes) {
  // A page of 1 GiB for a table that fills a tenth of it would flatter the small table.
  const bool gigantic = bytes * 2 >= kGigantic;
  if (gigantic && take(rounded(bytes, kGigantic), MAP_HUGE_1GB, "1G")) return;
  if (take(rounded(bytes, kHuge), MAP_HUGE_2MB, "2M")) return;
  take_normal(rounded(bytes, kHuge));
}

HugeMemory::~HugeMemory() {
  munmap(bytes_.data(), bytes_.size());
}

bool HugeMemory::take(std::size_t bytes, int flags, const char* name) noexcept {
  void* at = map(bytes, MAP_HUGETLB | MAP_POPULATE | flags);
  if (at == nullptr) return false;
  bytes_ = {static_cast<std::byte*>(at), bytes};
  pages_ = name;
  return true;
}

void HugeMemory::take_normal(std::size_t bytes) noexcept {
  void* at = map(bytes, 0);
  if (at == nullptr) std::abort();
  madvise(at, bytes, MADV_HUGEPAGE);
  std::memset(at, 0, bytes);
  bytes_ = {static_cast<std::byte*>(at), bytes};
  pages_ = joined_bytes(at) * 2 >= bytes ? "transparent" : "4K";
}

}  // namespace headgate::bench
