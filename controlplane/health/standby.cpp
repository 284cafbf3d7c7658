// SPDX-License-Identifier: Apache-2.0
#include "controlplane/health/standby.h"

#include <algorithm>
#include <vector>

namespace headgate::health {
namespace {

class Reader {
 public:
  explicit Reader(const Situation& situation) : situation_(situation) {}

  Standby run(const forwarding::Service& service) {
    result_.available = available(service.member());
    settle_thresholds(service);
    settle_formula(service);
    if (!result_.is_short && !result_.is_false) place_all(service.member());
    for (int i = 0; i < service.fallback_size() && result_.taking.empty(); ++i) {
      place_all(service.fallback(i).member());
      if (!result_.taking.empty()) result_.fallback = i;
    }
    result_.undecided = result_.taking.empty() && unknown_;
    return std::move(result_);
  }

 private:
  using Members = google::protobuf::RepeatedPtrField<forwarding::Member>;

  static bool takes(Availability state) { return state == Availability::open || state == Availability::last; }

  std::uint32_t available(const Members& members) {
    std::uint32_t count = 0;
    for (const forwarding::Member& member : members) count += takes(availability(member)) ? 1 : 0;
    return count;
  }

  /// Whom a group offers: those that are open, else those that are at last.
  void place_all(const Members& members) {
    for (const Availability turn : {Availability::open, Availability::last}) {
      if (!result_.taking.empty()) return;
      for (const forwarding::Member& member : members) place(member, turn);
    }
  }

  /// A closed server's backup takes its place; a full one's helps out, but not before the server's own turn.
  void place(const forwarding::Member& member, Availability turn) {
    const Availability state = availability(member);
    const bool full = situation_.full.contains(member.real());
    if (state == turn && !full) result_.taking.insert(member.real());
    if (state == Availability::closed) step_in(member, turn, result_.failover);
    if (takes(state) && full && member.overflow()) step_in(member, turn, result_.overflow);
  }

  void step_in(const forwarding::Member& primary, Availability turn, std::set<Standby::Pair>& pairs) {
    const bool late = availability(primary) == Availability::last;
    for (const forwarding::Member& backup : primary.backup()) {
      const Availability state = availability(backup);
      const bool turns = late ? turn == Availability::last && takes(state) : state == turn;
      if (!turns || situation_.full.contains(backup.real())) continue;
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
    const bool few = result_.available < service.min_available();
    const bool enough = result_.available >= service.max_available();
    result_.is_short = service.min_available() != 0 && (few || (situation_.was_short && !enough));
    const auto unproven = std::ranges::count_if(service.member(), [this](const forwarding::Member& member) {
      return availability(member) == Availability::unknown;
    });
    result_.may_suffice = result_.is_short &&
                          result_.available + static_cast<std::uint32_t>(unproven) >= service.min_available();
  }

  /// A member counts by itself, like for the thresholds: neither its backup nor its limit makes a difference.
  void settle_formula(const forwarding::Service& service) {
    result_.is_false = !holds(service, takes);
    result_.unsettled = result_.is_false && holds(service, [](Availability state) {
                          return takes(state) || state == Availability::unknown;
                        });
  }

  /// The value of a formula in postfix order; one without terms is true.
  template <class Counts>
  bool holds(const forwarding::Service& service, const Counts& counts) {
    std::vector<bool> values;
    for (const forwarding::Term& term : service.formula()) {
      if (term.join() == forwarding::Term::MEMBER) {
        values.push_back(std::ranges::any_of(service.member(), [&](const forwarding::Member& member) {
          return member.real() == term.real() && counts(availability(member));
        }));
        continue;
      }
      const bool last = values.back();
      values.pop_back();
      values.back() = term.join() == forwarding::Term::AND ? values.back() && last : values.back() || last;
    }
    return values.empty() || values.back();
  }

  const Situation& situation_;
  Standby result_;
  bool unknown_ = false;
};

}  // namespace

Standby standby(const forwarding::Service& service, const Situation& situation) {
  return Reader(situation).run(service);
}

}  // namespace headgate::health
