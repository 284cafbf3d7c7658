// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "dataplane/core/fate.h"
#include "dataplane/core/routes.h"
#include "model/forwarding.pb.h"
#include "tests/model/plain_fragments.h"
#include "tests/model/plain_icmp.h"
#include "tests/model/plain_session.h"

namespace headgate::testing::plain {

/// A frame that the switch sends, or holds until its neighbour is known.
struct Sent {
  Wire wire;
  bool held = false;
  bool operator==(const Sent&) const = default;
};

/// What became of one frame.
struct Outcome {
  core::Fate fate = core::Fate::punt;
  std::optional<Sent> sent = {};  ///< itself, or the answer in its place
  std::vector<Sent> own = {};     ///< packets that the switch made beside
  std::uint32_t mtu = 0;          ///< of drop_too_big: what had to fit
  // Of a fragment whose time has not come: it has no fate yet, and is not counted.
  std::uint64_t waits_for = 0;  ///< the datagram whose first fragment it waits for
  std::uint32_t handed_as = 0;  ///< the ports of its flow, which another worker has
};

/// What the plain switch can't know of the real one: which of several servers it chose, and which of its
/// workers has what.
struct Choice {
  core::Fate fate = core::Fate::punt;
  Ip server;  ///< where a frame with fate to_real went
  std::uint16_t port = 0;
  std::uint32_t mtu = 0;  ///< what a sender whose packet is too big was told; 0: nothing
  unsigned worker = 0;    ///< which one had the frame: each limits its own errors
  bool handed = false;    ///< a fragment whose session is another worker's
  std::size_t room = 0;   ///< packets that the worker may make of its own, beside the frame
  // Of a fragment that comes again:
  std::uint64_t waited_for = 0;
  std::uint32_t handed_as = 0;
  /// Of a frame that came alone: whether the real switch still has the session of this client, VIP, port and
  /// protocol.
  std::function<bool(const Session&)> remembers;
  /// Likewise: the number of the server to which the real switch has bound a client; 0: none.
  std::function<std::uint32_t(const ClientKey&)> bound_to;
};

/// 'r' real 0, 'g' group real, 'v' virt real
using TallyKey = std::tuple<char, std::uint32_t, std::uint32_t>;
struct Tally {
  std::uint64_t current = 0, highest = 0, total = 0, packets = 0, octets = 0;
  bool operator==(const Tally&) const = default;
};

/// A session switch that is right because it is plain: maps and lists, whole packets, every rule written
/// once, no thought for speed. The real one is compared with it.
///
/// The order of the rules for one packet: headers; of a fragment, its datagram; then of a session: side of
/// the port, flags, time to live, whether it opens anew, whether it was ended, route, size, window; then
/// without one: service, side of the port, LAND, opening, martian, time to live, choice, route, size, room.
/// Of an ICMP error: what it quotes, session, side of the port, whether that was ended, time to live, route,
/// size.
class PlainSwitch {
 public:
  explicit PlainSwitch(std::size_t capacity) : capacity_(capacity) {}

  void publish(const forwarding::Generation& generation);
  void set_states(const forwarding::States& states);
  void set_routes(std::vector<core::Route> routes) { routes_ = std::move(routes); }
  /// The switch's own addresses, by port and whether they are of IPv6.
  void set_addresses(std::map<std::pair<unsigned, bool>, Ip> addresses) { addresses_ = std::move(addresses); }
  void set_mtu(unsigned port, std::uint16_t mtu) { mtus_[port] = mtu; }
  void resolve(unsigned port, const Ip& neighbour) { neighbours_.insert({port, neighbour}); }
  void forget(unsigned port, const Ip& neighbour) { neighbours_.erase({port, neighbour}); }

  /// What has to become of a frame. Where several servers may be chosen, the real switch's choice is taken
  /// if it was allowed; `complaint` tells when it was not.
  Outcome pass(const Wire& frame, const Choice& choice, Tick now);
  /// Forgets every session whose time is over; resets that it made come out in no particular order.
  std::vector<Sent> sweep(Tick now);
  /// Which of a client's sessions the sweep ended last: no order is promised.
  void agree(const ClientKey& key, std::uint32_t seconds);
  /// Forgets every bound client whose time is over.
  void sweep_clients(Tick now) {
    std::erase_if(clients_, [&](const auto& entry) { return entry.second.over(now); });
  }
  /// Forgets every fragmented datagram whose time is over.
  void sweep_fragments(Tick now) { fragments_.expire(now); }
  void clear_stats();

