// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "cli/tree.h"
#include "model/line.h"

namespace headgate::cli {
namespace {

/// An unfinished line: where its last step is typed, that step's finished words, and the word at the cursor.
struct Unfinished {
  Place place;
  std::vector<std::string> words;
  std::string last;
};

/// Splits at the last "/" that no quotes protect.
std::pair<std::string_view, std::string_view> cut(std::string_view line) {
  std::size_t at = std::string_view::npos;
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') quoted = !quoted;
    if (line[i] == '/' && !quoted) at = i;
  }
  if (at == std::string_view::npos) return {"", line};
  return {line.substr(0, at + 1), line.substr(at + 1)};
}

/// Follows finished steps; those that are no menus are passed over.
std::optional<Place> walk(Place place, std::string_view text, config::Level level) {
  const auto line = line::split(text);
  if (!line) return std::nullopt;
  if (line->absolute) place.stops.clear();
  for (const auto& step : line->steps) {
    if (step.empty()) return std::nullopt;
    const auto command = match(place.menu(), step[0].text, level);
    if (!command) return std::nullopt;
    const Menu* menu = (*command)->menu;
    if (menu == nullptr) continue;
    if (menu->key != nullptr && step.size() < 2) return std::nullopt;
    place = entered(place, *menu, menu->key != nullptr ? step[1].text : "");
  }
  return place;
}

std::optional<Unfinished> read(const Place& place, std::string_view text, config::Level level) {
  const auto [head, tail] = cut(text);
  auto reached = walk(place, head, level);
  const auto step = line::split(tail);
  if (!reached || !step) return std::nullopt;
  Unfinished line{*reached, {}, ""};
  if (step->steps.empty()) return line;
  for (const auto& token : step->steps[0]) line.words.push_back(token.text);
  const bool open = tail.back() != ' ' && tail.back() != '\t';
  if (open) {
    line.last = line.words.back();
    line.words.pop_back();
  }
  return line;
}

/// The entry that the next argument of a step is checked against; null when there is none.
const schema::Entry* next_argument(const Command& command, std::size_t given) {
  if (command.menu != nullptr && given == 1 && command.menu->config != nullptr)
    return command.menu->config->behind_key();
  if (command.menu != nullptr) return given == 0 ? command.menu->key : nullptr;
  if (command.setting == nullptr)
    return given < command.arguments.size() ? command.arguments[given].entry : nullptr;
  const schema::Entry* entry = command.setting->entry;
  using schema::Verb;
  if (command.setting->verb == Verb::append)
    return given == 0 && command.setting->step->kind != config::AUTOMATIC ? command.setting->step : nullptr;
  if (entry == nullptr || command.setting->verb == Verb::on || command.setting->verb == Verb::off ||
      command.setting->verb == Verb::drop)
    return nullptr;
  if (entry->kind == config::TUPLE)
    return given < entry->arguments.size() ? &entry->arguments[given] : nullptr;
  return given == 0 ? entry : nullptr;
}

std::vector<std::string> words_of(const Menu& menu, config::Level level) {
  std::vector<std::string> words;
  for (const Command& command : menu.commands)
    if (!command.alias && command.level <= level) words.push_back(command.word);
  return words;
}

/// The texts that may stand at the cursor.
std::vector<std::string> texts_at(const Unfinished& line, config::Level level) {
  if (line.words.empty()) {
    auto words = words_of(line.place.menu(), level);
    const bool mine = std::ranges::any_of(words, [&](const auto& w) { return w.starts_with(line.last); });
    if (mine) return words;
    words.clear();
    for (const Command& command : global_commands())
      if (command.level <= level) words.push_back(command.word);
    return words;
  }
  const auto command = match(line.place.menu(), line.words[0], level);
  if (!command) return {};
  const std::size_t given = line.words.size() - 1;
  if (const auto* entry = next_argument(**command, given)) return schema::candidates(*entry);
  const auto& arguments = (*command)->arguments;
  return given < arguments.size() ? arguments[given].words : std::vector<std::string>{};
}

std::string common_start(const std::vector<std::string>& texts) {
  std::string common = texts.front();
  for (const auto& text : texts) {
    const auto end = std::ranges::mismatch(common, text).in1;
    common.erase(end, common.end());
  }
  return common;
}

std::string row(const Command& command) {
  return fmt::format("     {:<8} - {}\n", command.word, command.help);
}

/// What may stand at the next argument; the command itself where none follows.
std::string argument_help(const Command& command, std::size_t given) {
  if (const auto* entry = next_argument(command, given)) {
    const std::string what = command.menu != nullptr      ? command.menu->object
                             : command.setting == nullptr ? command.arguments[given].label
                                                          : entry->help;
    return fmt::format("     {} - {}\n", schema::allowed(*entry), what);
  }
  if (given < command.arguments.size() && !command.arguments[given].words.empty())
    return fmt::format("     {} - {}\n", line::join(command.arguments[given].words, " or "), command.help);
  return row(command);
}

/// Whether something may follow the word and so many of its arguments.
bool goes_on(const Command& command, std::size_t given) {
  return next_argument(command, given) != nullptr || given < command.arguments.size();
}

/// What stands behind a completed text: "/" on the way into a menu, a blank before an argument.
std::string_view after(const Unfinished& line, const std::string& text, config::Level level) {
  const auto command = match(line.place.menu(), line.words.empty() ? text : line.words[0], level);
  if (!command) return "";
  if (goes_on(**command, line.words.size())) return " ";
  return (*command)->menu != nullptr ? "/" : "";
}

std::string rows(const Place& place, std::string_view start, config::Level level) {
  std::string shown;
  for (const Command& command : place.menu().commands)
    if (!command.alias && command.level <= level && command.word.starts_with(start)) shown += row(command);
  return shown;
}

/// All arguments of a command, one a line, below its row.
std::string all_arguments(const Command& command) {
  std::string text;
  const std::string indent(16, ' ');
  for (std::size_t i = 0; const auto* entry = next_argument(command, i); ++i) {
    const bool tuple = command.setting != nullptr && command.setting->entry->kind == config::TUPLE;
    const std::string label = command.menu != nullptr      ? command.menu->object + " number"
                              : command.setting == nullptr ? command.arguments[i].label
                              : tuple                      ? entry->help
                                                           : "value";
    text += fmt::format("{}{}: {}{}\n", indent, label, schema::allowed(*entry),
                        entry->trailing ? ", may be left out" : "");
  }
  for (const Argument& argument : command.arguments)
    if (!argument.words.empty())
      text += fmt::format("{}{}: {}\n", indent, argument.label, line::join(argument.words, " or "));
  return text;
}

/// The words of a way to a command, whether "/" or blanks stand between.
Result<std::vector<std::string>> words_of_way(std::string_view way) {
  const auto line = line::split(way);
  if (!line) return line.error();
  std::vector<std::string> words;
  for (const auto& step : line->steps)
    for (const auto& token : step) words.push_back(token.text);
  return words;
}

/// Follows the words from a menu; numbers of objects may be there or not.
Result<std::string> explain_from(Place place, const std::vector<std::string>& words, config::Level level) {
  const Command* last = nullptr;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (last != nullptr && last->menu == nullptr) break;  // values of a command
    const auto command = match(place.menu(), words[i], level);
    if (!command) return command.error();
    last = *command;
    if (last->menu == nullptr) continue;
    const auto* key = last->menu->key;
    const bool numbered =
        key != nullptr && i + 1 < words.size() && schema::check(*key, words[i + 1], "").ok();
    if (numbered) ++i;
    place = entered(place, *last->menu, numbered ? words[i] : "");
  }
  if (last == nullptr) return rows(place, "", level);
  return row(*last) + all_arguments(*last) + (last->menu != nullptr ? rows(place, "", level) : "");
}

}  // namespace

