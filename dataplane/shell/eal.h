// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/shell/options.h"
#include "model/result.h"

struct rte_mempool;

namespace headgate::shell {

/// DPDK's environment, started once for the process. Everything it makes is gone when the process ends, also
/// when it is killed: no hugepage files, no run-time folder, no shared configuration.
class Eal {
 public:
  /// Falls back to normal pages, with a line in the log, when there are too few free huge ones.
  [[nodiscard]] static Result<Eal> start(const Options& options);
  Eal(Eal&& other) noexcept;
  Eal& operator=(Eal&&) = delete;
  ~Eal();

  /// The packet buffers of all ports. One pool, so that a frame goes from port to port without a copy.
  [[nodiscard]] rte_mempool* buffers() const noexcept { return buffers_; }
  [[nodiscard]] bool huge() const noexcept { return huge_; }

 private:
  Eal(rte_mempool* buffers, bool huge) : buffers_(buffers), huge_(huge) {}
  rte_mempool* buffers_;
  bool huge_;
};

/// Bytes of the longest frame, FCS not among them, that a packet buffer takes when a port fills it through
/// AF_XDP.
constexpr std::uint32_t kLongestFrame = 1792;

/// The arguments DPDK is started with; `cpus` are those the process may run on.
[[nodiscard]] std::vector<std::string> eal_arguments(const Options& options, bool huge,
                                                     const std::vector<unsigned>& cpus);

}  // namespace headgate::shell
