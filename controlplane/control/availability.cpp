// SPDX-License-Identifier: Apache-2.0
#include "controlplane/control/availability.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "controlplane/probe/words.h"

namespace headgate::control {
namespace {

constexpr unsigned kOk = 200, kNotFound = 404, kNotAllowed = 405, kUnavailable = 503;
constexpr std::string_view kStart = "/virt/";

struct Question {
  std::uint32_t virt = 0;
  bool degraded_too = false;
};

/// The path of an absolute target (RFC 9112, 3.2.2); others stay as they are.
std::string_view path_of(std::string_view target) {
  constexpr std::string_view kScheme = "http://";
  if (!probe::same_word(target.substr(0, kScheme.size()), kScheme)) return target;
  const auto path = target.find('/', kScheme.size());
  return path == kScheme.size() ? target : target.substr(std::min(path, target.size()));
}

std::optional<Question> question(std::string_view target) {
  target = path_of(target.substr(0, target.find('?')));
  if (!target.starts_with(kStart)) return std::nullopt;
  target.remove_prefix(kStart.size());
  Question asked;
  const auto [end, error] = std::from_chars(target.data(), target.data() + target.size(), asked.virt);
  if (error != std::errc{}) return std::nullopt;
  target.remove_prefix(static_cast<std::size_t>(end - target.data()));
  asked.degraded_too = target == "/available-or-degraded";
  return asked.degraded_too || target == "/available" ? std::optional(asked) : std::nullopt;
}

std::string_view word_of(State state) {
  switch (state) {
    case UP:
      return "available";
    case DEGRADED:
      return "degraded";
    case DISABLED:
      return "disabled";
    case NOT_CHECKED:
      return "not checked yet";
    default:
      return "unavailable";
  }
}

}  // namespace

Availability availability(std::string_view method, std::string_view target, const VirtStateOf& state_of) {
  if (method != "GET" && method != "HEAD") return {kNotAllowed, "only GET and HEAD are allowed\n"};
  const auto asked = question(target);
  if (!asked) return {kNotFound, "ask for /virt/N/available or /virt/N/available-or-degraded\n"};
  const auto state = state_of(asked->virt);
  if (!state) return {kNotFound, fmt::format("there is no virtual server {}\n", asked->virt)};
  const bool serves = *state == UP || (asked->degraded_too && *state == DEGRADED);
  return {serves ? kOk : kUnavailable, fmt::format("{}\n", word_of(*state))};
}

}  // namespace headgate::control
