// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <iosfwd>

#include "cli/shell.h"

namespace headgate::cli {

/// The console of scripts: output and errors go to two streams, and nobody answers.
class ScriptConsole : public Console {
 public:
  ScriptConsole(std::ostream& output, std::ostream& errors) : output_(output), errors_(errors) {}

  [[nodiscard]] bool interactive() const override { return false; }
  void print(std::string_view text) override;
  void error(std::string_view sentence) override;
  std::optional<std::string> ask(const std::string&) override { return std::nullopt; }
  void set_page(unsigned) override {}

 private:
  std::ostream& output_;
  std::ostream& errors_;
};

/// Executes lines up to the end or `exit`; a line that fails does not keep the next from being executed.
/// `broken` is asked after a failure whether to go on makes no sense. Returns whether no line failed and no
/// change was left without apply, which are dropped.
bool run_script(std::istream& lines, Shell& shell, const std::function<bool()>& broken);

}  // namespace headgate::cli
