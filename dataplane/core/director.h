// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "dataplane/core/generation.h"
#include "dataplane/core/persistence.h"
#include "dataplane/core/routes.h"
#include "dataplane/core/selection.h"
#include "dataplane/core/session_view.h"
#include "dataplane/core/shared.h"
#include "model/forwarding.pb.h"
#include "model/ids.h"
#include "model/result.h"
#include "model/slots.pb.h"

namespace headgate::core {

class Switch;

/// Which bound clients are meant; empty fields match all.
struct BoundFilter {
  bool none = false;
  Ip client;  ///< as persistence keeps it
  Ip vip;
  std::uint32_t real = 0;
  std::optional<std::set<Ip>> vips;  ///< of a virtual server

  [[nodiscard]] bool operator()(const Persistence::View& view) const {
    return !none && (client.none() || client == view.key.client) && (vip.none() || vip == view.key.vip) &&
           (real == 0 || real == view.real) && (!vips || vips->contains(view.key.vip));
  }
};

/// The control thread's side of the core: turns what headgated publishes, and what the kernel says of routes,
/// into the immutable Generation that workers read, and keeps the words outside of it.
///
/// Not thread-safe: one thread calls it. After any call that may change what workers see, the caller takes
/// build() and publishes it to the workers by pointer swap, then frees the one before when all have passed.
/// State changes take effect at once, with one store each, before the next build.
class Director {
 public:
  explicit Director(Shared& shared);

  /// The workers whose counters stats() adds up; they must outlive the director.
  void set_workers(std::vector<const Switch*> workers) { workers_ = std::move(workers); }
  /// The ports that the shell could open, by the administrator's numbers; others' packets do not exist.
  void set_ports(std::vector<PortNumber> by_index);
  /// Whether publish() would take a configuration over: all that can fail.
  [[nodiscard]] Status check(const forwarding::Generation& generation) const;
  /// Takes over a configuration whole, or says why not and changes nothing. A binding of an unknown target
  /// keeps the state it has; a new one stays closed until its target's state comes.
  [[nodiscard]] Status publish(const forwarding::Generation& generation);
  /// Takes over new states; those of unknown targets are remembered for a generation to come.
  void set_states(const forwarding::States& states);
  /// Lets time pass: what follows from it (slow start, weights by response and by bandwidth) is made anew, at
  /// most once a second. True when build() has something new. States that come count as of the last tick.
  [[nodiscard]] bool tick(Tick now);
  void set_routes(std::vector<Route> routes);
  /// The addresses that ICMP errors about packets to clients are sent from.
  void set_addresses(const PortAddresses& addresses);
  /// Makes every session look up its ways out again, as set_routes does.
  void renew_hops() noexcept { ++routes_serial_; }

  /// What workers shall read from now on.
  [[nodiscard]] std::unique_ptr<const Generation> build() const;

  /// The published configuration and all states, for storing and for handing back; empty before the first
  /// publish.
  [[nodiscard]] const forwarding::Generation& published() const noexcept { return published_; }
  [[nodiscard]] forwarding::States states() const;

  /// What the slots in the memory of sessions stand for, and where counts began: to be stored before workers
  /// use what publish() made, and after clear_stats().
  [[nodiscard]] memory::Slots slots() const;
  /// Goes on with the slots of a process before, whose memory `shared` and the workers have; before the first
  /// publish(). Bindings that are not among them are closed.
  void recall(const memory::Slots& slots);

  /// All counters, over all workers; `port` is left to the shell.
  [[nodiscard]] forwarding::Stats stats() const;
  /// Connection set-up failures that were not told yet, a message for each target that had some; for one
  /// target at most once a second, so that the second message tells what came meanwhile.
  [[nodiscard]] std::vector<forwarding::TrafficFailure> traffic_failures(Tick now);
  /// Starts totals and highest values afresh; currents stay.
  void clear_stats();

  /// Whether the addresses of a filter are addresses.
  [[nodiscard]] static Status check(const forwarding::SessionFilter& filter);
  /// What a filter that was checked means to the workers.
  [[nodiscard]] SessionFilter filter(const forwarding::SessionFilter& filter) const;
  /// A session in the administrator's terms.
  [[nodiscard]] forwarding::Session describe(const SessionView& view, unsigned worker) const;

  /// Which bound clients a filter means. Ports are no matter of theirs: a filter that names one means none.
  [[nodiscard]] BoundFilter bound_filter(const forwarding::SessionFilter& filter) const;
  /// A bound client, as a session in the administrator's terms.
  [[nodiscard]] forwarding::Session describe(const Persistence::View& view) const;

 private:
  using TargetKey = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::string>;
  /// What makes two bindings the same. The group is part of it since sessions count in its tally; the
  /// addresses are, since a session goes on at them: a server that moved elsewhere is another one.
  struct BindingKey {
    std::uint32_t virt = 0;
    std::uint32_t vport = 0;
    std::uint32_t protocol = 0;
    std::uint32_t group = 0;
    std::uint32_t real = 0;
    std::uint32_t rport = 0;
    Ip vip;
    Ip rip;
    auto operator<=>(const BindingKey&) const = default;
  };
  /// 'r' real 0, 'g' group real, 'v' virt real
  using TallyKey = std::tuple<char, std::uint32_t, std::uint32_t>;

