// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/agent.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "controlplane/probe/quoted.h"
#include "controlplane/probe/words.h"

namespace headgate::probe {
namespace {

constexpr std::string_view kBetween = " \t,\r";

std::optional<unsigned> percent_of(std::string_view word) {
  if (!word.ends_with('%')) return {};
  word.remove_suffix(1);
  unsigned number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  const bool whole = error == std::errc() && end == word.data() + word.size();
  return whole && number <= kMostPercent ? std::optional(number) : std::nullopt;
}

/// "maxconn:30": HAProxy's agents may limit its sessions; here `maxcon` of the real server does.
bool is_limit(std::string_view word) {
  constexpr std::string_view kStart = "maxconn:";
  if (word.size() <= kStart.size() || !same_word(word.substr(0, kStart.size()), kStart)) return false;
  return word.find_first_not_of("0123456789", kStart.size()) == std::string_view::npos;
}

/// Whether the word is known.
bool take_word(std::string_view word, AgentSays& says) {
  using Mode = AgentSays::Mode;
  const auto is = [word](std::string_view known) { return same_word(word, known); };
  if (const auto percent = percent_of(word))
    says.percent = percent;
  else if (is("up"))
    says.up = true;
  else if (is("down") || is("fail") || is("failed") || is("stopped"))
    says.up = false;
  else if (is("ready"))
    says.mode = Mode::ready;
  else if (is("drain"))
    says.mode = Mode::drain;
  else if (is("maint"))
    says.mode = Mode::maintenance;
  else
    return is_limit(word);
  return true;
}

/// Of a line without a share: nothing, so that what was said last still counts.
std::optional<health::Bearing> bearing_of(const AgentSays& says) {
  if (!says.percent) return std::nullopt;
  return health::Bearing{health::Bearing::Of::configured, *says.percent};
}

class Agent final : public Conversation {
 public:
  explicit Agent(std::string greeting) : greeting_(std::move(greeting)) {}

  Turn begin() override { return {std::move(greeting_), {}}; }

  Turn hear(std::string_view bytes) override {
    constexpr std::size_t kLongest = 256;
    const auto end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    if (line_.size() + piece.size() > kLongest) return {{}, Outcome{false, "answer has no end of line"}};
    line_ += piece;
    return end == std::string_view::npos ? Turn{} : Turn{{}, judge()};
  }

  Outcome end() override { return line_.empty() ? Outcome{false, "closed without an answer"} : judge(); }

 private:
  [[nodiscard]] Outcome judge() const {
    const std::string line = line_.substr(0, line_.find_last_not_of('\r') + 1);
    const auto says = parse_agent(line);
    const auto reading = says ? reading_of(*says) : std::nullopt;
    if (reading)
      return {.passed = true,
              .reason = reading->grade == health::Grade::available
                            ? "answered"
                            : fmt::format("agent says \"{}\"", quoted(line)),
              .value = line,
              .bears = bearing_of(*says),
              .reading = *reading};
    return {
        .reason = fmt::format("agent says \"{}\"{}", quoted(line), says ? "" : ", which is nothing known"),
        .value = line};
  }

  std::string greeting_;
  std::string line_;
};

}  // namespace

std::optional<AgentSays> parse_agent(std::string_view line) {
  AgentSays says;
  const auto hash = line.find('#');
  if (hash != std::string_view::npos) says.reason = quoted(line.substr(hash + 1));
  std::string_view rest = line.substr(0, hash);
  bool any = false;
  while (true) {
    rest.remove_prefix(std::min(rest.find_first_not_of(kBetween), rest.size()));
    if (rest.empty()) return any ? std::optional(says) : std::nullopt;
    const std::string_view word = rest.substr(0, rest.find_first_of(kBetween));
    if (!take_word(word, says)) return {};
    any = true;
    rest.remove_prefix(word.size());
  }
}

std::optional<health::Reading> reading_of(const AgentSays& says) {
  if (says.up == false || says.mode == AgentSays::Mode::maintenance) return std::nullopt;
  if (says.mode == AgentSays::Mode::drain || says.percent == 0U)
    return health::Reading{health::Grade::degraded, 1};
  return health::Reading{};
}

std::unique_ptr<Conversation> agent(std::string greeting) {
  return std::make_unique<Agent>(std::move(greeting));
}

}  // namespace headgate::probe
