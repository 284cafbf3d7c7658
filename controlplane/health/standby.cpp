// SPDX-License-Identifier: Apache-2.0
#include "controlplane/health/standby.h"

namespace headgate::health {
namespace {

class Reader {
 public:
  explicit Reader(const Situation& situation) : situation_(situation) {}

  Standby run(const forwarding::Service& service) {
    for (const forwarding::Member& member : service.member()) place(member);
    result_.available = available_;
    settle_thresholds(service);
    for (int i = 0; i < service.fallback_size() && result_.taking.empty(); ++i) {
      for (const forwarding::Member& member : service.fallback(i).member()) place(member);
      if (!result_.taking.empty()) result_.fallback = i;
    }
    result_.undecided = result_.taking.empty() && unknown_;
    return std::move(result_);
  }

 private:
  /// A closed server's backup takes its place; a full one's helps out.
  void place(const forwarding::Member& member) {
    const Availability state = availability(member);
    const bool full = situation_.full.contains(member.real());
    available_ += state == Availability::open ? 1 : 0;
    if (state == Availability::open && !full) result_.taking.insert(member.real());
    if (state == Availability::closed) step_in(member, result_.failover);
    if (state == Availability::open && full && member.overflow()) step_in(member, result_.overflow);
  }

  void step_in(const forwarding::Member& primary, std::set<Standby::Pair>& pairs) {
    for (const forwarding::Member& backup : primary.backup()) {
      const bool open = availability(backup) == Availability::open;
      if (!open || situation_.full.contains(backup.real())) continue;
      result_.taking.insert(backup.real());
      pairs.insert({primary.real(), backup.real()});
    }
  }

  Availability availability(const forwarding::Member& member) {
    const Availability state = member.resting() ? Availability::closed : situation_.availability(member);
    unknown_ = unknown_ || state == Availability::unknown;
    return state;
  }

  /// Too few members: none of them is used, nor their backups.
  void settle_thresholds(const forwarding::Service& service) {
    const bool few = available_ < service.min_available();
    const bool enough = available_ >= service.max_available();
    result_.is_short = service.min_available() != 0 && (few || (situation_.was_short && !enough));
    if (!result_.is_short) return;
    result_.taking.clear();
    result_.failover.clear();
    result_.overflow.clear();
  }

  const Situation& situation_;
  Standby result_;
  std::uint32_t available_ = 0;
  bool unknown_ = false;
};

}  // namespace

Standby standby(const forwarding::Service& service, const Situation& situation) {
  return Reader(situation).run(service);
}

}  // namespace headgate::health
