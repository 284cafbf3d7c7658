// SPDX-License-Identifier: Apache-2.0
#include "cli/shell.h"

#include <charconv>

#include <fmt/format.h>

#include "model/line.h"

namespace headgate::cli {
namespace {

constexpr std::size_t kHistory = 10;

Error unexpected(const line::Token& token, std::string_view after) {
  return {fmt::format("unexpected \"{}\" after {}", line::shown(token.text), after)};
}

/// One of the words, by a unique prefix.
Result<std::string> keyword(const Argument& argument, const std::string& typed) {
  if (argument.words.empty()) return typed;
  std::vector<std::string> found;
  for (const auto& word : argument.words)
    if (!typed.empty() && word.starts_with(typed)) found.push_back(word);
  if (found.size() == 1) return found[0];
  return Error{fmt::format("{}: {} is not allowed, allowed is {}", argument.label, line::shown(typed),
                           line::join(argument.words, " or "))};
}

Result<std::string> checked(const Argument& argument, const line::Token& token) {
  if (argument.entry == nullptr) return keyword(argument, token.text);
  return schema::check(*argument.entry, token, argument.label);
}

}  // namespace

Shell::Shell(Client& client, Console& console, const control::Opened& opened)
    : client_(client),
      console_(console),
      level_(config::Level_IsValid(static_cast<int>(opened.level()))
                 ? static_cast<config::Level>(opened.level())
                 : config::USER),
      pending_(opened.pending()) {
  console_.set_page(lines_);
}

bool Shell::execute(std::string_view text) {
  if (line::skipped(text)) return true;
  const auto recalled = recall(text);
  if (!recalled) {
    fail(recalled.error());
    return false;
  }
  history_.push_back(*recalled);
  if (history_.size() > kHistory) history_.pop_front();
  const auto line = line::split(*recalled);
  show_menu_ = false;
  const Status done = line ? run(*line) : Status(line.error());
  if (!done) fail(done.error());
  if (show_menu_ && console_.interactive() && verbosity_ == 2) print(listing(place_, level_));
  return done.ok();
}

/// "!!" and "!3" stand for earlier lines.
Result<std::string> Shell::recall(std::string_view text) const {
  const auto start = text.find_first_not_of(" \t");
  const auto end = text.find_last_not_of(" \t\r");
  const std::string line(text.substr(start, end - start + 1));
  if (line.front() != '!') return line;
  std::size_t number = history_.size();
  if (line != "!!") {
    const char* last = line.data() + line.size();
    const auto [stop, error] = std::from_chars(line.data() + 1, last, number);
    if (error != std::errc{} || stop != last) number = 0;
  }
  if (number < 1 || number > history_.size())
    return Error{fmt::format("no line {} in the history", line::shown(line))};
  return history_[number - 1];
}

/// The errors of a line, one a line.
void Shell::fail(const Error& error) {
  std::string_view rest = error.message;
  while (!rest.empty()) {
    const auto end = rest.find('\n');
    console_.error(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
}

Status Shell::run(const line::Line& line) {
  if (line.absolute) {
    place_ = {};
    show_menu_ = line.steps.empty();
  }
  for (const auto& step : line.steps)
    if (auto done = this->step(step); !done) return done;
  return Done{};
}

Status Shell::step(const line::Step& step) {
  const std::string word = step.empty() || step[0].quoted ? "" : step[0].text;
  const auto command = match(place_.menu(), word, level_);
  if (!command) return command.error();
  show_menu_ = (*command)->menu != nullptr;
  if ((*command)->menu != nullptr) return enter(**command, step);
  if ((*command)->setting != nullptr) return change_setting(*this, *(*command)->setting, step);
  return handle(**command, step);
}

Status Shell::enter(const Command& command, const line::Step& step) {
  const Menu& menu = *command.menu;
  std::string key;
  std::size_t used = 1;
  if (menu.key != nullptr) {
    const Argument number{menu.key, menu.object + (menu.key->kind == config::SERVICE ? " port" : " number")};
    auto value = argument(number, step, 1);
    if (!value) return value.error();
    key = *value;
    // Later releases name the application after the port of a service.
    const bool named =
        menu.key->kind == config::SERVICE && step.size() == 3 && schema::names_application(step[2].text);
    used = named ? 3 : 2;
  }
  if (step.size() > used) return unexpected(step[used], command.word);
  place_ = entered(place_, menu, key);
  return Done{};
}

Status Shell::handle(const Command& command, const line::Step& step) {
  Values values;
  for (std::size_t i = 0; i < command.arguments.size(); ++i) {
    if (i + 1 >= step.size() && command.arguments[i].optional) break;
    auto value = argument(command.arguments[i], step, i + 1);
    if (!value) return value.error();
    values.push_back(std::move(*value));
  }
  if (step.size() > command.arguments.size() + 1)
    return unexpected(step[command.arguments.size() + 1], command.word);
  return command.handler(*this, values);
}

/// The argument of a step, asked for when it is missing.
Result<std::string> Shell::argument(const Argument& argument, const line::Step& step, std::size_t index) {
  if (index < step.size()) return checked(argument, step[index]);
  const std::string allowed =
      argument.entry != nullptr ? schema::allowed(*argument.entry) : line::join(argument.words, " or ");
  const auto answer = console_.ask(fmt::format("Enter {} ({}): ", argument.label, allowed));
  if (!answer) return Error{fmt::format("{} is missing, allowed is {}", argument.label, allowed)};
  return checked(argument, {*answer});
}

std::string Shell::prompt() const {
  if (verbosity_ == 0) return "";
  return host_name_.empty() ? fmt::format(">> {}# ", place_.title())
                            : fmt::format(">> {} - {}# ", host_name_, place_.title());
}

void Shell::refresh_prompt() {
  const auto running = fetch(*this, control::RUNNING);
  host_name_ = running && running->sys().hprompt() ? running->sys().name() : "";
}

Result<control::Reply> Shell::call(const control::Request& request) {
  auto reply = client_.call(request);
  if (!reply || reply->error().empty()) return reply;
  return Error{line::join({reply->error().begin(), reply->error().end()}, "\n")};
}

void Shell::print(std::string_view text) {
  if (verbosity_ > 0) console_.print(text);
}

void Shell::report(std::string_view text) {
  print(std::string(66, '-') + "\n" + std::string(text));
}

bool Shell::confirmed(const std::string& question) {
  const auto answer = console_.ask(question);
  return answer && (*answer == "y" || *answer == "yes");
}

void Shell::set_lines(unsigned lines) {
  lines_ = lines;
  console_.set_page(lines);
}

}  // namespace headgate::cli
