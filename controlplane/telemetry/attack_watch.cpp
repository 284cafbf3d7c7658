// SPDX-License-Identifier: Apache-2.0
#include "controlplane/telemetry/attack_watch.h"

#include <algorithm>
#include <utility>

namespace headgate::telemetry {

void AttackWatch::restart(const Rule& rule, std::chrono::milliseconds now, std::int64_t count) {
  rule_ = rule;
  begin_ = now;
  counted_ = count;
  started_ = true;
}

AttackWatch::Change AttackWatch::sample(const Rule& rule, std::chrono::milliseconds now, std::int64_t count) {
  if (!started_ || rule != rule_ || rule.period.count() == 0) {
    active_ = false;
    last_ = 0;
    restart(rule, now, count);
    return Change::none;
  }
  const std::chrono::milliseconds span = now - begin_;
  if (span < rule.period) return Change::none;
  const std::chrono::milliseconds period = rule.period;
  const std::int64_t more = std::max<std::int64_t>(count - counted_, 0);
  last_ = static_cast<std::uint64_t>(more) * static_cast<std::uint64_t>(period.count()) /
          static_cast<std::uint64_t>(span.count());
  restart(rule, now, count);
  const bool before = std::exchange(active_, last_ > rule.limit);
  warnings_ += active_ && !before ? 1 : 0;
  if (before == active_) return Change::none;
  return active_ ? Change::begins : Change::ends;
}

}  // namespace headgate::telemetry
