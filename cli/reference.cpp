// SPDX-License-Identifier: Apache-2.0
#include "cli/reference.h"

#include <fmt/format.h>

#include "cli/screens.h"
#include "cli/tree.h"
#include "model/field_access.h"
#include "model/line.h"

namespace headgate::cli {
namespace {

std::string path_of(const Menu& menu) {
  if (menu.parent == nullptr) return "";
  std::string path = path_of(*menu.parent) + "/" + menu.word;
  return menu.key == nullptr ? path : path + fmt::format(" <{}>", schema::allowed(*menu.key));
}

std::string cell(std::string text) {
  for (auto at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2))
    text.replace(at, 1, "\\|");
  return text;
}

/// What follows the word of a setting, in words; empty when nothing does.
std::string value_of(const schema::Command& command) {
  if (command.verb == schema::Verb::on || command.verb == schema::Verb::off || command.entry == nullptr)
    return "";
  if (command.verb == schema::Verb::drop) return "";
  if (command.verb == schema::Verb::append)
    return command.step->kind == config::AUTOMATIC ? "" : schema::allowed(*command.step);
  if (command.entry->kind != config::TUPLE) return schema::allowed(*command.entry);
  std::string values;
  for (const auto& argument : command.entry->arguments) {
    const std::string one = fmt::format("{} ({})", argument.help, schema::allowed(argument));
    values += (values.empty() ? "" : ", ") + (argument.trailing ? "[" + one + "]" : one);
  }
  return values;
}

std::string default_text(const schema::Command& command, const schema::Menu& menu) {
  const bool plain = command.verb == schema::Verb::set || command.verb == schema::Verb::on;
  if (!plain || command.entry == nullptr || command.entry->kind == config::TUPLE) return "";
  return setting_text(schema::default_of(menu), *command.entry);
}

std::string arguments_of(const Command& command) {
  std::string text;
  for (const auto& argument : command.arguments) {
    const std::string allowed =
        argument.entry != nullptr ? schema::allowed(*argument.entry) : line::join(argument.words, " or ");
    const std::string one = allowed.empty()             ? argument.label
                            : argument.entry != nullptr ? fmt::format("{} ({})", argument.label, allowed)
                                                        : allowed;
    text += (text.empty() ? "" : ", ") + (argument.optional ? "[" + one + "]" : one);
  }
  return text;
}

std::string aliases_of(const Menu& menu, const Command& command) {
  std::string aliases;
  for (const Command& other : menu.commands)
    if (other.alias && other.same(command))
      aliases += (aliases.empty() ? " (also `" : ", `") + other.word + "`";
  return aliases.empty() ? "" : aliases + ")";
}

std::string row(const Menu& menu, const Command& command) {
  const std::string value = command.setting != nullptr ? value_of(*command.setting) : arguments_of(command);
  const std::string preset = command.setting != nullptr ? default_text(*command.setting, *menu.config) : "";
  return fmt::format("| `{}`{} | {} | {} | {} | {} |\n", command.word, aliases_of(menu, command), cell(value),
                     cell(preset), cell(command.help), config::Level_Name(command.level));
}

constexpr const char* kTableHead = "| word | value | default | what it is | level |\n|---|---|---|---|---|\n";

std::string section(const Menu& menu) {
  const std::string path = path_of(menu);
  std::string text = fmt::format("\n## `{}`\n\n", path.empty() ? "/" : path);
  if (menu.config != nullptr && !menu.config->alias_paths.empty())
    text += fmt::format("Also `{}`.\n\n", line::join(menu.config->alias_paths, "`, `"));
  text += kTableHead;
  for (const Command& command : menu.commands)
    if (!command.alias) text += row(menu, command);
  for (const Command& command : menu.commands)
    if (command.menu != nullptr && !command.alias) text += section(*command.menu);
  return text;
}

}  // namespace

std::string reference() {
  std::string text =
      "# CLI reference\n\n"
      "Generated from the configuration schema by `headgate --reference`; do not edit.\n\n"
      "Words may be abbreviated to a unique prefix, and steps stacked with `/`: `/c/slb/real 1/rip "
      "10.0.0.1/ena`.\n"
      "The level is the lowest that sees and may use an entry: USER, SLBOPER, OPER, SLBADMIN, L4ADMIN, "
      "ADMIN.\n\n"
      "## Global commands\n\n";
  text += kTableHead;
  for (const Command& command : global_commands()) text += row(main_menu(), command);
  return text + section(main_menu());
}

}  // namespace headgate::cli
