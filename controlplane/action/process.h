// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "model/result.h"

// Programs of this machine, without a shell.
namespace headgate::action {

struct Process {
  pid_t id = 0;    ///< and the number of its process group
  int watch = -1;  ///< can be read from when it has ended; close-on-exec
};

/// Starts a program in a process group of its own, with nothing of this process: no open file but /dev/null,
/// no environment but this one, no ignored or blocked signal. Who starts it waits for it (waitpid) and closes
/// `watch`.
[[nodiscard]] Result<Process> start(const std::vector<std::string>& words,
                                    const std::vector<std::string>& environment);

/// "ended with status 3", "ended by signal 9"; empty when all is well. From waitpid.
[[nodiscard]] std::string failure_of(int status);

}  // namespace headgate::action
