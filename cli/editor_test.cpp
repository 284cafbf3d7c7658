// SPDX-License-Identifier: Apache-2.0
#include "cli/editor.h"

#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "cli/fake_headgated.h"

namespace headgate::cli {
namespace {

/// What the program at the terminal does: an interactive session until it is left.
[[noreturn]] void serve() {
  FakeHeadgated headgated;
  control::Opened opened;
  opened.set_level(config::ADMIN);
  {
    Editor editor;
    Shell shell(headgated, editor, opened);
    while (!shell.leaving()) {
      const auto line = editor.read_line(shell);
      if (!line) break;
      shell.execute(*line);
    }
  }
  ::_exit(0);
}

/// A terminal with a session in it.
class Terminal {
 public:
  Terminal() {
    winsize size{24, 200, 0, 0};
    child_ = ::forkpty(&terminal_, nullptr, nullptr, &size);
    if (child_ == 0) {
      ::setenv("TERM", "vt100", 1);
      serve();
    }
  }
  ~Terminal() {
    ::close(terminal_);
    int status = 0;
    ::waitpid(child_, &status, 0);
  }

  void hang_up() {
    ::close(terminal_);
    terminal_ = -1;
  }

  void type(std::string_view keys) {
    ASSERT_EQ(::write(terminal_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }

  /// What is shown up to and with `wanted`, from where the last call ended. When it does not come, that is a
  /// failure, and all there is.
  std::string until(std::string_view wanted) {
    const std::string shown = until_or_end(wanted);
    EXPECT_TRUE(shown.ends_with(wanted)) << "waited for '" << wanted << "', got: " << shown;
    return shown;
  }

  /// Whether the program ends now.
  bool ends() { return until_or_end("no such text").ends_with("<closed>"); }

 private:
  std::string until_or_end(std::string_view wanted) {
    while (true) {
      const auto at = shown_.find(wanted);
      if (at != std::string::npos) return take(at + wanted.size());
      pollfd readable{terminal_, POLLIN, 0};
      constexpr int kPatienceMs = 10000;
      char buffer[4096];
      if (::poll(&readable, 1, kPatienceMs) != 1) return take(shown_.size()) + "<silence>";
      const ssize_t got = ::read(terminal_, buffer, sizeof(buffer));
      if (got <= 0) return take(shown_.size()) + "<closed>";
      shown_.append(buffer, static_cast<std::size_t>(got));
    }
  }

  std::string take(std::size_t length) {
    std::string taken = shown_.substr(0, length);
    shown_.erase(0, length);
    return taken;
  }

  int terminal_ = -1;
  pid_t child_ = -1;
  std::string shown_;
};

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(Editor, TabCompletesAndListsChoices) {
  Terminal terminal;
  terminal.until(">> Main# ");
  terminal.type("verbose 1\r");
  terminal.until(">> Main# ");
  terminal.type("/c/sl\trea\t1\r");
  EXPECT_FALSE(has(terminal.until(">> Real server 1 # "), "Error"));
  terminal.type("re\t");
  terminal.until("retry  restr");
}

TEST(Editor, QuestionMarkHelpsAtOnceAndKeepsTheLine) {
  Terminal terminal;
  terminal.until(">> Main# ");
  terminal.type("verbose 1\r");
  terminal.until(">> Main# ");
  terminal.type("/c/slb/real 1/weight ?");
  EXPECT_TRUE(has(terminal.until("Share of new sessions"), "1-48"));
  terminal.type("5\r");
  EXPECT_TRUE(has(terminal.until(">> Real server 1 # "), "New pending real server weight: 5"));
}

TEST(Editor, ArrowsAndControlKeysRecallAndEdit) {
  Terminal terminal;
  terminal.until(">> Main# ");
  terminal.type("pwdx\x08\r");
  terminal.until(">> Main# ");
  terminal.type("nonsense\x15pwd\r");  // ^U
  EXPECT_FALSE(has(terminal.until(">> Main# "), "Error"));
  terminal.type("\x10\r");  // ^P
  EXPECT_TRUE(has(terminal.until("/\r\n"), "pwd"));
}

TEST(Editor, AMissingValueIsAskedFor) {
  Terminal terminal;
  terminal.until(">> Main# ");
  terminal.type("/c/slb/real\r");
  terminal.until("Enter real server number (1-1023): ");
  terminal.type("3\r");
  EXPECT_TRUE(has(terminal.until(">> Real server 3 # "), "[Real server 3 Menu]"));
}

TEST(Editor, LongOutputStopsAtEachPage) {
  Terminal terminal;
  terminal.until(">> Main# ");
  terminal.type("lines 5\r");
  terminal.until(">> Main# ");
  terminal.type("help\r");
  terminal.until("Press q to quit, any other key to continue");
  terminal.type("x");
  terminal.until("Press q to quit, any other key to continue");
  terminal.type("q");
  EXPECT_FALSE(has(terminal.until(">> Main# "), "verbose"));
}

TEST(Editor, EndOfInputLeaves) {
  Terminal terminal;
  terminal.until(">> Main# ");
  terminal.type("\x04");
  EXPECT_TRUE(terminal.ends());
}

TEST(Editor, AQuestionMarkThatStartsALineWaitsForEnter) {
  Terminal terminal;
  terminal.until(">> Main# ");
  terminal.type("? apply\r");
  const std::string shown = terminal.until(">> Main# ");
  EXPECT_TRUE(has(shown, "Apply pending config changes")) << shown;
  EXPECT_FALSE(has(shown, "There are no pending changes")) << shown;
}

TEST(Editor, ControlCAbandonsLinesQuestionsAndPagesButNotTheSession) {
  Terminal terminal;
  terminal.until(">> Main# ");
  terminal.type("lines 5\r");
  terminal.until(">> Main# ");
  terminal.type("pw\t\x03");
  EXPECT_FALSE(has(terminal.until(">> Main# "), "/\r\n"));
  terminal.type("help\r");
  terminal.until("any other key to continue");
  terminal.type("\x03");
  EXPECT_FALSE(has(terminal.until(">> Main# "), "verbose"));
  terminal.type("/c/slb/real\r");
  terminal.until("(1-1023): ");
  terminal.type("7\x03");
  EXPECT_FALSE(has(terminal.until(">> Main# "), "Error"));
}

TEST(Editor, ControlDAsksWhenChangesArePending) {
  Terminal terminal;
  terminal.until(">> Main# ");
  terminal.type("/c/slb/on\r");
  terminal.until(">> Layer 4# ");
  terminal.type("\x04");
  terminal.until("leave and drop them [y/n]: ");
  terminal.type("n\r");
  terminal.until(">> Layer 4# ");
  terminal.type("\x04");
  terminal.until("leave and drop them [y/n]: ");
  terminal.type("y\r");
  EXPECT_TRUE(terminal.ends());
}

TEST(Editor, ALostTerminalEndsTheSession) {
  Terminal terminal;
  terminal.until(">> Main# ");
  terminal.type("/c/slb/on\r");
  terminal.until(">> Layer 4# ");
  terminal.hang_up();  // and its destructor waits for the end of the program
}

}  // namespace
}  // namespace headgate::cli
