// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "controlplane/health/measures.h"
#include "controlplane/health/reading.h"
#include "controlplane/health/share.h"
#include "controlplane/probe/check.h"

// Performs probes. What to do with their results is decided elsewhere (health/).
namespace headgate::probe {

/// Names the target that a probe is for; one probe at a time for each.
using TargetId = std::uint64_t;

struct Probe {
  Check check;
  Ip address;
  L4Port port = 0;
  std::optional<std::chrono::milliseconds> timeout =
      {};  ///< it ends by itself after so long; else nobody ends it
};

struct Result {
  bool passed = false;
  bool heard = false;    ///< the host gave any sign of life, be it a refusal
  bool unasked = false;  ///< this machine could not ask (no port, no file left): the host has no part in it
  std::string
      reason;  ///< in words: "answered in 2 ms", "refused", "host unreachable", "status 503, wanted 200"
  std::chrono::microseconds took{0};
  health::Reading reading = {};                 ///< of a probe that passed, as its check sees it
  health::Part failure = health::kComplete;     ///< what one that did not pass is worth
  std::optional<health::Bearing> bears = {};    ///< passed, and this is what the server says it can bear
  std::vector<health::Measured> measured = {};  ///< passed: numbers to be graded by bounds
  bool failover = false;                        ///< a failure that demands failover at once
};

/// "answered in 2 ms"
[[nodiscard]] inline std::string answered_in(std::chrono::microseconds took) {
  return fmt::format("answered in {} ms", std::chrono::floor<std::chrono::milliseconds>(took).count());
}

/// "no answer in 2.0 s"
[[nodiscard]] inline std::string no_answer_in(std::chrono::milliseconds time) {
  return fmt::format("no answer in {:.1f} s", std::chrono::duration<double>(time).count());
}

/// Starts probes and reports how they end. A probe without a timeout that is not wanted any more is
/// cancelled, or replaced by the next one.
class Prober {
 public:
  using OnResult = std::function<void(const Result&)>;

  virtual ~Prober() = default;
  /// Starts a probe, giving up the earlier one of this target. `on_result` is called once, never from inside
  /// of start() and never after cancel().
  virtual void start(TargetId target, const Probe& probe, OnResult on_result) = 0;
  virtual void cancel(TargetId target) = 0;
  /// What the dataplane says of the links of its ports, for checks by `link`.
  virtual void learn_links(const std::map<std::uint32_t, bool>& /*up*/) {}
};

/// When the targets of one apply are first probed, and with that their place in the interval for good:
/// spread, so that they do not fire together (reports 18), yet without letting a handful of targets wait.
[[nodiscard]] inline std::chrono::milliseconds start_offset(std::size_t ordinal, std::size_t count,
                                                            std::chrono::seconds interval) {
  constexpr std::chrono::milliseconds kWidestGap{50};
  if (count == 0) return {};
  const auto gap = std::min(std::chrono::microseconds(kWidestGap),
                            std::chrono::microseconds(interval) / static_cast<std::int64_t>(count));
  return std::chrono::duration_cast<std::chrono::milliseconds>(gap *
                                                               static_cast<std::int64_t>(ordinal % count));
}

}  // namespace headgate::probe
