// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>

#include "cli/tree.h"

namespace headgate::cli {

/// All menus, Main first; a deque, so that they keep their addresses. Built once, by main_menu().
[[nodiscard]] std::deque<Menu> make_menus();
[[nodiscard]] std::vector<Command> make_global_commands();

}  // namespace headgate::cli
