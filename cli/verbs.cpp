// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli/handlers.h"
#include "cli/screens.h"
#include "cli/shell.h"
#include "cli/version.h"
#include "model/config_text.h"
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

void tell_applied(Shell& shell, const control::Applied& applied, std::uint64_t ended) {
  if (applied.nothing_to_do()) return shell.print("There are no pending changes to apply.\n");
  if (ended > 0) shell.print(fmt::format("{} ended.\n", sessions(ended)));
  if (applied.dataplane_absent())
    shell.print("The dataplane is not connected; it gets the configuration when it is back.\n");
  shell.print("Apply complete; don't forget to \"save\" updated configuration.\n");
}

/// Whether what runs is not what a restart of the machine loads; false when that can't be told.
bool unsaved(Shell& shell) {
  if (shell.level() < config::SLBADMIN) return false;
  const auto running = fetch(shell, control::RUNNING);
  const auto saved = fetch(shell, control::SAVED);
  return running && saved && text::dump(*running) != text::dump(*saved);
}

/// Shows what `revert apply` undoes and asks; false when there is nothing to do, or it is not wanted.
Result<bool> revert_wanted(Shell& shell) {
  const auto text = diff(shell, true);
  if (!text) return text.error();
  if (text->empty()) {
    shell.print("Nothing differs from the saved configuration.\n");
    return false;
  }
  shell.print("These changes since the last save will be undone:\n");
  shell.report(*text);
  if (shell.confirmed("Return to the saved configuration; confirm [y/n]: ")) return true;
  shell.print("Nothing is reverted.\n");
  return false;
}

/// The settings that had changed, as `lines` and `verbose` answer.
std::string changed(std::string_view what, unsigned old, unsigned now) {
  const std::string label = fmt::format("New {}:", what);
  return fmt::format("Current {}: {}\n{:<{}} {}\n", what, old, label, what.size() + 9, now);
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
  auto applied = apply(shell, false);
  std::uint64_t ended = 0;
  if (applied && applied->needs_confirmation()) {
    ended = applied->sessions_ended();
    const std::string question = fmt::format("{} will be ended; confirm [y/n]: ", sessions(ended));
    if (shell.console().interactive() && !shell.confirmed(question)) {
      shell.print("Not applied; the changes are still pending.\n");
      return Done{};
    }
    applied = apply(shell, true);
  }
  if (!applied) return applied.error();
  shell.set_settled();
  tell_applied(shell, *applied, ended);
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
  if (!values.empty() && shell.console().interactive()) {
    const auto wanted = revert_wanted(shell);
    if (!wanted) return wanted.error();
    if (!*wanted) return Done{};
  }
  control::Request request;
  request.mutable_revert()->set_applied_too(!values.empty());
  const auto reply = shell.call(request);
  if (!reply) return reply.error();
  shell.set_settled();
  if (shell.console().interactive()) shell.refresh_prompt();
  shell.print(values.empty() ? "The pending changes are dropped.\n"
                             : "The saved configuration runs; all changes since the last save are undone.\n");
  return Done{};
}

Status do_exit(Shell& shell, const Values&) {
  if (shell.console().interactive() && shell.pending() &&
      !shell.confirmed("Pending changes are not applied; leave and drop them [y/n]: "))
    return Done{};
  if (shell.console().interactive() && unsaved(shell))
    shell.print(
        "Note: the running configuration is not saved; \"save\" keeps it over a restart of the machine.\n");
  shell.leave();
  return Done{};
}

Status do_help(Shell& shell, const Values& values) {
  const auto shown = explain(shell.place(), values.empty() ? "" : values[0], shell.level());
  if (!shown) return shown.error();
  std::string global = *shown;
  for (const Command& command : global_commands())
    if (values.empty() && command.level <= shell.level())
      global += fmt::format("     {:<8} - {}\n", command.word, command.help);
  shell.print(global);
  return Done{};
}

Status do_question(Shell& shell, const Values& values) {
  if (!values.empty()) return do_help(shell, values);
  shell.print(help(shell.place(), "", shell.level()));
  return Done{};
}

void greet(Shell& shell) {
  shell.print(fmt::format("Headgate {}\n\n{}", kVersion, listing(shell.place(), shell.level())));
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
  const unsigned old = shell.lines();
  if (!values.empty()) shell.set_lines(static_cast<unsigned>(std::stoul(values[0])));
  shell.print(values.empty() ? fmt::format("Current lines of a page: {}\n", old)
                             : changed("lines of a page", old, shell.lines()));
  return Done{};
}

Status do_verbose(Shell& shell, const Values& values) {
  const unsigned old = shell.verbosity();
  if (!values.empty()) shell.set_verbosity(static_cast<unsigned>(std::stoul(values[0])));
  shell.print(values.empty() ? fmt::format("Current verbosity: {}\n", old)
                             : changed("verbosity", old, shell.verbosity()));
  return Done{};
}

Status do_cur(Shell& shell, const Values&) {
  const auto running = fetch_with_checks(shell, control::RUNNING);
  if (!running) return running.error();
  const auto pending = fetch_with_checks(shell, control::PENDING);
  if (!pending) return pending.error();
  const schema::Menu& menu = *shell.place().menu().config;
  const std::vector<std::string> keys = shell.place().keys();
  const std::string title = schema::name_of(menu, keys);
  const auto digest = [&](const control::ConfigReply& reply, std::string_view which) {
    const auto* message = message_at(shell.place(), reply.config());
    if (message == nullptr) return title + " does not exist.\n";
    return settings(*message, menu, title, which) + checks_in_use(reply, *message, keys);
  };
  const std::string now = digest(*running, "Current");
  const bool same = now == digest(*pending, "Current");
  shell.report(same ? now : now + "\n" + digest(*pending, "Pending"));
  return Done{};
}

Status do_dump(Shell& shell, const Values&) {
  const auto running = fetch(shell, control::RUNNING);
  if (!running) return running.error();
  shell.print(dump_script(*running, std::time(nullptr), kVersion));
  return Done{};
}

}  // namespace headgate::cli
