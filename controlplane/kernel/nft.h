// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "model/result.h"

namespace headgate::kernel {

/// Runs nft commands as one transaction.
[[nodiscard]] Status run_nft(const std::string& commands);
/// Whether the guard's table is in the kernel.
[[nodiscard]] bool guard_stands();

}  // namespace headgate::kernel
