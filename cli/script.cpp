// SPDX-License-Identifier: Apache-2.0
#include "cli/script.h"

#include <istream>
#include <ostream>

namespace headgate::cli {

void ScriptConsole::print(std::string_view text) {
  output_ << text << std::flush;
}

void ScriptConsole::error(std::string_view sentence) {
  errors_ << "Error: " << sentence << "\n" << std::flush;
}

bool run_script(std::istream& lines, Shell& shell, const std::function<bool()>& broken) {
  bool good = true;
  std::string line;
  while (!shell.leaving() && std::getline(lines, line)) {
    if (shell.execute(line)) continue;
    good = false;
    if (!broken()) continue;
    shell.console().error("the rest of the lines is not executed");
    return false;
  }
  good = shell.finish() && good;
  if (!shell.pending()) return good;
  shell.console().print("Note: the session ended with changes that were not applied; they are dropped.\n");
  return false;
}

}  // namespace headgate::cli
