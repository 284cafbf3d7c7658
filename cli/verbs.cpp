// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli/handlers.h"
#include "cli/screens.h"
#include "cli/shell.h"
#include "cli/version.h"
#include "model/field_access.h"

namespace headgate::cli {
namespace {

Result<std::string> diff(Shell& shell, bool flash) {
  control::Request request;
  request.mutable_diff()->set_flash(flash);
  auto reply = shell.call(request);
  if (!reply) return reply.error();
  return reply->text().text();
}

Result<control::Applied> apply(Shell& shell, bool confirmed) {
  control::Request request;
  request.mutable_apply()->set_confirmed(confirmed);
  auto reply = shell.call(request);
  if (!reply) return reply.error();
  return reply->applied();
}

std::string sessions(std::uint64_t count) {
  return fmt::format("{} session{}", count, count == 1 ? "" : "s");
}

void tell_applied(Shell& shell, const control::Applied& applied) {
  if (applied.nothing_to_do()) return shell.print("There are no pending changes to apply.\n");
  if (applied.sessions_ended() > 0)
    shell.print(fmt::format("{} will be reset.\n", sessions(applied.sessions_ended())));
  if (applied.dataplane_absent())
    shell.print("The dataplane is not connected; it gets the configuration when it is back.\n");
  shell.print("Apply complete; don't forget to \"save\" updated configuration.\n");
}

}  // namespace

Status do_diff(Shell& shell, const Values& values) {
  const auto text = diff(shell, !values.empty());
  if (!text) return text.error();
  if (text->empty())
    shell.print(values.empty() ? "There are no pending changes.\n"
                               : "Nothing differs from the saved configuration.\n");
  else
    shell.report(*text);
  return Done{};
}

Status do_apply(Shell& shell, const Values&) {
  auto applied = apply(shell, !shell.console().interactive());
  if (applied && applied->needs_confirmation()) {
    const std::string question =
        fmt::format("{} will be reset; confirm [y/n]: ", sessions(applied->sessions_ended()));
    if (!shell.confirmed(question)) {
      shell.print("Not applied; the changes are still pending.\n");
      return Done{};
    }
    applied = apply(shell, true);
  }
  if (!applied) return applied.error();
  shell.set_settled();
  tell_applied(shell, *applied);
  if (shell.console().interactive()) shell.refresh_prompt();
  return Done{};
}

Status do_save(Shell& shell, const Values& values) {
  if (shell.console().interactive() && shell.pending() &&
      !shell.confirmed(
          "Pending changes are not applied, so they are not saved; save the running configuration [y/n]: ")) {
    shell.print("Not saved.\n");
    return Done{};
  }
  control::Request request;
  request.mutable_save()->set_keep_backup(!values.empty());
  const auto reply = shell.call(request);
  if (!reply) return reply.error();
  shell.print("The running configuration is saved.\n");
  return Done{};
}

Status do_revert(Shell& shell, const Values& values) {
  control::Request request;
  request.mutable_revert()->set_applied_too(!values.empty());
  const auto reply = shell.call(request);
  if (!reply) return reply.error();
  shell.set_settled();
  if (shell.console().interactive()) shell.refresh_prompt();
  shell.print(values.empty() ? "The pending changes are dropped.\n"
                             : "Back to the saved configuration, as far as it was saved.\n");
  return Done{};
}

Status do_exit(Shell& shell, const Values&) {
  if (shell.console().interactive() && shell.pending() &&
      !shell.confirmed("Pending changes are not applied; leave and drop them [y/n]: "))
    return Done{};
  shell.leave();
  return Done{};
}

Status do_help(Shell& shell, const Values& values) {
  const std::string text = help(shell.place(), values.empty() ? "" : values[0] + " ", shell.level());
  if (!values.empty()) {
    const auto command = match(shell.place().menu(), values[0], shell.level());
    if (!command) return command.error();
    shell.print(fmt::format("     {:<8} - {}\n{}", (*command)->word, (*command)->help, text));
    return Done{};
  }
  std::string global = text;
  for (const Command& command : global_commands())
    if (command.level <= shell.level())
      global += fmt::format("     {:<8} - {}\n", command.word, command.help);
  shell.print(global);
  return Done{};
}

Status do_print(Shell& shell, const Values&) {
  shell.print(listing(shell.place(), shell.level()));
  return Done{};
}

Status do_up(Shell& shell, const Values&) {
  Place place = shell.place();
  if (!place.stops.empty()) place.stops.pop_back();
  shell.move(std::move(place));
  return Done{};
}

Status do_pwd(Shell& shell, const Values&) {
  shell.print(shell.place().path() + "\n");
  return Done{};
}

Status do_history(Shell& shell, const Values&) {
  std::string text;
  int number = 1;
  for (const auto& line : shell.history()) text += fmt::format("{:>4} {}\n", number++, line);
  shell.print(text);
  return Done{};
}

Status do_lines(Shell& shell, const Values& values) {
  if (!values.empty()) shell.set_lines(static_cast<unsigned>(std::stoul(values[0])));
  shell.print(fmt::format("Current lines of a page: {}\n", shell.lines()));
  return Done{};
}

Status do_verbose(Shell& shell, const Values& values) {
  if (!values.empty()) shell.set_verbosity(static_cast<unsigned>(std::stoul(values[0])));
  shell.print(fmt::format("Current verbosity: {}\n", shell.verbosity()));
  return Done{};
}

Status do_cur(Shell& shell, const Values&) {
  const auto running = fetch(shell, control::RUNNING);
  if (!running) return running.error();
  const auto pending = fetch(shell, control::PENDING);
  if (!pending) return pending.error();
  const schema::Menu& menu = *shell.place().menu().config;
  const std::string title = schema::name_of(menu, shell.place().keys());
  const auto digest = [&](const config::Config& config) {
    const auto* message = message_at(shell.place(), config);
    return message == nullptr ? title + " does not exist.\n" : settings(*message, menu, title);
  };
  const std::string now = digest(*running);
  const std::string next = digest(*pending);
  shell.report(now == next ? now : now + "\nPending:\n" + next);
  return Done{};
}

Status do_dump(Shell& shell, const Values&) {
  const auto running = fetch(shell, control::RUNNING);
  if (!running) return running.error();
  shell.print(dump_script(*running, std::time(nullptr), kVersion));
  return Done{};
}

}  // namespace headgate::cli
