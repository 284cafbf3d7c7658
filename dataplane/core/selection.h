// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dataplane/core/generation.h"
#include "dataplane/core/maglev.h"
#include "dataplane/core/shared.h"
#include "dataplane/core/turns.h"

namespace headgate::core {

/// The servers of a service that may take new sessions, prepared for choosing; made anew when a state or a
/// weight changes.
struct Selection {
  static constexpr std::uint32_t kNoPlace = 0xffffffff;
  /// What one worker knows of the servers of a tier. Only that worker touches it, while it chooses.
  struct alignas(64) View {
    /// How many sessions a server had when it was looked at last, and where to look.
    struct Seen {
      const std::atomic<std::uint32_t>* sessions = &kChanging;
      std::uint32_t count = 0;

      /// Whether it is to be looked at again.
      [[nodiscard]] bool stale() const noexcept { return sessions->load(std::memory_order_relaxed) != count; }
      /// Not the member itself takes its turn: who does may be another at any time.
      [[nodiscard]] bool by_another() const noexcept { return sessions == &kChanging; }
    };
    static constexpr std::atomic<std::uint32_t> kChanging{0xffffffff};  ///< no count of sessions
    static constexpr std::atomic<std::uint32_t> kAlike{0};              ///< of a metric that does not count
    Turns turns;
    std::vector<Seen> seen;
    std::size_t look_at = 0;        ///< the next one to be looked at
    std::size_t others = 0;         ///< how many of `seen` are by_another()
    std::uint32_t last = kNoPlace;  ///< the place taken last; the control thread reads it (atomic_ref)
  };
  /// A tier in one round.
  struct Tier {
    std::vector<std::uint16_t> open;      ///< places that take sessions, themselves or by a stand-in
    std::vector<std::uint32_t> weights;   ///< fine weights of the open places
    std::shared_ptr<const Maglev> table;  ///< minmisses: all places, open or not
    mutable std::vector<View> views;      ///< metrics by turns: by worker
  };
  std::vector<Tier> tiers;
  std::vector<Tier> last;                 ///< the same in the round of those that are LAST; empty: nobody is
  bool group_closed = false;              ///< the first tier takes no sessions, whoever of it is open
  std::vector<BindingSlot> stood_in_for;  ///< closed members for which a backup is open; sorted

  /// A tier in the round of those that are LAST. Where nobody was, the open ones may be by now.
  [[nodiscard]] const Tier& last_round(std::size_t tier) const noexcept {
    return last.empty() ? tiers[tier] : last[tier];
  }
  /// Whether a tier has an open place, in either round.
  [[nodiscard]] bool has_open(std::size_t tier) const noexcept {
    return !tiers[tier].open.empty() || (!last.empty() && !last[tier].open.empty());
  }
  /// The first tier with an open place; the number of tiers when there is none.
  [[nodiscard]] std::size_t in_charge() const noexcept;
};

/// What a selection depends on beside the service and the states.
struct SelectionTerms {
  std::span<const std::uint32_t> weights;  ///< fine, by position in Service::members; empty: as configured
  unsigned workers = 1;
  bool group_closed = false;          ///< too few members are available (reference 2.2, minthrsh)
  const Selection* before = nullptr;  ///< of the same service: what did not change is taken from it
};

/// The selection of a service under the present states. Costs O(members x workers), but a table of minmisses,
/// which depends only on who is in the group, is made once.
[[nodiscard]] std::shared_ptr<const Selection> select(const Service& service, const Shared& shared,
                                                      const SelectionTerms& terms = {});

/// Who asks for a server.
struct Asking {
  Ip client;
  L4Port port = 0;
  unsigned worker = 0;
};

/// The member that takes a new session (reference 3.1, 3.2), or null when none does. A session is reserved at
/// the real server, counted and within its maxcon; the caller keeps it or gives it back (Shared::give_back).
///
/// A place is taken by its member, by the least loaded of its stand-ins when the member is not open or, with
/// `overflow`, at its maxcon, and else passed over. States and maxcon are looked at as they are now. When no
/// place of the group takes the session, those that are LAST have their round; when none of them takes it
/// either, the next tier is asked. So a server that is LAST has failed for nobody: its backups stand in for
/// it only in its own round, where it is full.
///
/// - roundrobin, response, bandwidth, health: turns by weight; workers begin at different members.
/// - leastconns: fewest open sessions of the real server by weight, over all workers and services; among
///   equals the next in turn. svcleast: of this service.
/// - hash: by the client, over the open places. phash: over all; only who would have a closed one is hashed
///   again, over the open ones. minmisses: a closed server moves its own clients only, and back they go.
///
/// How exact leastconns is: a worker looks at kLooks servers anew for each session, and at the one it chooses
/// in any case. Up to kLooks servers the choice is exact. Beyond, the load of the chosen server (sessions by
/// weight) exceeds the least by no more than what ended at the least loaded since this worker looked at it,
/// plus what others opened at one server since it looked there; both looks are at most
/// ceil(servers / kLooks) of its own choices ago.
[[nodiscard]] const Member* pick(const Service& service, const Selection& selection, Shared& shared,
                                 const Asking& asking) noexcept;

/// The round in which a place of the service would hand new sessions to this member now, CLOSED when none
/// would: a bound client may come back to a stand-in only as long as it stands in.
/// A member of the group itself has one, unless too few are available (minthrsh), and one of a group that is
/// in charge.
[[nodiscard]] forwarding::Admission round_of(const Service& service, const Selection& selection,
                                             const Shared& shared, std::uint16_t member) noexcept;

constexpr std::size_t kLooks = 16;

}  // namespace headgate::core
