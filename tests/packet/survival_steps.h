// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>

#include "tests/packet/survival_bed.h"

// Steps that a process may be killed in, and what may be left of its sessions then.
namespace headgate::testing {

constexpr std::uint32_t kMaxcon = 8;  ///< of the first server

/// TCP and UDP over both families, a server each.
[[nodiscard]] Site site_of_steps();

/// A packet of a random connection, or now and then a sweep, an administrator's clearing, or a server that
/// fails and returns.
struct Step {
  enum class Kind : std::uint8_t { packet, sweep, clear, fail };
  Kind kind = Kind::packet;
  std::function<void(Core&)> act;
};
/// The same for the same number.
[[nodiscard]] Step step_of(std::uint64_t number);
[[nodiscard]] Tick time_of(std::uint64_t number);
/// Does the step of that number at its time.
inline void step(Core& core, std::uint64_t number) {
  step_of(number).act(core);
}

using SessionKey = std::tuple<std::string, std::uint16_t, std::string>;
using Views = std::map<SessionKey, core::SessionView>;
/// All sessions, as they are at a time.
[[nodiscard]] Views views(const core::Switch& worker, Tick now);

/// That sessions after a cut are, each and in each of their fields, as before or after the step that was
/// under way, and none is missing that both have.
void expect_between(const Views& seen, const Views& before, const Views& after);
/// That all currents in the counters are those of the sessions there are.
void expect_exact_counts(const Core& core);

/// A core that did its steps without any cut.
class Twin {
 public:
  /// Its sessions after so many steps, as they are at a time.
  [[nodiscard]] Views at(std::uint64_t steps, Tick now);
  [[nodiscard]] forwarding::Stats stats() const { return core_.director.stats(); }

 private:
  Memory memory_;
  Core core_{memory_, all_open(site_of_steps())};
  std::uint64_t done_ = 0;
};

}  // namespace headgate::testing
