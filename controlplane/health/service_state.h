// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <variant>
#include <vector>

// The health of one target: one service of one real server under one check. Reference 4.1 and 4.4.
namespace headgate::health {

/// How a target is checked: the settings of its real server.
struct Policy {
  std::chrono::seconds inter{
      2};  ///< between two probes, and the time a probe has to answer; 0: never checked, always up
  unsigned retry = 4;               ///< failures in a row that take it down, at least 1
  unsigned restr = 8;               ///< successes in a row that bring it back after a failure, at least 1
  std::chrono::seconds timeout{0};  ///< the time a probe has to answer, when it is less than `inter`

  bool operator==(const Policy&) const = default;
};

/// What the probes have proven so far.
enum class Health : std::uint8_t {
  unknown,  ///< nothing yet: the first success brings it up, `retry` failures take it down
  up,
  down,
};

/// Which probe a result belongs to; grows with each one sent.
using Attempt = std::uint64_t;

struct State {
  Health health = Health::unknown;
  unsigned failures = 0;   ///< in a row, up to now; keeps counting while down
  unsigned successes = 0;  ///< in a row, up to now; keeps counting while up
  Attempt attempt = 0;     ///< the latest probe sent
  bool awaiting = false;   ///< that probe is still unanswered
  bool early = false;      ///< an early probe was already sent since the last regular one

  bool operator==(const State&) const = default;
};

struct Due {  ///< the time that Wake asked for has come
  bool operator==(const Due&) const = default;
};
struct Passed {
  Attempt attempt;
  bool operator==(const Passed&) const = default;
};
struct Failed {
  Attempt attempt;
  bool operator==(const Failed&) const = default;
};
struct TrafficFailed {  ///< the dataplane saw a connection fail in set-up
  bool operator==(const TrafficFailed&) const = default;
};
struct PolicyChanged {  ///< `policy` is new; also the first event of a target's life
  bool operator==(const PolicyChanged&) const = default;
};
using Event = std::variant<Due, Passed, Failed, TrafficFailed, PolicyChanged>;

struct Send {  ///< start this probe and give up every earlier one
  Attempt attempt;
  bool operator==(const Send&) const = default;
};
struct Wake {  ///< send Due after so long; replaces an earlier Wake
  std::chrono::seconds after;
  bool operator==(const Wake&) const = default;
};
struct Rest {  ///< no Due any more, and give up the probe in flight
  bool operator==(const Rest&) const = default;
};
struct Report {  ///< the verdict has changed
  Health health;
  bool operator==(const Report&) const = default;
};
using Action = std::variant<Send, Wake, Rest, Report>;

struct Step {
  State state;
  std::vector<Action> actions;
  bool operator==(const Step&) const = default;
};

/// What happens next. Total: every event is defined in every state, and answers to probes that are no longer
/// awaited change nothing. A probe still unanswered when the next is due has failed. An early probe takes the
/// place of the next regular one, so that it too has the whole interval to answer; there is at most one of
/// them between two regular probes, so that traffic can at most double the rate.
[[nodiscard]] Step step(const Policy& policy, const State& state, const Event& event);

std::ostream& operator<<(std::ostream& out, Health health);
std::ostream& operator<<(std::ostream& out, const State& state);
std::ostream& operator<<(std::ostream& out, const Event& event);
std::ostream& operator<<(std::ostream& out, const Action& action);
std::ostream& operator<<(std::ostream& out, const Step& step);

}  // namespace headgate::health