  [[nodiscard]] const std::list<Session>& sessions() const { return sessions_; }
  [[nodiscard]] const std::map<TallyKey, Tally>& tallies() const { return tallies_; }
  [[nodiscard]] const std::map<BindingKey, std::shared_ptr<Binding>>& bindings() const { return bindings_; }
  [[nodiscard]] const std::map<ClientKey, BoundClient>& clients() const { return clients_; }
  [[nodiscard]] std::uint64_t terminated() const { return terminated_; }
  [[nodiscard]] std::uint64_t resets() const { return resets_; }
  [[nodiscard]] std::uint64_t errors() const { return errors_; }
  [[nodiscard]] std::uint64_t errors_withheld() const { return errors_withheld_; }
  [[nodiscard]] std::uint64_t packets_in() const { return packets_in_; }
  [[nodiscard]] std::uint64_t fate(core::Fate fate) const { return fates_[static_cast<std::size_t>(fate)]; }
  [[nodiscard]] std::uint64_t half_open() const;
  /// Since the start, whatever is cleared.
  struct Begun {
    std::uint64_t sessions = 0;
    std::uint64_t handshakes = 0;  ///< also those for which there was no room
    std::uint64_t settled = 0;     ///< completed by the client, or refused by the server
  };
  [[nodiscard]] const Begun& begun() const { return begun_; }
  [[nodiscard]] const Fragments& fragments() const { return fragments_; }
  /// Datagrams in fragments.
  [[nodiscard]] std::uint64_t fragmented() const { return fragments_.total() - fragmented_before_; }
  /// Failures to set up connections that were not told yet, by target; for one target once a second.
  std::map<TargetKey, std::pair<std::uint32_t, std::uint32_t>> take_failures(Tick now);
  /// A sentence about a choice that was not allowed; empty when there was none.
  [[nodiscard]] const std::string& complaint() const { return complaint_; }

 private:
  using Found = std::list<Session>::iterator;
  /// A server of a group, and who stands in for it while it is down.
  struct Place {
    std::shared_ptr<Binding> member;
    bool overflow = false;  ///< they also do while it is full
    std::vector<std::shared_ptr<Binding>> backups;
  };
  struct Service {
    std::vector<std::vector<Place>> tiers;          ///< its group, then those that step in, in their order
    std::vector<std::shared_ptr<Binding>> members;  ///< all of these, each once
    forwarding::Metric metric = forwarding::LEASTCONNS;
    bool drop_fragments = false;
    std::uint32_t group = 0;
    std::uint32_t persist_seconds = 0;
    std::uint32_t least = 0, enough = 0;    ///< minthrsh, maxthrsh
    bool closed = false;                    ///< too few servers of its group are available
    std::vector<forwarding::Term> formula;  ///< advhlth
    bool untrue = false;                    ///< that is false

    [[nodiscard]] bool takes_nothing() const { return closed || untrue; }
  };
  struct ServiceKey {
    Ip vip;
    std::uint16_t vport = 0;
    std::uint8_t protocol = 0;
    auto operator<=>(const ServiceKey&) const = default;
  };
  /// A frame and what belongs to it.
  struct Packet {
    const Wire& wire;
    View view;
    Tick now;
    std::size_t room;
  };

  /// What persistence says of the client of a packet.
  struct Remembered {
    std::optional<ClientKey> key;   ///< none: the service has no persistence
    std::shared_ptr<Binding> home;  ///< null: any server may take it
  };

  [[nodiscard]] Service take_service(const forwarding::Service& service);
  std::shared_ptr<Binding> take_member(const forwarding::Service& service, std::uint32_t group,
                                       const forwarding::Member& member);
  struct State {
    forwarding::Admission admission = forwarding::CLOSED;
    bool persistent = false;
  };
  void admit(Binding& binding, State state);
  [[nodiscard]] static bool is_false(const Service& service);
  void close_groups();
  void forget_targets();

  /// Nothing when the packet is whole, or its flow is known now.
  std::optional<Outcome> gather(Packet& packet, const Choice& choice);
  Outcome decide(const Packet& packet, const Choice& choice);
  Outcome of_session(const Packet& packet, Found session, bool from_client, const Choice& choice);
  Outcome without_session(const Packet& packet, const Choice& choice);
  Outcome open(const Packet& packet, const Service& service, const Choice& choice);
  Outcome open_at(const Packet& packet, const Service& service, const Choice& choice,
                  const std::vector<std::shared_ptr<Binding>>& candidates, const Remembered& client);
  Outcome bind(const Packet& packet, const std::shared_ptr<Binding>& binding,
               const std::optional<ClientKey>& client);
  Outcome forward(const Packet& packet, Session& session, bool from_client);
  Outcome end_terminated(const Packet& packet, Session& session, bool from_client);
  Outcome of_error(const Packet& packet);
  Outcome forward_error(const Packet& packet, const Error& error, Session& session, bool from_client);
  std::optional<Sent> complain(const Packet& packet, const Outcome& outcome, unsigned worker);
  [[nodiscard]] bool may_complain(unsigned worker, core::Fate fate, Tick now);
  Sent answer(const Packet& packet, const Bytes& frame) const;
  void note(const Packet& packet, Session& session, bool from_client);