  /// Packets, octets, sessions and set-up failures, summed over the workers.
  struct Sums {
    std::uint64_t packets = 0;
    std::uint64_t octets = 0;
    std::uint64_t opened = 0;
    std::uint64_t refused = 0;
    std::uint64_t unanswered = 0;
  };
  struct Target {
    std::optional<forwarding::TargetState> state;
    std::uint32_t share = 0;   ///< of its weight, as selections have it
    std::optional<Tick> told;  ///< when traffic_failures() last had a message for it
    std::vector<std::pair<std::uint32_t, BindingSlot>> uses;  ///< index of the service, binding
  };
  struct Bound {
    BindingKey key{};
    TargetKey target;
    bool live = false;     ///< in the present layout
    bool resting = false;  ///< takes no new session, whatever its target's state
    bool was_open = false;
    bool reopened = false;          ///< it was open before it opened last
    std::optional<Tick> opened;     ///< when it opened, if that was not before the first tick
    Sums base;                      ///< what the counters showed when this binding, or the last clear, began
    Sums reported;                  ///< failures that traffic_failures() has told
    std::uint64_t octets_told = 0;  ///< what renew_octets() has seen
  };
  /// Where a server is placed.
  struct Where {
    const forwarding::Service& service;
    std::uint32_t group;
    std::uint32_t index;  ///< of the service
  };
  using ServiceKey = std::tuple<Ip, L4Port, Protocol>;
  /// What the services were, and the selections made for them.
  using SelectionsByService =
      std::map<ServiceKey, std::pair<const Service*, std::shared_ptr<const Selection>>>;
  struct TallyInfo {
    TallySlot slot = 0;
    Sums retired;  ///< traffic of bindings that are gone
  };

  [[nodiscard]] bool held(BindingSlot slot) const;
  [[nodiscard]] BindingSlot slot_for(const BindingKey& key);
  [[nodiscard]] TallySlot tally_for(const TallyKey& key);
  void add_bindings(memory::Slots& out) const;
  void recall(const memory::Binding& binding);
  bool recall(const memory::Tally& tally);
  void close_unknown();
  void reclaim_tallies();
  [[nodiscard]] Service place(const forwarding::Service& service, std::uint32_t index);
  void place_backups(const forwarding::Service& service, std::uint32_t index, Service& placed);
  /// The position in `placed` of a server, which may be there already.
  [[nodiscard]] std::uint16_t place(const Where& where, const forwarding::Member& member, Service& placed);
  void retire(BindingSlot slot);
  void fold(BindingSlot slot, const Sums& now);
  void fold_late(BindingSlot slot);
  void index_layout(Layout& layout) const;
  void set_port_flags(Layout& layout) const;
  bool admit(BindingSlot slot, const forwarding::TargetState& state);
  [[nodiscard]] SelectionsByService selections_by_service() const;
  void select_all(const SelectionsByService& before);
  void select_again(std::uint32_t index);
  [[nodiscard]] std::shared_ptr<const Selection> select_for(const Service& service, const Selection* before);
  [[nodiscard]] bool group_closed(const Service& service);
  [[nodiscard]] bool too_few(const Service& service);
  [[nodiscard]] bool formula_holds(const Service& service) const;
  [[nodiscard]] std::vector<std::uint32_t> weights(const Service& service) const;
  [[nodiscard]] std::vector<std::uint32_t> measured_weights(const Service& service) const;
  [[nodiscard]] std::uint32_t score_of(const Bound& bound) const;
  [[nodiscard]] std::uint32_t share_of(const Bound& bound) const;
  [[nodiscard]] std::uint32_t ramp_seconds(const Service& service, const Bound& bound) const;
  [[nodiscard]] bool ramping(const Service& service) const;
  void count_activations(const Service& service, const Selection& selection, const Selection* before);
  void renew_octets();
  void take_state(const forwarding::TargetState& state, std::set<std::uint32_t>& touched);
  [[nodiscard]] Sums sums(BindingSlot slot) const;
  [[nodiscard]] Sums traffic_since_base(BindingSlot slot) const;
  [[nodiscard]] forwarding::TrafficFailure untold(const TargetKey& key, const Target& target);
  [[nodiscard]] std::array<TallyKey, 3> tallies_of(BindingSlot slot) const;
  [[nodiscard]] forwarding::SessionCounts counts(const TallyInfo& info, const Sums& traffic) const;
  /// What is counted for the whole switch, since its memory was made.
  [[nodiscard]] memory::Base totals() const;
  void add_totals(forwarding::Stats& stats) const;
  void add_rows(forwarding::Stats& stats) const;

  Shared& shared_;
  std::vector<const Switch*> workers_;
  std::vector<PortNumber> ports_;
  forwarding::Generation published_;
  std::map<TargetKey, Target> targets_;
  std::map<std::uint32_t, forwarding::RealOperation> operations_;  ///< by real server
  std::vector<Bound> bound_;                                       ///< by slot
  std::map<BindingKey, BindingSlot> slots_;                        ///< of the present layout
  std::deque<BindingSlot> free_;                                   ///< retired longest ago first
  std::vector<BindingSlot> lingering_;  ///< of these, those that sessions may still hold
  std::map<TallyKey, TallyInfo> tallies_;
  std::vector<TallySlot> free_tallies_;
  std::shared_ptr<const Layout> layout_;
  std::vector<std::shared_ptr<const Selection>> selections_;
  std::set<std::uint32_t> touched_;     ///< services whose members' states a publish changed
  std::set<ServiceKey> closed_groups_;  ///< of which too few members were available, till enough are
  std::map<std::uint32_t, std::uint64_t> octets_;  ///< by real server: moving average over the intervals
  std::optional<Tick> now_;
  std::optional<Tick> selected_;  ///< when ramps were looked at
  std::optional<Tick> weighed_;   ///< when weights by response and bandwidth were made
  std::shared_ptr<const Routes> routes_;
  std::shared_ptr<const PortAddresses> addresses_;
  std::uint64_t routes_serial_ = 0;
  memory::Base base_;  ///< totals() at the last clear
};

}  // namespace headgate::core
