// SPDX-License-Identifier: Apache-2.0
// What headgated says of who takes new sessions, beside whom the core chooses.
#include "controlplane/health/standby.h"

#include <deque>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "dataplane/core/director.h"
#include "dataplane/core/selection.h"
#include "tests/model/random_site.h"

namespace headgate::testing {
namespace {

using health::Availability;
using Reals = std::set<std::uint32_t>;

/// A core without packets, and what headgated remembers of each service.
class Choosers {
 public:
  explicit Choosers(std::uint64_t seed) : dice_(seed), site_(dice_, RandomSite::Limits::some) {}

  void step() {
    for (std::uint32_t changes = dice_.below(3); changes > 0; --changes) site_.change(dice_);
    full_.clear();
    for (std::uint32_t real = 1; real <= RandomSite::kReals; ++real) {
      if (dice_.percent(15)) full_.insert(real);
    }
    const forwarding::Generation told = generation();
    ASSERT_TRUE(director_.publish(told).ok());
    look(told);  // a service whose servers are not proven has too few
    set_states(told);
    const auto says = look(told);
    const auto built = director_.build();
    for (int i = 0; i < told.service_size(); ++i)
      EXPECT_EQ(says[static_cast<std::size_t>(i)].taking, taken(*built, static_cast<std::size_t>(i)))
          << told.service(i).DebugString();
  }

 private:
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;

  std::vector<health::Standby> look(const forwarding::Generation& told) {
    std::vector<health::Standby> out;
    std::map<Key, bool> is_short;
    for (const auto& service : told.service()) {
      const Key key{service.virt(), service.vport(), service.protocol()};
      out.push_back(health::standby(service, situation(was_short_[key])));
      is_short[key] = out.back().is_short;
    }
    was_short_ = is_short;
    return out;
  }

  // Limits are one session or none, and a server that rests does so as somebody's backup, too.
  [[nodiscard]] forwarding::Generation generation() const {
    forwarding::Generation out = site_.generation();
    const auto limit = [&](forwarding::Member& member) {
      member.set_maxcon(full_.contains(member.real()) ? 1 : 0);
    };
    for (auto& service : *out.mutable_service()) {
      Reals resting;
      for (const auto& member : service.member())
        if (member.resting()) resting.insert(member.real());
      for (auto& member : *service.mutable_member()) {
        limit(member);
        for (auto& backup : *member.mutable_backup()) {
          limit(backup);
          backup.set_resting(resting.contains(backup.real()));
        }
      }
      for (auto& fallback : *service.mutable_fallback()) {
        const bool same_group = fallback.group() == 0 || fallback.group() == service.group();
        for (auto& member : *fallback.mutable_member()) {
          limit(member);
          member.set_resting(same_group && resting.contains(member.real()));
        }
      }
    }
    return out;
  }

  // A server whose check is another now has the state of that one.
  void set_states(const forwarding::Generation& told) {
    forwarding::States states;
    std::set<std::string> seen;
    const auto set = [&](const forwarding::Member& member) {
      const std::string target = member.target().SerializeAsString();
      if (!seen.insert(target).second || (open_.contains(target) && !dice_.percent(20))) return;
      open_[target] = dice_.percent(40)   ? Availability::open
                      : dice_.percent(40) ? Availability::last
                                          : Availability::closed;
      auto& state = *states.add_target();
      *state.mutable_target() = member.target();
      state.set_admission(open_[target] == Availability::open   ? forwarding::OPEN
                          : open_[target] == Availability::last ? forwarding::LAST
                          : dice_.percent(50)                   ? forwarding::DRAINING
                                                                : forwarding::CLOSED);
    };
    for (const auto& service : told.service()) {
      for (const auto& member : service.member()) {
        set(member);
        for (const auto& backup : member.backup()) set(backup);
      }
      for (const auto& fallback : service.fallback())
        for (const auto& member : fallback.member()) set(member);
    }
    director_.set_states(states);
  }

  [[nodiscard]] health::Situation situation(bool was_short) const {
    return {.availability =
                [this](const forwarding::Member& member) {
                  const auto known = open_.find(member.target().SerializeAsString());
                  return known != open_.end() ? known->second : Availability::closed;
                },
            .full = full_,
            .was_short = was_short};
  }

  // Everybody whom the core chooses. Each has some sessions for a while, so that the least loaded one
  // changes.
  [[nodiscard]] Reals taken(const core::Generation& built, std::size_t index) {
    const core::Service& service = built.layout->services[index];
    std::map<std::uint32_t, core::TallySlot> limited;
    for (const core::Member& member : service.members) {
      if (member.maxcon == 1) limited[member.number] = member.real;
    }
    for (const auto& [number, slot] : limited) EXPECT_TRUE(shared_.tallies[slot].reserve(1));
    Reals out;
    std::deque<const core::Member*> sessions;
    const auto end = [&](const core::Member* member) {
      shared_.give_back(member->real);
      --shared_.current[member->binding];
    };
    for (std::uint32_t client = 0; client < 300; ++client) {
      const core::Asking asking{.client = Ipv4{0x0a0a0100 + client * 7919}};
      const core::Member* member = core::pick(service, *built.selections[index], shared_, asking);
      if (member == nullptr) break;
      out.insert(member->number);
      ++shared_.current[member->binding];
      sessions.push_back(member);
      if (sessions.size() > 60) end(sessions.front()), sessions.pop_front();
    }
    std::ranges::for_each(sessions, end);
    for (const auto& [number, slot] : limited) shared_.give_back(slot);
    return out;
  }

  Dice dice_;
  RandomSite site_;
  Reals full_;
  std::map<std::string, Availability> open_;  ///< by target
  std::map<Key, bool> was_short_;
  core::Shared shared_;
  core::Director director_{shared_};
};

TEST(StandbyModel, HeadgatedNamesThoseWhomTheCoreChooses) {
  for (std::uint64_t seed = 1; seed <= 6 && !::testing::Test::HasFailure(); ++seed) {
    Choosers choosers(seed);
    for (int step = 0; step < 150 && !::testing::Test::HasFailure(); ++step) choosers.step();
  }
}

}  // namespace
}  // namespace headgate::testing