  [[nodiscard]] std::optional<core::Fate> may_open(const Packet& packet) const;
  /// Whether it may leave in so large pieces.
  [[nodiscard]] static bool leaves(const Packet& packet, std::uint32_t mtu);
  [[nodiscard]] Outcome refused(core::Fate fate, const Binding& chosen) const;
  [[nodiscard]] core::Fate fate_at(const Packet& packet, const Binding& binding);
  [[nodiscard]] std::uint64_t sessions_of(const Binding& binding) const;
  [[nodiscard]] bool takes(const Binding& binding) const;
  using Bindings = std::vector<std::shared_ptr<Binding>>;
  /// Who takes new sessions, and who does when none of these is left.
  struct Takers {
    Bindings first, last;
    [[nodiscard]] bool empty() const { return first.empty() && last.empty(); }
  };
  void add_takers(const Place& place, Takers& takers) const;
  [[nodiscard]] Takers takers(const Service& service) const;
  [[nodiscard]] Takers takers(const Service& service, std::size_t tier) const;
  [[nodiscard]] bool takes_part(const Service& service, const Binding& binding) const;
  [[nodiscard]] bool is_open(const Service& service, std::size_t tier) const;
  [[nodiscard]] bool stands_in(const Place& place, const Binding& binding) const;
  [[nodiscard]] Remembered remember(const Packet& packet, const Service& service) const;
  [[nodiscard]] std::shared_ptr<Binding> home(const Service& service, std::uint32_t real) const;
  void bind_client(const ClientKey& key, const std::vector<std::shared_ptr<Binding>>& takers,
                   const Choice& choice);
  void let_go(const ClientKey& key, std::uint32_t seconds, Tick now);
  void let_go(Session& session, Tick now);
  [[nodiscard]] bool is_free(const Packet& packet, const Binding& binding);
  void forget_as(const Choice& choice, const Packet& packet, const Service& service);
  [[nodiscard]] std::uint64_t load_of(const Binding& binding) const;
  [[nodiscard]] bool is_least_loaded(const Service& service, const Packet& packet, const Binding& chosen);
  [[nodiscard]] Found holder(const Packet& packet, const Binding& binding);
  Sent send(const Bytes& frame, const Way& way) const;
  Sent answer_reset(const Packet& packet);
  /// What a reset says.
  struct Numbers {
    std::uint32_t sequence = 0;
    std::uint32_t acknowledgement = 0;  ///< in its field even when it does not count
    bool acknowledges = false;
  };
  Sent tell(Session& session, bool to_client, const Numbers& numbers);
  Found find(const View& view, bool& from_client);
  void count(const Session& session, int change);
  void uncount(Session& session);
  Found forget(Found session, Tick now);
  [[nodiscard]] std::uint32_t lifetime(const Session& session) const;
  [[nodiscard]] std::optional<Way> way_to(const Ip& address) const;
  [[nodiscard]] bool find_ways(Session& session) const;
  [[nodiscard]] bool is_vip(const Ip& address) const;
  /// To a VIP, or from the address of a real server.
  [[nodiscard]] bool concerns(const View& view) const;
  [[nodiscard]] bool is_real(const View& view) const;
  [[nodiscard]] static std::array<TallyKey, 3> tallies_of(const Binding& binding);

  std::size_t capacity_;
  std::map<ServiceKey, Service> services_;
  std::map<BindingKey, std::shared_ptr<Binding>> bindings_;
  std::map<TargetKey, State> states_;
  std::map<TargetKey, std::uint32_t> shares_;  ///< of their weight, as told; outlast a whole message
  std::map<TargetKey, Tick> told_;
  std::set<unsigned> client_ports_, server_ports_;
  std::vector<core::Route> routes_;
  std::map<unsigned, std::uint16_t> mtus_;
  std::set<std::pair<unsigned, Ip>> neighbours_;
  std::map<std::pair<unsigned, bool>, Ip> addresses_;
  /// Errors of one kind that a worker may send, in thousandths, and since when.
  struct Stock {
    std::uint64_t thousandths = 0;
    Tick since;
  };
  std::map<std::pair<unsigned, core::Fate>, Stock> stocks_;
  std::uint32_t closed_ticks_ = 0;
  unsigned persist_bits4_ = 32, persist_bits6_ = 128;
  bool check_resets_ = false;
  bool answer_closed_ports_ = false;

  Fragments fragments_;
  std::uint64_t fragmented_before_ = 0;
  std::list<Session> sessions_;
  std::map<ClientKey, BoundClient> clients_;
  std::map<TallyKey, Tally> tallies_;
  std::array<std::uint64_t, core::kFates> fates_{};
  std::uint64_t packets_in_ = 0, terminated_ = 0, resets_ = 0, errors_ = 0, errors_withheld_ = 0;
  Begun begun_;
  std::string complaint_;
};

}  // namespace headgate::testing::plain
