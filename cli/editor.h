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
/// delete, ^L. ^C abandons a line, a question, or the rest of the output, never the session. "?" helps at
/// once, but as the first character of a line it is typed like any other: "? apply". The process ignores
/// SIGINT, and SIGHUP, which shows as the end of the input.
class Editor : public Console {
 public:
  Editor();
  ~Editor() override;
  Editor(const Editor&) = delete;
  Editor& operator=(const Editor&) = delete;

  /// One line, edited with completion and help in the shell's place: empty after ^C, "exit" for ^D on an
  /// empty line; nothing when the terminal is gone.
  std::optional<std::string> read_line(const Shell& shell);

  [[nodiscard]] bool interactive() const override { return true; }
  void print(std::string_view text) override;
  void error(std::string_view sentence) override;
  std::optional<std::string> ask(const std::string& question) override;
  void set_page(unsigned lines) override { page_ = lines; }

 private:
  enum class End { line, cancelled, end_key, lost };
  std::optional<std::string> read(const std::string& prompt);
  unsigned char cancel();
  unsigned char delete_or_end();
  bool turn_page();
  std::string before_cursor() const;
  unsigned char complete_line();
  unsigned char show_help(int key);

  static char* prompt_of(EditLine* line);
  static unsigned char on_tab(EditLine* line, int key);
  static unsigned char on_cancel(EditLine* line, int key);
  static unsigned char on_end(EditLine* line, int key);
  static unsigned char on_question(EditLine* line, int key);

  EditLine* line_ = nullptr;
  History* history_ = nullptr;
  const Shell* shell_ = nullptr;  ///< null while a question is asked
  End end_ = End::line;           ///< how the last reading ended
  std::string prompt_;
  unsigned page_ = 24;
  unsigned printed_ = 0;  ///< lines since the last prompt
  bool skip_ = false;     ///< "q" was pressed: no more output of this command
};

}  // namespace headgate::cli
