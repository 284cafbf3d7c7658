// SPDX-License-Identifier: Apache-2.0
#include "model/config_text.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "model/field_access.h"
#include "model/line.h"
#include "model/schema.h"

namespace headgate::text {
namespace {

using google::protobuf::Message;
using schema::Command;
using schema::Entry;
using schema::Menu;
using schema::Verb;

/// The menus on the way from the root of /cfg, with the keys of the keyed ones.
struct Place {
  struct Stop {
    const Entry* entry = nullptr;
    std::string key;
  };
  std::vector<Stop> stops;

  [[nodiscard]] const Menu& menu() const {
    return stops.empty() ? schema::root() : *stops.back().entry->menu;
  }
  [[nodiscard]] std::string name() const {
    std::vector<std::string> keys;
    for (const Stop& stop : stops)
      if (stop.entry->keyed()) keys.push_back(stop.key);
    return schema::name_of(menu(), keys);
  }
};

Position position_of(const Place& place) {
  Position position;
  for (const auto& stop : place.stops)
    position.push_back(stop.entry->keyed() ? stop.entry->word + " " + stop.key : stop.entry->word);
  return position;
}

Place place_of(const Position& position) {
  Place place;
  for (const std::string& step : position) {
    const auto blank = step.find(' ');
    const Entry* entry = place.menu().find(step.substr(0, blank));
    if (entry == nullptr) return {};
    place.stops.push_back({entry, blank == std::string::npos ? "" : step.substr(blank + 1)});
  }
  return place;
}

/// Executes the steps of lines one after the other, each at once. What a step changes it checks whole before.
class Executor {
 public:
  Executor(Place place, config::Config& config) : place_(std::move(place)), config_(config) {}

  /// At an error the steps before it keep their effect.
  Status run(const line::Line& line);
  /// At an error nothing has changed. Costs a copy of the configuration for a line that changes more than one
  /// thing.
  Status run_whole(const line::Line& line);

  [[nodiscard]] const Place& place() const { return place_; }

 private:
  Status step(const line::Step& step);
  void remember();
  Status enter(const Command& command, const line::Step& step);
  Status change(const Command& command, const line::Step& step);
  Status set(const Entry& entry, const line::Step& step);
  Status change_list(const Command& command, const line::Step& step);
  Status change_steps(const Command& command, const line::Step& step);
  Status erase(const line::Step& step);
  Result<std::vector<std::string>> values(const Entry& entry, const line::Step& step) const;
  [[nodiscard]] std::string what(const Entry& entry) const;
  Message& object();
  Message* existing(std::size_t depth);
  void prune();

