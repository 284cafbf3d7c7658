// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <histedit.h>

#include <optional>
#include <string>

#include "cli/shell.h"

namespace headgate::cli {

/// The console of an administrator at a terminal: line editing with history, Tab and "?", and paging.
///
/// Keys are those of the reference 1.3: ^P ^N and arrows for history, ^A ^E ^B ^F to move, ^D ^K ^U to
/// delete, ^L.
class Editor : public Console {
 public:
  Editor();
  ~Editor() override;
  Editor(const Editor&) = delete;
  Editor& operator=(const Editor&) = delete;

  /// One line, edited with completion and help in the shell's place; nothing at the end of input.
  std::optional<std::string> read_line(const Shell& shell);

  [[nodiscard]] bool interactive() const override { return true; }
  void print(std::string_view text) override;
  void error(std::string_view sentence) override;
  std::optional<std::string> ask(const std::string& question) override;
  void set_page(unsigned lines) override { page_ = lines; }

 private:
  std::optional<std::string> read(const std::string& prompt);
  bool turn_page();
  std::string before_cursor() const;
  unsigned char complete_line();
  unsigned char show_help(int key);

  static char* prompt_of(EditLine* line);
  static unsigned char on_tab(EditLine* line, int key);
  static unsigned char on_question(EditLine* line, int key);

  EditLine* line_ = nullptr;
  History* history_ = nullptr;
  const Shell* shell_ = nullptr;  ///< null while a question is asked
  std::string prompt_;
  unsigned page_ = 24;
  unsigned printed_ = 0;  ///< lines since the last prompt
  bool skip_ = false;     ///< "q" was pressed: no more output of this command
};

}  // namespace headgate::cli
