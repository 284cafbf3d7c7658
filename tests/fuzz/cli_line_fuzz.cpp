// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <sstream>

#include "cli/fake_headgated.h"
#include "cli/script.h"

/// Whatever lines a script has: the shell stays alive, and so does completion and help for each of them.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headgate;
  const std::string text(reinterpret_cast<const char*>(data), size);
  cli::FakeHeadgated headgated;
  cli::FakeConsole console;
  control::Opened opened;
  opened.set_level(config::ADMIN);
  cli::Shell shell(headgated, console, opened);
  std::istringstream lines(text);
  cli::run_script(lines, shell, [] { return false; });
  (void)cli::complete(shell.place(), text, config::ADMIN);
  (void)cli::help(shell.place(), text, config::ADMIN);
  return 0;
}
