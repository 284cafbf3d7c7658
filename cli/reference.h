// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace headgate::cli {

/// docs/cli-reference.md: every menu, setting and command, from the tree.
[[nodiscard]] std::string reference();

}  // namespace headgate::cli
