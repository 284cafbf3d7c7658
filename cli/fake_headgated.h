// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/client.h"
#include "cli/console.h"
#include "model/config_text.h"
#include "model/line.h"

// Test support: a headgated without network and a console without terminal.
namespace headgate::cli {

/// Keeps running, pending and saved configurations as headgated does, and serves states that a test fills in.
class FakeHeadgated : public Client {
 public:
  Result<control::Reply> call(const control::Request& request) override {
    requests.push_back(request);
    control::Reply reply;
    const Status done = answer(request, reply);
    if (!done) reply.add_error(done.error().message);
    return reply;
  }

  config::Config running, pending, saved;
  control::StatusReply status;
  control::StatsReply stats;
  forwarding::Sessions sessions;
  control::LogReply log;
  std::vector<std::string> apply_errors;      ///< what the next apply is refused with
  std::uint64_t would_end = 0;                ///< sessions that the next apply ends
  std::set<std::string, std::less<>> refuse;  ///< edits that headgated finds bad
  std::vector<control::Request> requests;

 private:
  Status answer(const control::Request& request, control::Reply& reply) {
    using Body = control::Request::BodyCase;
    switch (request.body_case()) {
      case Body::kEdit:
        return edit(request.edit().lines(), *reply.mutable_edited());
      case Body::kGetConfig:
        *reply.mutable_config()->mutable_config() = which(request.get_config().which());
        return Done{};
      case Body::kDiff:
        reply.mutable_text()->set_text(request.diff().flash() ? text::diff(saved, pending)
                                                              : text::diff(running, pending));
        return Done{};
      case Body::kApply:
        apply(request.apply(), reply);
        return Done{};
      case Body::kSave:
        saved = running;
        return Done{};
      case Body::kRevert:
        pending = request.revert().applied_too() ? (running = saved) : running;
        return Done{};
      default:
        return state(request, reply);
    }
  }

  Status state(const control::Request& request, control::Reply& reply) {
    using Body = control::Request::BodyCase;
    if (request.body_case() == Body::kStatus) *reply.mutable_status() = status;
    if (request.body_case() == Body::kStats) *reply.mutable_stats() = stats;
    if (request.body_case() == Body::kSessions) *reply.mutable_sessions() = sessions;
    if (request.body_case() == Body::kLog) *reply.mutable_log() = log;
    if (request.body_case() == Body::kDropSessions) reply.mutable_cleared()->set_sessions(7);
    return Done{};
  }

  Status edit(std::string_view lines, control::Edited& edited) {
    const Status done = take(lines, edited);
    edited.set_pending(!text::diff(running, pending).empty());
    return done;
  }

  Status take(std::string_view lines, control::Edited& edited) {
    text::Position position;
    for (std::uint32_t taken = 0; !lines.empty(); edited.set_lines(++taken)) {
      const std::string_view line = line::take_line(lines);
      if (refuse.contains(line)) return Error{fmt::format("{} is refused", line)};
      if (auto done = text::apply_line(line, position, pending); !done) return done;
    }
    return Done{};
  }

  const config::Config& which(control::Which which) const {
    return which == control::RUNNING ? running : which == control::PENDING ? pending : saved;
  }

  void apply(const control::Apply& apply, control::Reply& reply) {
    for (const auto& error : apply_errors) reply.add_error(error);
    if (!apply_errors.empty()) return;
    auto& applied = *reply.mutable_applied();
    applied.set_sessions_ended(would_end);
    applied.set_nothing_to_do(text::diff(running, pending).empty());
    applied.set_needs_confirmation(would_end > 0 && !apply.confirmed());
    if (!applied.needs_confirmation()) running = pending;
  }
};

/// Writes everything into one text, answers included, as a terminal would show it.
class FakeConsole : public Console {
 public:
  /// Without answers it is a script's.
  FakeConsole() = default;
  explicit FakeConsole(std::vector<std::string> answers) : answers_(std::move(answers)), interactive_(true) {}

  [[nodiscard]] bool interactive() const override { return interactive_; }
  void print(std::string_view text) override { shown += text; }
  void error(std::string_view sentence) override { shown += "Error: " + std::string(sentence) + "\n"; }
  std::optional<std::string> ask(const std::string& question) override {
    if (next_ >= answers_.size()) return std::nullopt;
    shown += question + answers_[next_] + "\n";
    return answers_[next_++];
  }
  void set_page(unsigned lines) override { page = lines; }

  std::string shown;
  unsigned page = 0;

 private:
  std::vector<std::string> answers_;
  std::size_t next_ = 0;
  bool interactive_ = false;
};

}  // namespace headgate::cli
