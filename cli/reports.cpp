// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "cli/handlers.h"
#include "cli/screens.h"
#include "cli/shell.h"
#include "cli/version.h"
#include "model/config_text.h"
#include "model/ip.h"
#include "model/ports.h"

namespace headgate::cli {
namespace {

constexpr std::uint32_t kLogLines = 64;
constexpr std::uint32_t kWholeLog = 100000;  // more than headgated keeps

std::uint32_t number(const std::string& canonical) {
  const auto port = port_of(canonical);
  return port ? *port : static_cast<std::uint32_t>(std::stoul(canonical));
}

Result<control::StatusReply> status(Shell& shell, const control::GetStatus& what = {}) {
  control::Request request;
  *request.mutable_status() = what;
  auto reply = shell.call(request);
  if (!reply) return reply.error();
  return std::move(*reply->mutable_status());
}

Result<control::StatsReply> stats(Shell& shell) {
  control::Request request;
  request.mutable_stats();
  auto reply = shell.call(request);
  if (!reply) return reply.error();
  return std::move(*reply->mutable_stats());
}

Result<control::LogReply> log_of(Shell& shell, std::uint32_t lines) {
  control::Request request;
  request.mutable_log()->set_lines(lines);
  auto reply = shell.call(request);
  if (!reply) return reply.error();
  return std::move(*reply->mutable_log());
}

Status show(Shell& shell, const Result<std::string>& screen) {
  if (!screen) return screen.error();
  shell.report(*screen);
  return Done{};
}

/// Fetches the state and shows a screen of it.
template <class Screen>
Status show_status(Shell& shell, Screen screen) {
  const auto reply = status(shell);
  return reply ? show(shell, screen(*reply)) : Status(reply.error());
}

template <class Screen>
Status show_stats(Shell& shell, Screen screen) {
  const auto reply = stats(shell);
  return reply ? show(shell, screen(*reply)) : Status(reply.error());
}

/// Fetches state and counters and shows a screen of both.
template <class Screen>
Status show_both(Shell& shell, Screen screen) {
  const auto state = status(shell);
  if (!state) return state.error();
  return show_stats(shell, [&](const control::StatsReply& counters) { return screen(*state, counters); });
}

Status show_sessions(Shell& shell, const forwarding::SessionFilter& filter) {
  control::Request request;
  *request.mutable_sessions()->mutable_filter() = filter;
  const auto reply = shell.call(request);
  if (!reply) return reply.error();
  shell.report(session_list(reply->sessions()));
  return Done{};
}

Result<std::string> group_screen(const control::StatusReply& state, const control::StatsReply& counters,
                                 std::uint32_t wanted) {
  const auto found = std::ranges::find(state.group(), wanted, &control::GroupStatus::number);
  if (found != state.group().end()) return group_stats(counters, *found);
  return Error{fmt::format("real server group {} does not exist in the running configuration", wanted)};
}

Result<std::string> virt_screen(const control::StatusReply& state, const control::StatsReply& counters,
                                std::uint32_t wanted) {
  const auto found = std::ranges::find(state.virt(), wanted, &control::VirtStatus::number);
  if (found != state.virt().end()) return virt_stats(counters, state, *found);
  return Error{fmt::format("virtual server {} does not exist in the running configuration", wanted)};
}

Result<std::string> real_screen(const control::StatusReply& state, const control::StatsReply& counters,
                                std::uint32_t wanted) {
  const auto found = std::ranges::find(state.real(), wanted, &control::RealStatus::number);
  if (found != state.real().end()) return real_stats(counters, wanted);
  return Error{fmt::format("real server {} does not exist in the running configuration", wanted)};
}

std::string all_stats(const control::StatusReply& state, const control::StatsReply& counters) {
  std::string text = maint_stats(counters);
  for (const auto& real : state.real()) text += "\n" + real_stats(counters, real.number());
  for (const auto& group : state.group()) text += "\n" + group_stats(counters, group);
  for (const auto& virt : state.virt()) text += "\n" + virt_stats(counters, state, virt);
  return text;
}

Status operate(Shell& shell, std::uint32_t real, forwarding::Operation operation) {
  control::Request request;
  request.mutable_operation()->set_real(real);
  request.mutable_operation()->set_operation(operation);
  const auto reply = shell.call(request);
  if (!reply) return reply.error();
  const char* what = operation == forwarding::ENABLED ? "takes new sessions" : "takes no new sessions";
  shell.print(
      fmt::format("Real server {} {}.\n", real,
                  operation == forwarding::DRAIN_PERSISTENT ? "takes persistent sessions only" : what));
  if (reply->has_text()) shell.print(fmt::format("Note: {}.\n", reply->text().text()));
  return Done{};
}

}  // namespace

Status info_slb_dump(Shell& shell, const Values&) {
  return show_status(shell, slb_state);
}

Status info_slb_real(Shell& shell, const Values& values) {
  return show_status(shell, [&](const auto& reply) { return real_state(reply, number(values[0])); });
}

Status info_slb_health(Shell& shell, const Values& values) {
  control::GetStatus what;
  what.set_changes_of(number(values[0]));
  const auto reply = status(shell, what);
  return reply ? show(shell, health_state(*reply, what.changes_of())) : Status(reply.error());
}

Status info_slb_virt(Shell& shell, const Values& values) {
  return show_status(shell, [&](const auto& reply) { return virt_state(reply, number(values[0])); });
}

Status info_slb_group(Shell& shell, const Values& values) {
  return show_status(shell, [&](const auto& reply) { return group_state(reply, number(values[0])); });
}

Status info_sessions_dump(Shell& shell, const Values&) {
  return show_sessions(shell, {});
}

Status info_sessions_cip(Shell& shell, const Values& values) {
  forwarding::SessionFilter filter;
  filter.set_client(Ip::parse(values[0])->wire());
  return show_sessions(shell, filter);
}

Status info_sessions_cport(Shell& shell, const Values& values) {
  forwarding::SessionFilter filter;
  filter.set_client_port(number(values[0]));
  return show_sessions(shell, filter);
}

Status info_sessions_dip(Shell& shell, const Values& values) {
  forwarding::SessionFilter filter;
  filter.set_vip(Ip::parse(values[0])->wire());
  return show_sessions(shell, filter);
}

Status info_sessions_dport(Shell& shell, const Values& values) {
  forwarding::SessionFilter filter;
  filter.set_vport(number(values[0]));
  return show_sessions(shell, filter);
}

Status info_sessions_real(Shell& shell, const Values& values) {
  forwarding::SessionFilter filter;
  filter.set_real(number(values[0]));
  return show_sessions(shell, filter);
}

Status info_sessions_port(Shell& shell, const Values& values) {
  forwarding::SessionFilter filter;
  filter.set_port(number(values[0]));
  return show_sessions(shell, filter);
}

Status info_sessions_virt(Shell& shell, const Values& values) {
  forwarding::SessionFilter filter;
  filter.set_virt(number(values[0]));
  return show_sessions(shell, filter);
}

Status info_log(Shell& shell, const Values&) {
  const auto log = log_of(shell, kLogLines);
  if (!log) return log.error();
  shell.report(log_lines(*log));
  return Done{};
}

Status info_general(Shell& shell, const Values&) {
  const auto running = fetch(shell, control::RUNNING);
  if (!running) return running.error();
  const auto saved = fetch(shell, control::SAVED);
  if (!saved) return saved.error();
  const bool same = text::dump(*running) == text::dump(*saved);
  const auto log = log_of(shell, kWholeLog);
  if (!log) return log.error();
  const General facts{std::time(nullptr), kVersion, running->sys().name(), same, started(*log)};
  return show_status(shell, [&](const auto& reply) { return general(facts, reply); });
}

Status info_link(Shell& shell, const Values&) {
  return show_stats(shell, link_state);
}

Status stats_real(Shell& shell, const Values& values) {
  return show_both(shell, [&](const auto& state, const auto& counters) {
    return real_screen(state, counters, number(values[0]));
  });
}

Status stats_group(Shell& shell, const Values& values) {
  return show_both(shell, [&](const auto& state, const auto& counters) {
    return group_screen(state, counters, number(values[0]));
  });
}

Status stats_virt(Shell& shell, const Values& values) {
  return show_both(shell, [&](const auto& state, const auto& counters) {
    return virt_screen(state, counters, number(values[0]));
  });
}

Status stats_maint(Shell& shell, const Values&) {
  return show_stats(shell, maint_stats);
}

Status stats_dump(Shell& shell, const Values&) {
  return show_both(shell, all_stats);
}

Status stats_clear(Shell& shell, const Values&) {
  control::Request request;
  request.mutable_restart_stats();
  const auto reply = shell.call(request);
  if (!reply) return reply.error();
  shell.print("The counters are set to zero.\n");
  return Done{};
}

Status stats_port_if(Shell& shell, const Values&) {
  const std::uint32_t port = number(shell.place().keys().back());
  return show_stats(shell, [&](const auto& reply) { return port_stats(reply, port); });
}

Status oper_enable(Shell& shell, const Values& values) {
  return operate(shell, number(values[0]), forwarding::ENABLED);
}

Status oper_disable(Shell& shell, const Values& values) {
  const bool persistent = values.size() > 1 && values[1] == "p";
  return operate(shell, number(values[0]), persistent ? forwarding::DRAIN_PERSISTENT : forwarding::DRAIN);
}

Status oper_clear(Shell& shell, const Values& values) {
  if (values.size() == 1) return Error{"real server number is missing after clear real"};
  const std::string whose = values.empty() ? "All sessions" : "All sessions of real server " + values[1];
  if (shell.console().interactive() && !shell.confirmed(whose + " will be ended; confirm [y/n]: ")) {
    shell.print("Nothing is cleared.\n");
    return Done{};
  }
  control::Request request;
  auto& filter = *request.mutable_drop_sessions()->mutable_filter();
  if (!values.empty()) filter.set_real(number(values[1]));
  const auto reply = shell.call(request);
  if (!reply) return reply.error();
  const std::uint64_t cleared = reply->cleared().sessions();
  const std::uint64_t bound = reply->cleared().bound_clients();
  shell.print(fmt::format("{} session{} cleared.\n", cleared, cleared == 1 ? " is" : "s are"));
  if (bound > 0)
    shell.print(fmt::format("{} client{} free to be bound to another server.\n", bound,
                            bound == 1 ? " is" : "s are"));
  return Done{};
}

Status oper_cur(Shell& shell, const Values&) {
  const auto counters = stats(shell);
  return show_status(shell,
                     [&](const auto& reply) { return operation(reply, counters ? &*counters : nullptr); });
}

}  // namespace headgate::cli
