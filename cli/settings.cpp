// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "cli/screens.h"
#include "cli/shell.h"
#include "model/field_access.h"
#include "model/line.h"

namespace headgate::cli {
namespace {

using google::protobuf::Message;
using schema::Entry;
using schema::Verb;

Result<std::string> value_in(Shell& shell, control::Which which, const Entry& entry) {
  const auto config = fetch(shell, which);
  if (!config) return config.error();
  const Message* message = message_at(shell.place(), *config);
  return setting_text(message != nullptr ? *message : default_of(*shell.place().menu().config), entry);
}

Status print_current(Shell& shell, const Entry& entry) {
  const auto current = value_in(shell, control::RUNNING, entry);
  if (!current) return current.error();
  const auto pending = value_in(shell, control::PENDING, entry);
  if (!pending) return pending.error();
  const std::string what = entry.kind == config::STATE ? "status" : entry.label;
  shell.print(fmt::format("Current {}: {}\n", what, *current));
  if (*pending != *current) shell.print(fmt::format("Pending {}: {}\n", what, *pending));
  return Done{};
}

Status print_new(Shell& shell, const Entry& entry) {
  const auto pending = value_in(shell, control::PENDING, entry);
  if (!pending) return pending.error();
  // The two words of a state answer in the captured form.
  const std::string label =
      entry.kind == config::STATE ? "New status:    " : fmt::format("New pending {}:", entry.label);
  shell.print(fmt::format("{} {}\n", label, *pending));
  return Done{};
}

std::string name_of_setting(const Shell& shell, const schema::Command& command) {
  const bool list = command.verb == Verb::add || command.verb == Verb::remove;
  const auto& menu = *shell.place().menu().config;
  const auto& word = command.step != nullptr ? command.step->word : command.entry->word;
  return fmt::format("{} of {}", list ? command.entry->label : word,
                     schema::name_of(menu, shell.place().keys()));
}

/// As it stands in an edit: texts in quotes, so that they are taken as they are.
std::string in_edit(const Entry& entry, const std::string& value) {
  return entry.kind == config::TEXT || entry.kind == config::WORD ? line::quote(value) : value;
}

/// Collects the checked values of a setting: those typed, then those asked for.
class Collector {
 public:
  Collector(Shell& shell, const schema::Command& command, const line::Step& step)
      : shell_(shell), command_(command), step_(step), name_(name_of_setting(shell, command)) {}

  /// The values as the edit has them; empty when the answer to a question was empty, which keeps the old
  /// value.
  Result<std::string> run() {
    const Entry& entry = command_.step != nullptr ? *command_.step : *command_.entry;
    const std::size_t most = entry.kind == config::TUPLE ? entry.arguments.size() : 1;
    std::string text;
    for (std::size_t i = 0; i < most; ++i) {
      const Entry& one = entry.kind == config::TUPLE ? entry.arguments[i] : entry;
      const std::string what = &one == &entry ? name_ : fmt::format("{} of {}", one.word, name_);
      if (i + 1 >= step_.size() && one.trailing) break;
      auto value = i + 1 < step_.size() ? schema::check(one, step_[i + 1], what) : ask(one, what);
      if (!value) return value.error();
      if (kept_) return std::string();
      text += " " + in_edit(one, *value);
    }
    if (step_.size() <= most + 1) return text;
    return Error{fmt::format("unexpected \"{}\" after {}", line::shown(step_[most + 1].text), command_.word)};
  }

 private:
  Result<std::string> ask(const Entry& entry, const std::string& what) {
    const std::string allowed = schema::allowed(entry);
    const char* which = command_.verb == Verb::set ? "new " : "";
    const auto answer = shell_.console().ask(fmt::format("Enter {}{} [{}]: ", which, entry.label, allowed));
    if (!answer && !shell_.console().interactive()) return Error{schema::missing(entry, what)};
    if (!answer) shell_.abandon();
    kept_ = !answer || answer->empty();
    if (kept_) return std::string();
    // The answer is taken as it is: blanks and slashes need no quotes here.
    return schema::check(entry, line::Token{*answer}, what);
  }

  Shell& shell_;
  const schema::Command& command_;
  const line::Step& step_;
  std::string name_;
  bool kept_ = false;
};

/// "/cfg" -> "/c", as the dump has it.
std::string edit_line(const Shell& shell, const std::string& words) {
  return fmt::format("/c{}/{}", shell.place().path().substr(4), words);
}

Status erase(Shell& shell, const line::Step& step) {
  if (step.size() > 1) return Error{fmt::format("unexpected \"{}\" after del", line::shown(step[1].text))};
  const std::string name = schema::name_of(*shell.place().menu().config, shell.place().keys());
  if (auto done = shell.erase(edit_line(shell, "del")); !done) return done;
  if (shell.console().interactive()) shell.print(fmt::format("{} is deleted by the next apply.\n", name));
  return Done{};
}

Result<std::string> edit_words(Shell& shell, const schema::Command& command, const line::Step& step) {
  const bool bare_step = command.step != nullptr && command.step->kind == config::AUTOMATIC;
  if (command.verb == Verb::on || command.verb == Verb::off || command.verb == Verb::drop || bare_step) {
    if (step.size() == 1) return command.word;
    return Error{fmt::format("unexpected \"{}\" after {}", line::shown(step[1].text), command.word)};
  }
  auto values = Collector(shell, command, step).run();
  if (!values || values->empty()) return values;
  return command.word + *values;
}

}  // namespace

Status change_setting(Shell& shell, const schema::Command& command, const line::Step& step) {
  if (command.verb == Verb::erase) return erase(shell, step);
  // Scripts print results only; somebody at the prompt sees what was and what will be.
  const bool talk = shell.console().interactive() && shell.verbosity() > 0;
  if (talk)
    if (auto done = print_current(shell, *command.entry); !done) return done;
  const auto words = edit_words(shell, command, step);
  if (!words) return words.error();
  if (words->empty()) return Done{};
  if (auto done = shell.edit(edit_line(shell, *words)); !done) return done;
  return talk ? print_new(shell, *command.entry) : Status(Done{});
}

const Message* message_at(const Place& place, const config::Config& config) {
  const Message* message = &config;
  const schema::Menu* menu = &schema::root();
  for (const auto& stop : place.stops) {
    if (stop.menu->config == nullptr || stop.menu->config->parent == nullptr) continue;
    const auto entry = std::ranges::find(menu->entries, stop.menu->config, &Entry::menu);
    message = schema::find(*message, *entry, stop.key);
    if (message == nullptr) return nullptr;
    menu = stop.menu->config;
  }
  return message;
}

Result<control::ConfigReply> fetch_with_checks(Shell& shell, control::Which which) {
  control::Request request;
  request.mutable_get_config()->set_which(which);
  auto reply = shell.call(request);
  if (!reply) return reply.error();
  return std::move(*reply->mutable_config());
}

Result<config::Config> fetch(Shell& shell, control::Which which) {
  auto reply = fetch_with_checks(shell, which);
  if (!reply) return reply.error();
  return std::move(*reply->mutable_config());
}

}  // namespace headgate::cli