  Place place_;
  config::Config& config_;
  bool keep_undo_ = false;
  std::size_t steps_left_ = 0;
  std::optional<config::Config> undo_;
};

Error unexpected(const line::Token& token, std::string_view after) {
  return {fmt::format("unexpected \"{}\" after {}", line::shown(token.text), after)};
}

/// Takes "cfg" or an abbreviation of it from the front of an absolute line.
Status check_root(const line::Line& line) {
  const std::string word = line.steps[0].empty() ? "" : line.steps[0][0].text;
  if (word.empty() || !std::string_view("cfg").starts_with(word))
    return Error{fmt::format("unknown command \"{}\"", line::shown(word))};
  if (line.steps[0].size() > 1) return unexpected(line.steps[0][1], word);
  return Done{};
}

Status Executor::run(const line::Line& line) {
  if (line.absolute) place_.stops.clear();
  if (line.steps.empty()) return Done{};
  if (line.absolute)
    if (auto good = check_root(line); !good) return good;
  for (std::size_t i = line.absolute ? 1 : 0; i < line.steps.size(); ++i) {
    steps_left_ = line.steps.size() - i - 1;
    if (auto done = step(line.steps[i]); !done) return done;
  }
  return Done{};
}

Status Executor::run_whole(const line::Line& line) {
  keep_undo_ = true;
  auto done = run(line);
  if (!done && undo_) config_.Swap(&*undo_);
  return done;
}

Status Executor::step(const line::Step& step) {
  if (step.empty() || step[0].quoted)
    return Error{fmt::format("unknown command \"{}\"", step.empty() ? "" : line::shown(step[0].text))};
  const auto command = place_.menu().match(step[0].text);
  if (!command) return command.error();
  if (command->verb == Verb::enter) return enter(*command, step);
  remember();
  auto done = change(*command, step);
  prune();
  return done;
}

/// Before a change that is not the last of its line.
void Executor::remember() {
  if (keep_undo_ && steps_left_ > 0 && !undo_) undo_ = config_;
}

Status Executor::change(const Command& command, const line::Step& step) {
  switch (command.verb) {
    case Verb::on:
    case Verb::off:
      if (step.size() > 1) return unexpected(step[1], command.word);
      schema::set(object(), *command.entry, command.verb == Verb::on ? "on" : "off");
      return Done{};
    case Verb::add:
    case Verb::remove:
      return change_list(command, step);
    case Verb::append:
    case Verb::drop:
      return change_steps(command, step);
    case Verb::erase:
      return erase(step);
    default:
      return set(*command.entry, step);
  }
}

/// The place of the menu above one that an alias path reached past menus that it does not name.
Place above(const Menu& menu) {
  Place place;
  for (const Menu* m : schema::way_to(*menu.parent)) {
    const auto entry = std::ranges::find(m->parent->entries, m, &Entry::menu);
    place.stops.push_back({&*entry, ""});
  }
  return place;
}

Status Executor::enter(const Command& command, const line::Step& step) {
  const Menu& menu = *command.entry->menu;
  Place next = menu.parent == &place_.menu() ? place_ : above(menu);
  std::string key;
  std::size_t used = 1;
  if (menu.key != nullptr) {
    if (step.size() < 2)
      return Error{fmt::format("{} needs a {}, allowed is {}", menu.object,
                               menu.key->kind == config::NAME ? "name" : "number", allowed(*menu.key))};
    auto checked = schema::check(*menu.key, step[1], menu.object);
    if (!checked) return checked.error();
    key = *checked;
    used = menu.key->kind == config::SERVICE && step.size() == 3 && schema::names_application(step[2].text)
               ? 3
               : 2;
  }
  const Entry* behind = step.size() == used + 1 ? menu.behind_key() : nullptr;
  if (step.size() > used && behind == nullptr) return unexpected(step[used], command.word);
  next.stops.push_back({command.entry, key});
  place_ = std::move(next);
  if (behind == nullptr) return Done{};
  remember();
  return set(*behind, {step[0], step[used]});
}

/// What an error sentence calls a setting: "weight of real server 1".
std::string Executor::what(const Entry& entry) const {
  const bool list = entry.field->is_repeated();
  if (place_.menu().parent == nullptr) return entry.word;
  return fmt::format("{} of {}", list ? entry.label : entry.word, place_.name());
}

/// The checked arguments of a TUPLE, or the one of anything else.
Result<std::vector<std::string>> Executor::values(const Entry& entry, const line::Step& step) const {
  const bool tuple = entry.kind == config::TUPLE;
  const std::string name = what(entry);
  const std::size_t most = tuple ? entry.arguments.size() : 1;
  std::vector<std::string> checked;
  for (std::size_t i = 0; i < most; ++i) {
    const Entry& argument = tuple ? entry.arguments[i] : entry;
    const std::string inner = tuple ? fmt::format("{} of {}", argument.word, name) : name;
    if (i + 1 >= step.size()) {
      if (argument.trailing) break;
      return Error{missing(argument, inner)};
    }
    auto one = schema::check(argument, step[i + 1], inner);
    if (!one) return one.error();
    checked.push_back(std::move(*one));
  }
  if (step.size() > most + 1) return unexpected(step[most + 1], step[0].text);
  return checked;
}

Status Executor::set(const Entry& entry, const line::Step& step) {
  auto checked = values(entry, step);
  if (!checked) return checked.error();
  if (entry.kind == config::TUPLE)
    schema::set_tuple(object(), entry, *checked);
  else
    schema::set(object(), entry, checked->front());
  return Done{};
}

Status Executor::change_list(const Command& command, const line::Step& step) {
  line::Step named = step;
  named[0].text = command.word;
  auto checked = values(*command.entry, named);
  if (!checked) return checked.error();
  Message* message = existing(place_.stops.size());
  const auto missing = [&](std::string_view what) {
    return Error{fmt::format("{} has no {} {}", place_.name(), what, line::join(*checked, " "))};
  };
  const Entry* whole = place_.menu().list_of(*command.entry);
  if (whole != nullptr && (message == nullptr || !schema::contains(*message, *whole, *checked)))
    return missing(whole->label);
  if (command.verb == Verb::add) {
    schema::add(object(), *command.entry, *checked);
    return Done{};
  }
  const bool removed = message != nullptr && schema::remove(*message, *command.entry, *checked);
  // What is not disabled is enabled already.
  return removed || whole != nullptr ? Status(Done{}) : missing(command.entry->label);
}

Status Executor::change_steps(const Command& command, const line::Step& step) {
  const bool alone = command.verb == Verb::drop || command.step->kind == config::AUTOMATIC;
  if (alone && step.size() > 1) return unexpected(step[1], command.word);
  if (command.verb == Verb::drop) {
    Message* message = existing(place_.stops.size());
    if (message != nullptr && schema::drop_last(*message, *command.entry)) return Done{};
    return Error{fmt::format("{} has no {}", place_.name(), command.entry->label)};
  }
  if (alone) {
    schema::append(object(), *command.entry, *command.step, "");
    return Done{};
  }
  auto checked = values(*command.step, step);
  if (!checked) return checked.error();
  schema::append(object(), *command.entry, *command.step, checked->front());
  return Done{};
}

Status Executor::erase(const line::Step& step) {
  if (step.size() > 1) return unexpected(step[1], "del");
  const auto stop = place_.stops.back();
  Message* above = existing(place_.stops.size() - 1);
  if (above == nullptr || !schema::erase(*above, *stop.entry, stop.key))
    return Error{fmt::format("{} does not exist", place_.name())};
  place_.stops.pop_back();
  return Done{};
}

/// The message of the current menu, which comes into being now that it gets a setting.
Message& Executor::object() {
  Message* message = &config_;
  for (const auto& stop : place_.stops) message = &schema::find_or_add(*message, *stop.entry, stop.key);
  return *message;
}

/// The message of the first `depth` menus of the place; null when it does not exist.
Message* Executor::existing(std::size_t depth) {
  Message* message = &config_;
  for (std::size_t i = 0; i < depth && message != nullptr; ++i)
    message = schema::find(*message, *place_.stops[i].entry, place_.stops[i].key);
  return message;
}

/// Drops menus without a key on the way that hold nothing any more.
void Executor::prune() {
  for (std::size_t depth = place_.stops.size(); depth > 0; --depth) {
    const Entry& entry = *place_.stops[depth - 1].entry;
    if (entry.keyed()) continue;
    if (Message* above = existing(depth - 1)) schema::clear_if_empty(*above, entry);
  }
}

Error in_line(const Error& error, std::size_t number, std::string_view content) {
  const auto start = std::min(content.find_first_not_of(" \t"), content.size());
  return {fmt::format("line {} ({}): {}", number, line::shown(content.substr(start)), error.message)};
}

std::string_view next_line(std::string_view& text) {
  const auto end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace

Status apply_line(std::string_view text, Position& position, config::Config& config) {
  if (line::skipped(text)) return Done{};
  const auto split = line::split(text);
  if (!split) return split.error();
  Executor executor(place_of(position), config);
  if (auto done = executor.run_whole(*split); !done) return done;
  position = position_of(executor.place());
  return Done{};
}

Status load(std::string_view text, config::Config& config) {
  config::Config changed = config;
  Executor executor({}, changed);
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view content = next_line(text);
    if (line::skipped(content)) continue;
    const auto split = line::split(content);
    if (!split) return in_line(split.error(), number, content);
    if (auto done = executor.run(*split); !done) return in_line(done.error(), number, content);
  }
  normalise(changed);
  config = std::move(changed);
  return Done{};
}

void normalise(config::Config& config) {
  schema::normalise(config, schema::root());
}

}  // namespace headgate::text
