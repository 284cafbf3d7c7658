// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controlplane/health/service_state.h"

// What is done about a service that fails: it is restarted, and when that does not help, failed over. Pure.
// Mission C.4, reference 10.
namespace headgate::health {

/// What may be done, as it is configured.
struct Remedies {
  std::string restart;              ///< a command or an address; empty: nothing
  std::string failover;             ///< likewise
  unsigned rcount = 2;              ///< restarts within `window` before the failover
  std::chrono::seconds window{20};  ///< not 0

  bool operator==(const Remedies&) const = default;
};

enum class Remedy : std::uint8_t { restart, failover };
[[nodiscard]] constexpr std::string_view word_of(Remedy remedy) {
  return remedy == Remedy::restart ? "restart" : "failover";
}

struct RemedyState {
  bool down = false;             ///< the service, when it was last checked
  bool failed_over = false;      ///< since it has been down
  bool under_way = false;        ///< something is being done
  Part failed = 0;               ///< while it is down, since nothing is under way: in a row, without a window
  Partials partials{};           ///< likewise, with a window
  std::vector<Moment> restarts;  ///< of the window, at most `rcount`, oldest first

  bool operator==(const RemedyState&) const = default;
};

/// A check has ended.
struct Checked {
  Moment at{0};
  Part failed = 0;                ///< 0: it has passed
  Health health = Health::up;     ///< of the service, with this result
  bool demands_failover = false;  ///< a failure does
  bool ours = true;               ///< the service is offered: nothing is done about one that is disabled
  bool operator==(const Checked&) const = default;
};

struct RemedyStep {
  RemedyState state;
  std::optional<Remedy> remedy;  ///< what is to be begun
  bool operator==(const RemedyStep&) const = default;
};

/// What follows from a check. Something is done when the service goes down, and while it stays so, each time
/// that what failed since the last thing was done would take it down again: a restart as long as there were
/// less than `rcount` within the window, else the failover, after which nothing more is done until the
/// service is back; that it is not known any more is no return. A demand for failover skips the restarts. One
/// thing at a time: what fails while something is under way does not count.
[[nodiscard]] RemedyStep checked(const Policy& policy, const Remedies& remedies, RemedyState state,
                                 const Checked& event);
/// What was begun has ended, however.
[[nodiscard]] RemedyState ended(RemedyState state);
/// What was to be done has not been begun and will not be: it does not count.
[[nodiscard]] RemedyState withdrawn(RemedyState state, Remedy remedy);

std::ostream& operator<<(std::ostream& out, const RemedyState& state);
std::ostream& operator<<(std::ostream& out, const RemedyStep& step);

}  // namespace headgate::health
