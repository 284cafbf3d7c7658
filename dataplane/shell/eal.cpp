// SPDX-License-Identifier: Apache-2.0
#include "dataplane/shell/eal.h"

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_log.h>
#include <rte_mbuf.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_mempool.h>
#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <utility>

#include <fmt/format.h>

#include "dataplane/shell/log.h"

namespace headgate::shell {
namespace {

constexpr unsigned kCachedBuffers = 256;
/// Net of what DPDK itself takes of its memory.
constexpr unsigned kReservedMb = 24;

std::vector<unsigned> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<unsigned> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {0};
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

/// Free huge pages of 2 MiB, in MiB.
std::uint64_t free_huge_mb() {
  std::ifstream file("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages");
  std::uint64_t pages = 0;
  file >> pages;
  return pages * 2;
}

std::string list(const std::vector<unsigned>& numbers) {
  std::string text;
  for (const unsigned number : numbers) {
    if (!text.empty()) text += ',';
    text += std::to_string(number);
  }
  return text;
}

rte_mempool* make_buffers(const Options& options) {
  constexpr unsigned kRoom = RTE_MBUF_DEFAULT_BUF_SIZE;
  constexpr std::uint64_t kEach = 64 + sizeof(rte_mbuf) + kRoom;
  const std::uint64_t bytes = std::uint64_t{options.memory_mb - kReservedMb} << 20;
  const auto count = static_cast<unsigned>(std::min<std::uint64_t>(bytes * 9 / 10 / kEach, 1U << 20));
  // As rte_pktmbuf_pool_create(), but packed: with normal pages DPDK would give each buffer a page of its
  // own, and AF_XDP could not reach the later ones. Buffers that cross pages are fine, since IO addresses are
  // virtual.
  rte_mempool* pool =
      rte_mempool_create_empty("packets", count, sizeof(rte_mbuf) + kRoom, kCachedBuffers,
                               sizeof(rte_pktmbuf_pool_private), SOCKET_ID_ANY, RTE_MEMPOOL_F_NO_IOVA_CONTIG);
  if (pool == nullptr) return nullptr;
  rte_pktmbuf_pool_private layout{.mbuf_data_room_size = kRoom, .mbuf_priv_size = 0, .flags = 0};
  rte_mempool_set_ops_byname(pool, rte_mbuf_best_mempool_ops(), nullptr);
  rte_pktmbuf_pool_init(pool, &layout);
  if (rte_mempool_populate_default(pool) < 0) {
    rte_mempool_free(pool);
    return nullptr;
  }
  rte_mempool_obj_iter(pool, rte_pktmbuf_init, nullptr);
  return pool;
}

}  // namespace

std::vector<std::string> eal_arguments(const Options& options, bool huge, const std::vector<unsigned>& cpus) {
  std::vector<std::string> arguments{
      "headgate-dataplane",
      "--no-telemetry",
      "--iova-mode=va",
      "--log-level=*:warning",
      "--log-level=pmd.net.tap:critical",  // it calls kernels without its favourite qdisc an error
      fmt::format("--file-prefix={}", options.file_prefix),
      "-m",
      std::to_string(options.memory_mb),
      // One logical core that floats over all processors, for the control thread; workers join as threads.
      fmt::format("--lcores=0@({})", list(cpus)),
      // No NIC is touched but those that a configuration names: they are plugged in one by one.
      "--allow=ffff:ff:1f.7",
  };
  // No file for shared configuration either way; huge pages are then taken without any file, too.
  arguments.insert(arguments.end(), huge ? std::initializer_list<std::string>{"--in-memory"}
                                         : std::initializer_list<std::string>{"--no-huge", "--no-shconf"});
  return arguments;
}

Result<Eal> Eal::start(const Options& options) {
  const bool enough = free_huge_mb() >= options.memory_mb;
  const bool huge = options.huge && enough;
  if (options.huge && !enough) {
    log("{} MiB of huge pages are free, {} needed: using normal pages", free_huge_mb(), options.memory_mb);
  }
  rte_openlog_stream(stderr);
  const auto arguments = eal_arguments(options, huge, allowed_cpus());
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  if (rte_eal_init(static_cast<int>(argv.size()), argv.data()) < 0) {
    return Error{fmt::format("DPDK does not start: {}", rte_strerror(rte_errno))};
  }
  rte_mempool* buffers = make_buffers(options);
  if (buffers == nullptr) {
    const std::string reason = rte_strerror(rte_errno);
    rte_eal_cleanup();
    return Error{fmt::format("no memory for packet buffers: {}", reason)};
  }
  if (buffers->nb_mem_chunks != 1) {
    rte_eal_cleanup();
    return Error{"the packet buffers are not in one piece, as AF_XDP needs them"};
  }
  return Eal(buffers, huge);
}

Eal::Eal(Eal&& other) noexcept : buffers_(std::exchange(other.buffers_, nullptr)), huge_(other.huge_) {}

Eal::~Eal() {
  if (buffers_ == nullptr) return;
  rte_mempool_free(buffers_);
  const std::filesystem::path folder = rte_eal_get_runtime_dir();
  rte_eal_cleanup();
  std::error_code ignored;  // not empty, or not there
  std::filesystem::remove_all(folder, ignored);
  std::filesystem::remove(folder.parent_path(), ignored);  // if no other DPDK program has anything there
}

}  // namespace headgate::shell
