// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "model/result.h"

namespace headgate::shell {

struct Options {
  std::string run_dir = "/run/headgate";        ///< holds dataplane.sock
  std::string state_dir = "/var/lib/headgate";  ///< holds the last generation and states
  std::string session_dir;  ///< where sessions outlive the process; empty: huge pages if there are
  std::string steering = "/usr/lib/headgate/steering.o";
  std::string file_prefix = "headgate";
  unsigned workers = 1;              ///< 1-16
  std::uint32_t sessions = 1048576;  ///< over all workers
  unsigned memory_mb = 256;          ///< for packet buffers and DPDK
  bool huge = true;                  ///< huge pages, where there are free ones
  bool poll = false;                 ///< never sleep
  bool help = false;
};

/// Reads the command line (without the program's name), or says what is wrong with it.
[[nodiscard]] Result<Options> parse_options(std::span<char* const> arguments);
[[nodiscard]] std::string usage();

}  // namespace headgate::shell
