// SPDX-License-Identifier: Apache-2.0
#include "cli/tree.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/menus.h"
#include "model/line.h"
#include "model/match.h"

namespace headgate::cli {
namespace {

const std::deque<Menu>& menus() {
  static const std::deque<Menu> all = make_menus();
  return all;
}

std::vector<Command> usable(const std::vector<Command>& commands, config::Level level) {
  std::vector<Command> kept;
  std::ranges::copy_if(commands, std::back_inserter(kept),
                       [&](const Command& c) { return c.level <= level; });
  return kept;
}

const Command* exact(const std::vector<Command>& commands, std::string_view word, config::Level level) {
  const auto found =
      std::ranges::find_if(commands, [&](const Command& c) { return c.word == word && c.level <= level; });
  return found == commands.end() ? nullptr : &*found;
}

/// The abbreviated command among those that the level may use; the pointer is into `commands`.
Result<const Command*> abbreviated(const std::vector<Command>& commands, std::string_view word,
                                   config::Level level) {
  const auto mine = usable(commands, level);
  const auto found = match_word(mine, word, [](const Command& a, const Command& b) { return a.same(b); });
  if (!found || *found == nullptr) return found;
  return exact(commands, (*found)->word, level);
}

std::string replace_all(std::string text, std::string_view what, const std::string& with) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
  return text;
}

std::string row(const Command& command) {
  return fmt::format("     {:<8} - {}\n", command.word, command.help);
}

}  // namespace

const Menu& main_menu() {
  return menus().front();
}

const std::vector<Command>& global_commands() {
  static const std::vector<Command> all = make_global_commands();
  return all;
}

bool Command::same(const Command& other) const {
  if (menu != other.menu || handler != other.handler) return false;
  if (setting == nullptr || other.setting == nullptr) return setting == other.setting;
  return setting->same(*other.setting);
}

std::vector<std::string> Place::keys() const {
  std::vector<std::string> keys;
  for (const Stop& stop : stops)
    if (stop.menu->key != nullptr) keys.push_back(stop.key);
  return keys;
}

std::string Place::path() const {
  std::string path;
  for (const Stop& stop : stops) path += "/" + stop.menu->word + (stop.key.empty() ? "" : " " + stop.key);
  return path.empty() ? "/" : path;
}

std::string Place::title() const {
  const auto keys = this->keys();
  std::string title = menu().title;
  if (keys.size() > 1) title = replace_all(title, "{parent}", keys[keys.size() - 2]);
  return keys.empty() ? title : replace_all(title, "{}", keys.back());
}

Result<const Command*> match(const Menu& menu, std::string_view word, config::Level level) {
  for (const auto* commands : {&menu.commands, &global_commands()})
    if (const Command* found = exact(*commands, word, level)) return found;
  for (const auto* commands : {&menu.commands, &global_commands()}) {
    auto found = abbreviated(*commands, word, level);
    if (!found || *found != nullptr) return found;
  }
  return Error{fmt::format("unknown command \"{}\"", line::shown(word))};
}

Place entered(const Place& from, const Menu& menu, const std::string& key) {
  Place place = from;
  if (menu.parent != &from.menu()) {
    place.stops.clear();
    for (const Menu* m = menu.parent; m->parent != nullptr; m = m->parent)
      place.stops.insert(place.stops.begin(), {m, ""});
  }
  place.stops.push_back({&menu, key});
  return place;
}

std::string listing(const Place& place, config::Level level) {
  std::string title = place.title();
  while (title.ends_with(' ')) title.pop_back();
  std::string text = fmt::format("{}\n[{} Menu]\n", std::string(60, '-'), title);
  for (const Command& command : place.menu().commands)
    if (!command.alias && command.level <= level) text += row(command);
  return text + (place.stops.empty() ? globals_of_main(level) : "");
}

std::string globals_of_main(config::Level level) {
  constexpr std::size_t kListedInMain = 5;  // up to `exit`
  std::string text;
  for (std::size_t i = 0; i < kListedInMain; ++i) {
    const Command& command = global_commands()[i];
    if (command.level <= level)
      text += fmt::format("     {:<8} - {:<28} [global command]\n", command.word, command.help);
  }
  return text;
}

}  // namespace headgate::cli