Completion complete(const Place& place, std::string_view text, config::Level level) {
  const auto line = read(place, text, level);
  if (!line) return {};
  const auto texts = texts_at(*line, level);
  std::vector<std::string> fitting;
  std::ranges::copy_if(texts, std::back_inserter(fitting),
                       [&](const std::string& t) { return t.starts_with(line->last); });
  if (fitting.size() == 1)
    return {fitting[0].substr(line->last.size()) + std::string(after(*line, fitting[0], level)), {}};
  if (!fitting.empty()) return {common_start(fitting).substr(line->last.size()), fitting};
  const bool free = texts.empty() && !line->words.empty();
  return {"", {}, free ? help(place, text, level) : ""};
}

std::string help(const Place& place, std::string_view text, config::Level level) {
  const auto line = read(place, text, level);
  if (!line) return "";
  if (!line->words.empty()) {
    const auto command = match(line->place.menu(), line->words[0], level);
    return command ? argument_help(**command, line->words.size() - 1) : "";
  }
  if (line->last.empty())
    return rows(line->place, "", level) + (line->place.stops.empty() ? globals_of_main(level) : "") +
           "     \"help\" lists the global commands\n";
  const std::string mine = rows(line->place, line->last, level);
  if (!mine.empty()) return mine;
  std::string global;
  for (const Command& command : global_commands())
    if (command.level <= level && command.word.starts_with(line->last)) global += row(command);
  return global;
}

Result<std::string> explain(const Place& place, std::string_view way, config::Level level) {
  const auto words = words_of_way(way);
  if (!words) return words.error();
  const auto start = way.find_first_not_of(" \t");
  const bool absolute = start != std::string_view::npos && way[start] == '/';
  auto here = explain_from(absolute ? Place{} : place, *words, level);
  if (here || absolute) return here;
  auto from_main = explain_from({}, *words, level);
  return from_main ? std::move(from_main) : std::move(here);
}

}  // namespace headgate::cli
