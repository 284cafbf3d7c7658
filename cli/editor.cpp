// SPDX-License-Identifier: Apache-2.0
#include "cli/editor.h"

#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>

#include "model/line.h"

namespace headgate::cli {
namespace {

constexpr int kHistory = 10;

Editor& editor_of(EditLine* line) {
  void* self = nullptr;
  el_get(line, EL_CLIENTDATA, &self);
  return *static_cast<Editor*>(self);
}

void write_out(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

/// One key in answer to a question, without echo and without waiting for Enter; 'q' at the end of input and
/// for ^C.
char ask_key(std::string_view question) {
  termios old{};
  tcgetattr(STDIN_FILENO, &old);
  termios raw = old;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);
  tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  write_out(question);  // not before: a ^C in answer would be the kernel's
  char key = 'q';
  if (::read(STDIN_FILENO, &key, 1) != 1) key = 'q';
  tcsetattr(STDIN_FILENO, TCSANOW, &old);
  constexpr char kCancel = '\x03';
  return key == kCancel ? 'q' : key;
}

bool terminal_gone() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  return isatty(STDIN_FILENO) == 0 ||
         (::poll(&input, 1, 0) == 1 && (input.revents & (POLLHUP | POLLERR)) != 0);
}

}  // namespace

Editor::Editor() : line_(el_init("headgate", stdin, stdout, stderr)), history_(history_init()) {
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGHUP, SIG_IGN);
  HistEvent event;
  history(history_, &event, H_SETSIZE, kHistory);
  el_set(line_, EL_CLIENTDATA, this);
  el_set(line_, EL_PROMPT, &Editor::prompt_of);
  el_set(line_, EL_EDITOR, "emacs");
  el_set(line_, EL_SIGNAL, 1);
  el_set(line_, EL_SETTY, "-d", "-isig", nullptr);  // ^C is a key
  el_set(line_, EL_HIST, history, history_);
  el_set(line_, EL_ADDFN, "hg-complete", "complete the word", &Editor::on_tab);
  el_set(line_, EL_ADDFN, "hg-help", "what may follow", &Editor::on_question);
  el_set(line_, EL_ADDFN, "hg-cancel", "abandon the line", &Editor::on_cancel);
  el_set(line_, EL_ADDFN, "hg-end", "delete a character, or leave", &Editor::on_end);
  el_set(line_, EL_BIND, "^I", "hg-complete", nullptr);
  el_set(line_, EL_BIND, "?", "hg-help", nullptr);
  el_set(line_, EL_BIND, "^U", "em-kill-line", nullptr);
  el_set(line_, EL_BIND, "^D", "hg-end", nullptr);
  el_set(line_, EL_BIND, "^C", "hg-cancel", nullptr);
}

Editor::~Editor() {
  history_end(history_);
  el_end(line_);
}

std::optional<std::string> Editor::read_line(const Shell& shell) {
  shell_ = &shell;
  auto text = read(shell.prompt());
  shell_ = nullptr;
  if (end_ == End::cancelled) return std::string();
  if (end_ == End::end_key) return std::string("exit");
  if (text && text->find_first_not_of(" \t") != std::string::npos) {
    HistEvent event;
    history(history_, &event, H_ENTER, text->c_str());
  }
  return text;
}

std::optional<std::string> Editor::ask(const std::string& question) {
  return read(question);
}

std::optional<std::string> Editor::read(const std::string& prompt) {
  printed_ = 0;
  skip_ = false;
  prompt_ = prompt;
  end_ = End::line;
  // Before the prompt is seen: a key typed at once is the editor's, not the kernel's, whose ^C drops what
  // waits.
  el_set(line_, EL_PREP_TERM, 1);
  errno = 0;
  int length = 0;
  const char* got = el_gets(line_, &length);
  // The kernel takes a ^D that comes before the editor reads; it is the same key.
  if ((got == nullptr || length <= 0) && end_ == End::line)
    end_ = errno == EIO || terminal_gone() ? End::lost : End::end_key;
  if (end_ == End::end_key) write_out("\n");
  if (end_ != End::line) return std::nullopt;
  std::string text(got, static_cast<std::size_t>(length));
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  return text;
}

void Editor::print(std::string_view text) {
  while (!text.empty() && !skip_) {
    if (page_ > 0 && printed_ + 1 >= page_ && !turn_page()) return;
    const auto end = text.find('\n');
    const std::size_t length = end == std::string_view::npos ? text.size() : end + 1;
    write_out(text.substr(0, length));
    text.remove_prefix(length);
    ++printed_;
  }
}

/// At the end of a page; false when the rest is not wanted.
bool Editor::turn_page() {
  constexpr std::string_view kQuestion = "Press q to quit, any other key to continue";
  const char key = ask_key(kQuestion);
  write_out("\r" + std::string(kQuestion.size(), ' ') + "\r");
  printed_ = 0;
  skip_ = key == 'q';
  return !skip_;
}

void Editor::error(std::string_view sentence) {
  write_out("Error: " + std::string(sentence) + "\n");
}

std::string Editor::before_cursor() const {
  const LineInfo* info = el_line(line_);
  return {info->buffer, static_cast<std::size_t>(info->cursor - info->buffer)};
}

unsigned char Editor::complete_line() {
  if (shell_ == nullptr) return CC_ERROR;
  const Completion found = complete(shell_->place(), before_cursor(), shell_->level());
  if (!found.insert.empty()) {
    el_insertstr(line_, found.insert.c_str());
    return CC_REFRESH;
  }
  if (found.choices.empty() && found.expected.empty()) return CC_REFRESH_BEEP;
  write_out("\n" + (found.choices.empty() ? found.expected : line::join(found.choices, "  ") + "\n"));
  return CC_REDISPLAY;
}

unsigned char Editor::cancel() {
  end_ = End::cancelled;
  write_out("^C\n");
  return CC_EOF;
}

unsigned char Editor::delete_or_end() {
  const LineInfo* info = el_line(line_);
  if (info->lastchar == info->buffer) {
    end_ = End::end_key;
    return CC_EOF;
  }
  if (info->cursor == info->lastchar) return CC_REFRESH_BEEP;
  el_cursor(line_, 1);
  el_deletestr(line_, 1);
  return CC_REFRESH;
}

/// "?" within quotes and answers, and where a line starts with it, is a character as any other.
unsigned char Editor::show_help(int key) {
  const std::string text = before_cursor();
  const bool quoted = std::count(text.begin(), text.end(), '"') % 2 == 1;
  const auto first = text.find_first_not_of(' ');
  if (shell_ == nullptr || quoted || first == std::string::npos || text[first] == '?') {
    const char typed[2] = {static_cast<char>(key), '\0'};
    el_insertstr(line_, typed);
    return CC_REFRESH;
  }
  write_out("?\n" + help(shell_->place(), text, shell_->level()));
  return CC_REDISPLAY;
}

char* Editor::prompt_of(EditLine* line) {
  return editor_of(line).prompt_.data();
}

unsigned char Editor::on_tab(EditLine* line, int) {
  return editor_of(line).complete_line();
}

unsigned char Editor::on_cancel(EditLine* line, int) {
  return editor_of(line).cancel();
}

unsigned char Editor::on_end(EditLine* line, int) {
  return editor_of(line).delete_or_end();
}

unsigned char Editor::on_question(EditLine* line, int key) {
  return editor_of(line).show_help(key);
}

}  // namespace headgate::cli
