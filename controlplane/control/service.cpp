// SPDX-License-Identifier: Apache-2.0
#include "controlplane/control/service.h"

#include <sys/random.h>

#include <ctime>

#include <fmt/format.h>

#include "controlplane/config/secrets.h"
#include "controlplane/control/checks_in_use.h"
#include "controlplane/control/status.h"
#include "model/config_text.h"
#include "model/line.h"

namespace headgate::control {
namespace {

constexpr std::uint32_t kLogLines = 64;  // reference 1.1: what /info/sys/log shows
constexpr const char* kNoSession = "no configuration session is open on this connection";

Reply failed(std::string sentence) {
  Reply reply;
  reply.add_error(std::move(sentence));
  return reply;
}

/// Not to be guessed: whoever knows it gets the pending changes.
std::string new_session_id() {
  std::uint64_t number[2] = {};
  if (getrandom(number, sizeof number, 0) != sizeof number) return {};
  return fmt::format("{:016x}{:016x}", number[0], number[1]);
}

Status allow(const Conversation& talk, config::Level least, const char* what) {
  if (talk.peer.level >= least) return Done{};
  return Error{fmt::format("this user may not {}", what)};
}

/// Applies lines one by one up to the first that is bad, or that this level may not apply; counts those
/// taken.
Status apply_lines(config::Level level, std::string_view lines, config::Config& config, Edited& edited) {
  text::Position position;
  for (std::uint32_t taken = 0; !lines.empty(); edited.set_lines(++taken)) {
    const config::Config before = level < config::ADMIN ? config : config::Config();
    if (Status applied = text::apply_line(line::take_line(lines), position, config); !applied.ok())
      return applied;
    if (level == config::ADMIN) continue;
    Status allowed = config::may_change(level, before, config);
    if (allowed.ok()) continue;
    config = before;
    return allowed;
  }
  return Done{};
}

/// The body of a dataplane's report as that of our reply.
Reply reply_of(const forwarding::Report& report) {
  if (!report.error().empty()) return failed(report.error());
  Reply reply;
  if (report.has_sessions()) *reply.mutable_sessions() = report.sessions();
  if (report.has_cleared()) *reply.mutable_cleared() = report.cleared();
  return reply;
}

Reply reply_of(const daemon::Engine::Outcome& outcome) {
  Reply reply;
  for (const std::string& error : outcome.errors) reply.add_error(error);
  if (outcome.errors.empty()) *reply.mutable_applied() = outcome.applied;
  return reply;
}

/// " (3 times since 02:01:46)", local time: the line itself carries the time of the last.
std::string repetitions(const telemetry::Line& line) {
  const auto seconds = static_cast<std::time_t>(line.first_unix_ms / 1000);
  std::tm local{};
  localtime_r(&seconds, &local);
  return fmt::format(" ({} times since {:02}:{:02}:{:02})", line.times, local.tm_hour, local.tm_min,
                     local.tm_sec);
}

}  // namespace

void Service::handle(Conversation& talk, const Request& request, const OnReply& on_reply) {
  const OnReply answer = [id = request.id(), on_reply](Reply reply, bool last) {
    reply.set_id(id);
    on_reply(std::move(reply), last);
  };
  const auto now = [&](Reply reply) { answer(std::move(reply), true); };
  switch (request.body_case()) {
    case Request::kOpen:
      return now(open(talk, request.open()));
    case Request::kEdit:
      return now(edit(talk, request.edit()));
    case Request::kGetConfig:
      return now(get_config(talk, request.get_config()));
    case Request::kDiff:
      return now(diff(talk, request.diff()));
    case Request::kApply:
      return apply(talk, request.apply(), answer);
    case Request::kSave:
      return now(save(talk, request.save()));
    case Request::kRevert:
      return revert(talk, request.revert(), answer);
    case Request::kClose:
      return now(close(talk));
    case Request::kStatus:
      return now(status(request.status()));
    case Request::kLog:
      return now(get_log(request.log()));
    case Request::kOperation:
      return now(set_operation(talk, request.operation()));
    case Request::kStats:
    case Request::kSessions:
    case Request::kDropSessions:
    case Request::kRestartStats:
      return relay(talk, request, answer);
    case Request::BODY_NOT_SET:
      return now(failed("the request is empty, or newer than this headgated"));
  }
}

/// What the dataplane has to answer.
void Service::relay(Conversation& talk, const Request& request, const OnReply& on_reply) {
  forwarding::Order order;
  Status allowed = Done{};
  if (request.has_stats()) order.mutable_stats();
  if (request.has_restart_stats()) {
    order.mutable_restart_stats();
    allowed = allow(talk, config::OPER, "clear statistics");
  }
  if (request.has_drop_sessions()) {
    *order.mutable_drop_sessions()->mutable_filter() = request.drop_sessions().filter();
    allowed = allow(talk, config::OPER, "clear sessions");
  }
  if (request.has_sessions()) {
    *order.mutable_sessions()->mutable_filter() = request.sessions().filter();
    order.mutable_sessions()->set_limit(request.sessions().limit());
  }
  if (!allowed.ok()) return on_reply(failed(allowed.error().message), true);
  ask_dataplane(std::move(order), on_reply);
}

config::Candidate* Service::candidate(const Conversation& talk) {
  return talk.session.empty() ? nullptr : engine_.candidates().find(talk.session, talk.peer.user);
}

Reply Service::open(Conversation& talk, const Open& open) {
  talk.session = open.resume();
  const bool resumed = candidate(talk) != nullptr;
  if (!resumed) {
    talk.session = new_session_id();
    if (talk.session.empty()) return failed("no random numbers for a session");
    engine_.candidates().open(talk.session, talk.peer.user, engine_.running());
  }
  Reply reply;
  Opened& opened = *reply.mutable_opened();
  opened.set_session(talk.session);
  opened.set_host_name(engine_.running().sys().name());
  opened.set_level(talk.peer.level);
  opened.set_resumed(resumed);
  opened.set_pending(candidate(talk)->changed());
  return reply;
}

Reply Service::edit(Conversation& talk, const Edit& edit) {
  config::Candidate* mine = candidate(talk);
  if (mine == nullptr) return failed(kNoSession);
  Reply reply;
  const Status applied = apply_lines(talk.peer.level, edit.lines(), mine->pending, *reply.mutable_edited());
  reply.mutable_edited()->set_pending(mine->changed());
  engine_.candidates().store(talk.session);
  if (!applied.ok()) reply.add_error(applied.error().message);
  return reply;
}

Reply Service::get_config(Conversation& talk, const GetConfig& get) {
  Reply reply;
  config::Config& config = *reply.mutable_config()->mutable_config();
  if (get.which() == RUNNING) config = engine_.running();
  if (get.which() == SAVED) config = engine_.saved();
  if (get.which() == PENDING) {
    const config::Candidate* mine = candidate(talk);
    if (mine == nullptr) return failed(kNoSession);
    config = mine->pending;
  }
  put_checks_in_use(config, *reply.mutable_config());
  if (talk.peer.level < config::SLBADMIN) config::hide_secrets(config);
  return reply;
}

Reply Service::diff(Conversation& talk, const Diff& diff) {
  const config::Candidate* mine = candidate(talk);
  if (mine == nullptr) return failed(kNoSession);
  Reply reply;
  config::Config from = diff.flash() ? engine_.saved() : engine_.running(), to = mine->pending;
  if (talk.peer.level < config::SLBADMIN) config::hide_secrets(from), config::hide_secrets(to);
  reply.mutable_text()->set_text(text::diff(from, to));
  return reply;
}

void Service::apply(Conversation& talk, const Apply& apply, const OnReply& on_reply) {
  Status allowed = allow(talk, config::SLBADMIN, "apply changes");
  const config::Candidate* mine = candidate(talk);
  // Once more: the user's level may have changed since the edits were made.
  if (allowed.ok() && mine != nullptr)
    allowed = config::may_change(talk.peer.level, engine_.running(), mine->pending);
  if (!allowed.ok() || mine == nullptr)
    return on_reply(failed(allowed.ok() ? kNoSession : allowed.error().message), true);
  engine_.apply(mine->pending, apply.confirmed(),
                [on_reply](const daemon::Engine::Outcome& outcome) { on_reply(reply_of(outcome), true); });
}

Reply Service::save(Conversation& talk, const Save& save) {
  Status done = allow(talk, config::SLBADMIN, "save the configuration");
  using config::Store;
  if (done.ok())
    done = engine_.save(save.keep_backup() ? Store::Rotation::keep_backup : Store::Rotation::into_backup);
  return done.ok() ? Reply() : failed(done.error().message);
}

void Service::revert(Conversation& talk, const Revert& revert, const OnReply& on_reply) {
  config::Candidate* mine = candidate(talk);
  if (mine == nullptr) return on_reply(failed(kNoSession), true);
  mine->pending = mine->base;
  engine_.candidates().store(talk.session);
  if (!revert.applied_too()) return on_reply(Reply(), true);
  Status allowed = allow(talk, config::SLBADMIN, "apply changes");
  if (allowed.ok()) allowed = config::may_change(talk.peer.level, engine_.running(), engine_.saved());
  if (!allowed.ok()) return on_reply(failed(allowed.error().message), true);
  engine_.apply(engine_.saved(), true,
                [on_reply](const daemon::Engine::Outcome& outcome) { on_reply(reply_of(outcome), true); });
}

Reply Service::close(Conversation& talk) {
  if (candidate(talk) == nullptr) return failed(kNoSession);
  engine_.candidates().close(talk.session);
  talk.session.clear();
  return {};
}

Reply Service::status(const GetStatus& get) {
  Surroundings around{.neighbours = engine_.kernel().neighbours(),
                      .port_macs = {},
                      .ports_up = {},
                      .current = {},
                      .announcer = engine_.announcer(),
                      .now_unix_ms = engine_.unix_ms(),
                      .changes_of = get.changes_of()};
  for (const forwarding::RealStats& real : engine_.last_stats().real())
    around.current[real.real()] = real.counts().current();
  for (const forwarding::PortStats& port : engine_.last_stats().port()) {
    Mac& mac = around.port_macs[port.port()];
    if (port.mac().size() == mac.octets.size())
      std::copy(port.mac().begin(), port.mac().end(), mac.octets.begin());
    around.ports_up[port.port()] = port.up();
  }
  Reply reply;
  *reply.mutable_status() = status_of(engine_.running(), engine_.monitor(), around);
  reply.mutable_status()->set_dataplane_connected(engine_.dataplane().connected());
  reply.mutable_status()->set_generation(engine_.generation());
  return reply;
}

std::optional<State> Service::virt_state(std::uint32_t virt) const {
  const Surroundings around{.neighbours = {},
                            .port_macs = {},
                            .ports_up = {},
                            .current = {},
                            .announcer = engine_.announcer(),
                            .now_unix_ms = engine_.unix_ms()};
  const auto state = virt_state_of(engine_.running(), engine_.monitor(), around, virt);
  return state && !engine_.forwards() ? NO_SERVICES_UP : state;
}

Reply Service::get_log(const GetLog& get) const {
  Reply reply;
  for (const telemetry::Line& line : engine_.log().last(get.lines() == 0 ? kLogLines : get.lines())) {
    LogLine& to = *reply.mutable_log()->add_line();
    to.set_unix_ms(line.unix_ms);
    to.set_severity(static_cast<std::uint32_t>(line.severity));
    to.set_text(line.times == 1 ? line.text : line.text + repetitions(line));
  }
  return reply;
}

Reply Service::set_operation(Conversation& talk, const SetOperation& set) {
  Status done = allow(talk, config::SLBOPER, "enable or disable servers");
  if (done.ok() && !forwarding::Operation_IsValid(set.operation())) done = Error{"unknown operation"};
  if (!done.ok()) return failed(done.error().message);
  const auto warning = engine_.set_operation(set.real(), set.operation());
  if (!warning) return failed(warning.error().message);
  Reply reply;
  if (!warning->empty()) reply.mutable_text()->set_text(*warning);
  return reply;
}

void Service::ask_dataplane(forwarding::Order order, const OnReply& on_reply) {
  const bool stats = order.has_stats();
  engine_.dataplane().send(std::move(order), [this, stats, on_reply](const forwarding::Report& report) {
    const bool more = report.has_sessions() && report.sessions().more();
    if (!stats || !report.error().empty()) return on_reply(reply_of(report), !more);
    Reply reply;
    *reply.mutable_stats()->mutable_stats() = report.stats();
    reply.mutable_stats()->set_average_4_seconds(engine_.averages().over(4));
    reply.mutable_stats()->set_average_64_seconds(engine_.averages().over(64));
    *reply.mutable_stats()->mutable_syn_attack() = engine_.syn_attack();
    *reply.mutable_stats()->mutable_session_attack() = engine_.session_attack();
    on_reply(std::move(reply), true);
  });
}

}  // namespace headgate::control
