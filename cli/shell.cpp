// SPDX-License-Identifier: Apache-2.0
#include "cli/shell.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "model/line.h"

namespace headgate::cli {
namespace {

constexpr std::size_t kHistory = 10;
/// Settings that are sent together at most: a moment's work for headgated, far below the longest request.
constexpr std::size_t kMostWaiting = 1000;

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

Error refusal(const control::Reply& reply) {
  return {line::join({reply.error().begin(), reply.error().end()}, "\n")};
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
  ++line_;
  refused_ = false;
  const auto recalled = recall(text);
  if (!recalled) {
    fail(recalled.error());
    return false;
  }
  history_.push_back(*recalled);
  if (history_.size() > kHistory) history_.pop_front();
  show_menu_ = false;
  if (const auto told = explained(*recalled)) return *told;
  before_ = place_;
  abandoned_ = false;
  const auto line = line::split(*recalled);
  const Status done = line ? run(*line) : Status(line.error());
  if (!done) fail(done.error());
  show_menu_ = show_menu_ && done.ok() && !abandoned_;
  // Somebody at the prompt types the line again from where it was. In a script the lines that follow were
  // meant for the menu that could not be entered; they must not change another one's settings.
  if ((!done && console_.interactive()) || abandoned_) place_ = before_;
  if (show_menu_ && console_.interactive() && verbosity_ == 2) print(listing(place_, level_));
  return done.ok() && !refused_;
}

/// A line of "?" or `help` and what to explain, which is never executed: "? apply", "help /cfg/slb/real
/// 1/weight". Nothing when the line is another; else whether there was something to explain.
std::optional<bool> Shell::explained(std::string_view text) {
  const bool question = text.starts_with('?');
  const std::size_t length = question ? 1 : text.find_first_of(" \t");
  const std::string_view word = text.substr(0, length);
  if (!question && word != "help" && word != "hel") return std::nullopt;
  text.remove_prefix(std::min(word.size(), text.size()));
  if (text.find_first_not_of(" \t") == std::string_view::npos) return std::nullopt;
  const auto shown = explain(place_, text, level_);
  if (shown)
    print(*shown);
  else
    fail(shown.error());
  return shown.ok();
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

/// The error of the line in hand; what was refused of earlier lines, or earlier in this one, comes first.
void Shell::fail(const Error& error) {
  const Status before = flush();
  print_errors(before.ok() ? error : before.error());
}

void Shell::print_errors(const Error& error) {
  std::string_view rest = error.message;
  while (!rest.empty()) console_.error(line::take_line(rest));
}

Status Shell::run(const line::Line& line) {
  if (auto done = settle(line.absolute); !done) return done;
  if (line.absolute) {
    place_ = {};
    show_menu_ = line.steps.empty();
  }
  for (const auto& step : line.steps) {
    if (abandoned_) break;
    if (auto done = this->step(step); !done) return done;
  }
  return Done{};
}

Status Shell::step(const line::Step& step) {
  const std::string word = step.empty() || step[0].quoted ? "" : step[0].text;
  if (auto done = settle(false); !done) return done;
  const auto command = match(place_.menu(), word, level_);
  if (!command) return command.error();
  // Where the session stands must not depend on a setting of this line that may yet be refused.
  const bool unsure = !waiting_.empty() && waiting_.back().line == line_;
  if (unsure && (*command)->setting == nullptr)
    if (auto done = flush(); !done) return done;
  show_menu_ = (*command)->menu != nullptr;
  if ((*command)->menu != nullptr) return enter(**command, step);
  if ((*command)->setting != nullptr) return change_setting(*this, *(*command)->setting, step);
  return handle(**command, step);
}

namespace {

/// Sets what may be typed right behind the key of a menu; null where nothing may.
const schema::Command* behind_key(const Menu& menu) {
  if (menu.config == nullptr || menu.config->behind_key() == nullptr) return nullptr;
  return &*std::ranges::find(menu.config->commands, menu.config->behind_key(), &schema::Command::entry);
}

}  // namespace

Status Shell::enter(const Command& command, const line::Step& step) {
  const Menu& menu = *command.menu;
  std::string key;
  std::size_t used = 1;
  if (menu.key != nullptr) {
    const char* what = menu.key->kind == config::SERVICE ? " port"
                       : menu.key->kind == config::NAME  ? " name"
                                                         : " number";
    const Argument number{menu.key, menu.object + what};
    auto value = argument(number, step, 1);
    if (!value) return value.error();
    if (abandoned_) return Done{};
    key = *value;
    // Later releases name the application after the port of a service.
    const bool named =
        menu.key->kind == config::SERVICE && step.size() == 3 && schema::names_application(step[2].text);
    used = named ? 3 : 2;
  }
  const schema::Command* behind = step.size() == used + 1 ? behind_key(menu) : nullptr;
  if (step.size() > used && behind == nullptr) return unexpected(step[used], command.word);
  place_ = entered(place_, menu, key);
  return behind != nullptr ? change_setting(*this, *behind, {step[0], step[used]}) : Status(Done{});
}

Status Shell::handle(const Command& command, const line::Step& step) {
  Values values;
  for (std::size_t i = 0; i < command.arguments.size(); ++i) {
    if (i + 1 >= step.size() && command.arguments[i].optional) break;
    auto value = argument(command.arguments[i], step, i + 1);
    if (!value) return value.error();
    if (abandoned_) return Done{};
    values.push_back(std::move(*value));
  }
  if (step.size() > command.arguments.size() + 1)
    return unexpected(step[command.arguments.size() + 1], command.word);
  return command.handler(*this, values);
}

/// The argument of a step, asked for when it is missing; an empty answer abandons the line.
Result<std::string> Shell::argument(const Argument& argument, const line::Step& step, std::size_t index) {
  if (index < step.size()) return checked(argument, step[index]);
  const std::string allowed =
      argument.entry != nullptr ? schema::allowed(*argument.entry) : line::join(argument.words, " or ");
  const auto answer = console_.ask(fmt::format("Enter {} ({}): ", argument.label, allowed));
  if (!answer && !console_.interactive())
    return Error{fmt::format("{} is missing, allowed is {}", argument.label, allowed)};
  if (!answer || answer->empty()) {
    abandon();
    return std::string();
  }
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

Status Shell::edit(std::string line) {
  waiting_.push_back({std::move(line), line_});
  return console_.interactive() || waiting_.size() >= kMostWaiting ? flush() : Status(Done{});
}

Status Shell::erase(std::string line) {
  if (auto done = edit(std::move(line)); !done) return done;
  erased_ = true;
  return waiting_.empty() ? settle(false) : Status(Done{});
}

/// Leaves the menu of an object that was removed, once that is certain.
Status Shell::settle(bool absolute) {
  if (absolute) erased_ = false;
  if (!erased_) return Done{};
  if (auto done = flush(); !done) return done;
  if (std::exchange(erased_, false)) {
    place_.stops.pop_back();
    before_ = place_;  // what follows may fail, but the object is gone
  }
  return Done{};
}

Status Shell::flush() {
  Status mine = Done{};
  while (!waiting_.empty()) {
    control::Request request;
    for (const Setting& setting : waiting_) *request.mutable_edit()->mutable_lines() += setting.text + "\n";
    const auto reply = client_.call(request);
    if (!reply) {
      const std::string lost =
          fmt::format("{}; {} settings were not made", reply.error().message, waiting_.size());
      const bool one = waiting_.size() == 1;
      waiting_.clear();
      erased_ = false;
      return Error{one ? reply.error().message : lost};
    }
    pending_ = reply->edited().pending();
    if (reply->error().empty())
      waiting_.clear();
    else if (auto done = drop_refused(reply->edited().lines(), refusal(*reply)); !done)
      mine = done;
  }
  return mine;
}

bool Shell::finish() {
  const Status done = flush();
  if (!done) print_errors(done.error());
  refused_ = refused_ || !done;
  return !refused_;
}

/// After a refusal: what was taken, the one refused, and those after it on the same line are done with.
Status Shell::drop_refused(std::size_t taken, const Error& error) {
  const std::size_t refused = waiting_[std::min(taken, waiting_.size() - 1)].line;
  if (waiting_.back().line == refused) erased_ = false;
  waiting_.erase(waiting_.begin(),
                 waiting_.begin() + static_cast<std::ptrdiff_t>(std::min(taken, waiting_.size())));
  while (!waiting_.empty() && waiting_.front().line == refused) waiting_.pop_front();
  if (refused == line_) return error;
  refused_ = true;
  print_errors(error);
  return Done{};
}

Result<control::Reply> Shell::call(const control::Request& request) {
  if (auto done = flush(); !done) return done.error();
  auto reply = client_.call(request);
  if (!reply || reply->error().empty()) return reply;
  return refusal(*reply);
}

void Shell::print(std::string_view text) {
  finish();  // what was refused before is told before
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
