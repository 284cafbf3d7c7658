// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <variant>
#include <vector>

#include "controlplane/health/grading.h"
#include "controlplane/health/measures.h"
#include "controlplane/health/reading.h"

// The health of one target: one service of one real server under one check. Reference 4.1 and 4.4.
namespace headgate::health {

/// How a target is checked: the settings of its real server.
struct Policy {
  std::chrono::seconds inter{
      2};  ///< between two probes, and the time a probe has to answer; 0: never checked, always up
  unsigned retry = 4;  ///< complete failures in a row that take it down, at least 1
  unsigned restr = 8;  ///< successes in a row that bring it back after a failure, at least 1
  /// Not 0: instead of those in a row, the failures of so long count. They take it down when their parts are
  /// one whole, so that a complete one does at once, whatever passes in between.
  std::chrono::seconds window{0};
  Bands response;                    ///< of the time to answer, in microseconds
  std::chrono::seconds timeout{0};   ///< the time a probe has to answer, when it is less than `inter`
  std::vector<NamedBands> measures;  ///< of the numbers that a check reads

  bool operator==(const Policy&) const = default;
};

/// What the probes have proven so far.
enum class Health : std::uint8_t {
  unknown,  ///< nothing yet: the first success brings it up, `retry` failures take it down
  up,
  down,
  degraded,  ///< up, but for those only whom nobody serves that is
};

/// Whether it serves at all.
[[nodiscard]] constexpr bool serves(Health health) {
  return health == Health::up || health == Health::degraded;
}

/// Which probe a result belongs to; grows with each one sent.
using Attempt = std::uint64_t;

/// Monotonic, from any beginning.
using Moment = std::chrono::milliseconds;

/// A failure that a window remembers.
struct Partial {
  Moment at{0};
  Part part = 0;  ///< 0: none
  bool operator==(const Partial&) const = default;
};
/// A failure counts as so much at least, so that no more of them than this are less than a whole.
constexpr Part kLeastPart = 10;
constexpr std::size_t kMostPartials = (kComplete - 1) / kLeastPart;
using Partials = std::array<Partial, kMostPartials>;  ///< oldest first, none behind them

/// Whether the failures within the window are one whole with a fresh one; if not, it is remembered with them.
/// There is room: each is worth kLeastPart at least.
[[nodiscard]] bool whole(Partials& partials, const Partial& fresh, std::chrono::seconds window);

struct State {
  Health health = Health::unknown;
  Score score = 0;         ///< of the last reading that it serves by; 0: none yet
  unsigned failures = 0;   ///< in a row, up to now; keeps counting while down
  Part failed = 0;         ///< the sum of their parts
  unsigned successes = 0;  ///< in a row, up to now; keeps counting while up
  Attempt attempt = 0;     ///< the latest probe sent
  bool awaiting = false;   ///< that probe is still unanswered
  bool early = false;      ///< an early probe was already sent since the last regular one
  Partials partials{};     ///< of the window while it is not down

  bool operator==(const State&) const = default;
};

struct Due {  ///< the time that Wake asked for has come
  bool operator==(const Due&) const = default;
};
struct Passed {
  Attempt attempt;
  Reading reading = {};  ///< unavailable: it has answered, and failed all the same
  bool operator==(const Passed&) const = default;
};
struct Failed {
  Attempt attempt;
  Part part = kComplete;
  Moment at{0};
  bool operator==(const Failed&) const = default;
};
struct Unasked {  ///< this machine could not ask: nothing is known of the server
  Attempt attempt;
  bool operator==(const Unasked&) const = default;
};
struct TrafficFailed {  ///< the dataplane saw a connection fail in set-up
  bool operator==(const TrafficFailed&) const = default;
};
struct PolicyChanged {  ///< `policy` is new; also the first event of a target's life
  bool operator==(const PolicyChanged&) const = default;
};
using Event = std::variant<Due, Passed, Failed, Unasked, TrafficFailed, PolicyChanged>;

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
/// awaited change nothing. A target that serves goes from up to degraded and back with each reading: that it
/// doesn't flip is the matter of whoever grades. A probe still unanswered when the next is due has failed. An
/// early probe takes the place of the next regular one, so that it too has the whole interval to answer;
/// there is at most one of them between two regular probes, so that traffic can at most double the rate.
[[nodiscard]] Step step(const Policy& policy, const State& state, const Event& event);

/// What the failures that count at present are worth, in hundredths of a complete one.
[[nodiscard]] Part counted(const Policy& policy, const State& state, Moment now);

std::ostream& operator<<(std::ostream& out, Health health);
std::ostream& operator<<(std::ostream& out, const State& state);
std::ostream& operator<<(std::ostream& out, const Event& event);
std::ostream& operator<<(std::ostream& out, const Action& action);
std::ostream& operator<<(std::ostream& out, const Step& step);

}  // namespace headgate::health
