// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "cli/client.h"
#include "cli/console.h"
#include "cli/tree.h"

namespace headgate::cli {

/// One CLI session: where it stands and how it talks. Executes lines (reference 1.3 to 1.5).
///
/// It holds no configuration: settings are sent as edits, values are fetched. Errors go to the console.
class Shell {
 public:
  Shell(Client& client, Console& console, const control::Opened& opened);

  /// One line: its steps from left to right, up to the first error. False when an error was printed, of this
  /// line or of a setting that was waiting.
  bool execute(std::string_view text);
  /// ">> Real server 1 # "; empty at verbosity 0.
  [[nodiscard]] std::string prompt() const;
  [[nodiscard]] bool leaving() const { return leaving_; }
  [[nodiscard]] const Place& place() const { return place_; }
  [[nodiscard]] config::Level level() const { return level_; }
  /// Edits were sent that no apply or revert followed.
  [[nodiscard]] bool pending() const { return pending_; }

  // What handlers need.
  Console& console() { return console_; }
  /// What headgated answers; its refusals, one a line, are the error.
  Result<control::Reply> call(const control::Request& request);
  /// Makes a setting: one line in the grammar of the dump. At a prompt that is done when this returns; in a
  /// script settings are sent together, as soon as something needs them to be made.
  Status edit(std::string line);
  /// As edit(), for one that removes the object of the menu, which then gives way to the menu above.
  Status erase(std::string line);
  /// Between lines and before output: sends the settings that are waiting. False when one was refused, which
  /// has been printed.
  bool finish();
  /// Sends the settings that are waiting. Those refused are printed, but what was refused of the line in hand
  /// is the error.
  Status flush();
  /// Prints, unless the verbosity is 0.
  void print(std::string_view text);
  /// A report: 66 dashes, then the text.
  void report(std::string_view text);
  /// Asks for "y"; false when nobody answers.
  bool confirmed(const std::string& question);
  /// Takes the name in the prompt from the running configuration (hprompt); without an answer it has none.
  void refresh_prompt();
  void leave() { leaving_ = true; }
  /// Nothing was answered to a question of the line in hand: its other steps are not done, silently.
  void abandon() { abandoned_ = true; }
  void move(Place place) { place_ = std::move(place); }
  void set_settled() { pending_ = false; }
  void set_verbosity(unsigned verbosity) { verbosity_ = verbosity; }
  [[nodiscard]] unsigned verbosity() const { return verbosity_; }
  void set_lines(unsigned lines);
  [[nodiscard]] unsigned lines() const { return lines_; }
  [[nodiscard]] const std::deque<std::string>& history() const { return history_; }

 private:
  Status run(const line::Line& line);
  Status step(const line::Step& step);
  Status enter(const Command& command, const line::Step& step);
  Status handle(const Command& command, const line::Step& step);
  Result<std::string> argument(const Argument& argument, const line::Step& step, std::size_t index);
  std::optional<bool> explained(std::string_view text);
  Status settle(bool absolute);
  Status drop_refused(std::size_t taken, const Error& error);
  Result<std::string> recall(std::string_view text) const;
  void fail(const Error& error);
  void print_errors(const Error& error);

  /// A setting that was not sent yet.
  struct Setting {
    std::string text;
    std::size_t line = 0;  ///< the number of the line that it was part of
  };

  Client& client_;
  Console& console_;
  Place place_;
  Place before_;  ///< where the line in hand began
  std::string host_name_;
  config::Level level_;
  unsigned verbosity_ = 2;
  unsigned lines_ = 24;
  std::deque<Setting> waiting_;
  std::size_t line_ = 0;  ///< the number of the line in hand
  bool erased_ = false;   ///< the last one waiting removes what the current menu stands for
  bool refused_ = false;  ///< a setting of an earlier line was refused while this line was executed
  std::deque<std::string> history_;  ///< the last kHistory lines, oldest first
  bool leaving_ = false;
  bool abandoned_ = false;
  bool pending_ = false;
  bool show_menu_ = false;  ///< the line entered a menu last
};

/// What an interactive session starts with: the version and the Main menu.
void greet(Shell& shell);

/// Changes a setting of the current menu: checks its values, asks for what is missing, sends the edit.
Status change_setting(Shell& shell, const schema::Command& command, const line::Step& step);

/// The message of the current menu in a configuration; null where the object does not exist.
[[nodiscard]] const google::protobuf::Message* message_at(const Place& place, const config::Config& config);
/// The running or pending configuration.
Result<config::Config> fetch(Shell& shell, control::Which which);
/// With what its services are really checked by.
Result<control::ConfigReply> fetch_with_checks(Shell& shell, control::Which which);

}  // namespace headgate::cli
