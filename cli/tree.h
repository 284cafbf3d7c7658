// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/result.h"
#include "model/schema.h"

// The whole tree of menus and commands: /cfg derived from the schema, the others from the tables in
// menus.cpp.
namespace headgate::cli {

class Shell;
struct Menu;

/// An argument of a command that is no setting.
struct Argument {
  const schema::Entry* entry = nullptr;  ///< what it may be; null: one of `words`
  std::string label;                     ///< "real server number"
  std::vector<std::string> words;
  bool optional = false;
};

/// Values of a command's arguments, checked and canonical, in order; optional ones at the end may be missing.
using Values = std::vector<std::string>;
/// Does what a command says. An error is one sentence, or several, one a line.
using Handler = Status (*)(Shell& shell, const Values& values);

/// One word that may be typed in a menu. It has a menu to enter, a setting to change, or a handler.
struct Command {
  std::string word;
  std::string help;
  config::Level level = config::USER;
  const Menu* menu = nullptr;
  const schema::Command* setting = nullptr;
  Handler handler = nullptr;
  std::vector<Argument> arguments = {};
  bool alias = false;  ///< matched, but not listed

  [[nodiscard]] bool same(const Command& other) const;
};

struct Menu {
  std::string word;                      ///< with which it is entered
  std::string title;                     ///< of the prompt; {} and {parent} stand for keys
  const schema::Menu* config = nullptr;  ///< below /cfg
  const schema::Entry* key = nullptr;
  std::string object = {};  ///< "real server": what the key numbers
  const Menu* parent = nullptr;
  std::vector<Command> commands = {};
};

/// The Main menu. Built on first use.
[[nodiscard]] const Menu& main_menu();
/// Commands that every menu understands.
[[nodiscard]] const std::vector<Command>& global_commands();

/// Where a session stands: the menus entered from Main, with the keys of the keyed ones.
struct Place {
  struct Stop {
    const Menu* menu = nullptr;
    std::string key;
  };
  std::vector<Stop> stops;

  [[nodiscard]] const Menu& menu() const { return stops.empty() ? main_menu() : *stops.back().menu; }
  [[nodiscard]] std::vector<std::string> keys() const;
  /// "/cfg/slb/real 1"; "/" for Main.
  [[nodiscard]] std::string path() const;
  /// "Real server 1 ", as prompts show it.
  [[nodiscard]] std::string title() const;
};

/// The command that a word means here, for somebody of this level: exact words before abbreviations, the
/// menu's own before global ones. The error quotes the word.
[[nodiscard]] Result<const Command*> match(const Menu& menu, std::string_view word, config::Level level);

/// The place after entering a menu from `from`; also past menus that an alias path does not name.
[[nodiscard]] Place entered(const Place& from, const Menu& menu, const std::string& key);

/// The menu as screens list it: a rule, its title, a row for each command, the global ones in Main.
[[nodiscard]] std::string listing(const Place& place, config::Level level);

/// The rows of the global commands that Main lists.
[[nodiscard]] std::string globals_of_main(config::Level level);

/// What "?" shows for an unfinished line: the commands that may follow, or what the next argument may be.
/// Never executes anything.
[[nodiscard]] std::string help(const Place& place, std::string_view line, config::Level level);

/// What `help` says of a command or menu. The way to it may be typed with "/" or blanks, with numbers or
/// without:
/// "/cfg/slb/real 1/weight", "oper slb dis"; from the menu of `place`, else from Main. The error is that of
/// an unknown or ambiguous word.
[[nodiscard]] Result<std::string> explain(const Place& place, std::string_view way, config::Level level);

/// What Tab makes of a line: the text to insert, the choices when there is more than one, and what is
/// expected where only a free value fits.
struct Completion {
  std::string insert;
  std::vector<std::string> choices;
  std::string expected = {};
  bool operator==(const Completion&) const = default;
};
[[nodiscard]] Completion complete(const Place& place, std::string_view line, config::Level level);

}  // namespace headgate::cli
