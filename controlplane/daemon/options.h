// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "model/result.h"

namespace headgate::daemon {

struct Options {
  enum class Log { standard_error, syslog };

  std::string run_dir = "/run/headgate";
  std::string state_dir = "/var/lib/headgate";
  Log log = Log::standard_error;
  bool withdraw = false;  ///< take everything out of the kernel and end
  bool help = false;
};

[[nodiscard]] Result<Options> parse_options(std::span<const char* const> arguments);
[[nodiscard]] std::string usage();

}  // namespace headgate::daemon
