// SPDX-License-Identifier: Apache-2.0
// /info/slb/health: what is known of each service of a real server, and how it came about.
#include <algorithm>

#include <fmt/format.h>

#include "cli/screen_words.h"
#include "cli/screens.h"

namespace headgate::cli {
namespace {

std::string_view verdict_text(forwarding::Verdict verdict) {
  switch (verdict) {
    case forwarding::UP:
      return "up";
    case forwarding::DOWN:
      return "FAILED";
    case forwarding::DEGRADED:
      return "degraded";
    default:
      return "not checked";
  }
}

/// "1.2 ms"
std::string took_text(std::uint64_t microseconds) {
  constexpr double kPerMs = 1000;
  return fmt::format("{:.1f} ms", static_cast<double>(microseconds) / kPerMs);
}

std::string checks_line(const control::TargetStatus& target) {
  const std::string last = target.last_check_unix_ms() == 0
                               ? "last check: none yet"
                               : fmt::format("last check {}, took {}", date_text(target.last_check_unix_ms()),
                                             took_text(target.took_us()));
  const std::string next = target.next_check_unix_ms() == 0 ? "none" : date_text(target.next_check_unix_ms());
  return fmt::format("        {}; next check {}\n", last, next);
}

std::string change_line(const forwarding::Change& change) {
  return fmt::format("            {}  {} -> {}, {}\n", date_text(change.unix_ms()),
                     verdict_text(change.from()), verdict_text(change.to()), change.reason());
}

/// Thousandths in a percent.
constexpr unsigned kThousandthsOfAPercent = 10;

std::string deed_line(const forwarding::Deed& deed) {
  return fmt::format("            {}  {} {}\n", date_text(deed.unix_ms()),
                     deed.failover() ? "failover" : "restart", deed.outcome());
}

/// What failures count at present, when they are not complete ones in a row.
std::string parts_text(const control::TargetStatus& target) {
  constexpr std::uint32_t kWhole = 100;
  if (target.failed() == target.failures_in_row() * kWhole) return {};
  return fmt::format("; failures that count: {:g} complete", static_cast<double>(target.failed()) / kWhole);
}

std::string target_lines(const control::TargetStatus& target) {
  std::string text = fmt::format("    {} {}, health {}, {}{}", port_name_of(target.rport()),
                                 protocol_text(target.protocol()), target.check(), state_text(target.state()),
                                 since(target.since_unix_ms()));
  if (target.score() != 0) text += fmt::format(", score {}", target.score());
  if (target.share() != 0) text += fmt::format(", weight {} %", target.share() / kThousandthsOfAPercent);
  text += fmt::format("\n        {}\n", target.reason().empty() ? "no result yet" : target.reason());
  if (!target.buddy().empty())
    text += fmt::format("        takes no new sessions: its buddy {} is not up\n", target.buddy());
  text += checks_line(target);
  text += fmt::format("        in a row: {} failed, {} passed{}\n", target.failures_in_row(),
                      target.successes_in_row(), parts_text(target));
  text += target.change().empty() ? "        no changes\n" : "        changes, the latest last:\n";
  for (const forwarding::Change& change : target.change()) text += change_line(change);
  if (!target.deed().empty()) text += "        restarts and failovers, the latest last:\n";
  for (const forwarding::Deed& deed : target.deed()) text += deed_line(deed);
  return text;
}

}  // namespace

Result<std::string> health_state(const control::StatusReply& status, std::uint32_t number) {
  const auto real = std::ranges::find(status.real(), number, &control::RealStatus::number);
  if (real == status.real().end())
    return Error{fmt::format("real server {} does not exist in the running configuration", number)};
  std::string text = fmt::format("{:>3}: {}{}, {}{}\n", real->number(), real->rip(),
                                 real->name().empty() ? "" : ", " + real->name(), state_text(real->state()),
                                 since(real->since_unix_ms()));
  if (real->target().empty()) text += "    no service uses it: nothing is checked\n";
  for (const control::TargetStatus& target : real->target()) text += target_lines(target);
  return text;
}

}  // namespace headgate::cli
