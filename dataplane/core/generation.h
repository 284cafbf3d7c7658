// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "dataplane/core/flow_key.h"
#include "dataplane/core/routes.h"
#include "dataplane/core/shared.h"
#include "model/forwarding.pb.h"
#include "model/ip.h"

namespace headgate::core {

/// A real server that may take sessions of a service.
struct Member {
  BindingSlot binding = kNoBinding;
  Ip rip;
  L4Port rport = 0;
  std::uint16_t weight = 1;
  TallySlot real = 0;        ///< sessions of the server over all services, for leastconns and maxcon
  std::uint32_t number = 0;  ///< the administrator's
  std::uint32_t maxcon = 0;  ///< sessions of the server, from which on it takes no new one; 0: any number

  bool operator==(const Member&) const = default;
};

/// A server's place in a group, and who stands in for it there. Numbers are positions in Service::members.
struct Place {
  std::uint16_t member = 0;
  bool overflow = false;  ///< at its maxcon the stand-ins take its new sessions
  std::vector<std::uint16_t> backups;

  bool operator==(const Place&) const = default;
};

/// One term of a formula over the servers of a group, in postfix order.
struct FormulaTerm {
  forwarding::Term::Join join = forwarding::Term::MEMBER;
  std::uint32_t real = 0;  ///< the administrator's number, of MEMBER

  bool operator==(const FormulaTerm&) const = default;
};

/// One VIP and port of one protocol.
struct Service {
  Ip vip;
  L4Port vport = 0;
  Protocol protocol = Protocol::tcp;
  forwarding::Metric metric = forwarding::LEASTCONNS;
  /// All servers that sessions may be bound to: members of its group and of those that step in, and backups.
  std::vector<Member> members;
  /// Its group, then those that step in, in their order, when none of the tiers before takes a session.
  std::vector<std::vector<Place>> tiers;
  std::uint8_t hash_bits = 0;  ///< of the client's address; 0: all
  bool hash_port = false;
  bool drop_fragments = false;  ///< frag dis
  std::uint32_t slow_start_seconds = 0;
  std::uint32_t min_available = 0;
  std::uint32_t max_available = 0;
  std::uint32_t persist_seconds = 0;  ///< 0: no persistence
  std::uint32_t group = 0;            ///< the administrator's number
  /// Positions of members by the administrator's numbers, in order.
  std::vector<std::pair<std::uint32_t, std::uint16_t>> by_number;
  std::vector<FormulaTerm> formula;  ///< its group is closed while it is false; without terms it is true

  bool operator==(const Service&) const = default;
};

struct Selection;

/// A small open-addressing table from an address, port and protocol to a number; built once, then read only.
class EndpointTable {
 public:
  struct Entry {
    Ip address;
    L4Port port = 0;
    Protocol protocol = Protocol::tcp;
    std::uint32_t value = 0;
  };
  EndpointTable() = default;
  explicit EndpointTable(std::span<const Entry> entries);
  [[nodiscard]] const std::uint32_t* find(const Ip& address, L4Port port, Protocol protocol) const noexcept;

 private:
  struct alignas(32) Slot {
    Ip address;
    L4Port port = 0;
    std::uint8_t protocol = 0;  ///< 0: empty
    std::uint32_t value = 0;
  };
  [[nodiscard]] std::size_t start_of(const Ip& address, L4Port port, Protocol protocol) const noexcept;
  std::vector<Slot> slots_;
};

/// The part of a generation that only an apply changes.
struct Layout {
  std::vector<Service> services;
  EndpointTable by_vip;             ///< (VIP, vport, protocol) -> index of the service
  EndpointTable vips;               ///< (VIP, 0, icmp) -> 0, for every VIP
  EndpointTable former_vips;        ///< likewise, for those that went while sessions of theirs are remembered
  EndpointTable by_real;            ///< (rip, rport, protocol) -> 0, for every real service
  EndpointTable reals;              ///< (rip, 0, icmp) -> 0, for every address of a real service
  BySide<std::uint64_t> ports;      ///< by the side whose packets may come in: a bit for each PortIndex
  std::uint8_t persist_bits4 = 32;  ///< of an IPv4 address: they make one client, to persistence
  std::uint8_t persist_bits6 = 128;

  [[nodiscard]] bool is_vip(const Ip& address) const noexcept {
    return vips.find(address, 0, Protocol::icmp) != nullptr;
  }
  /// Whether a packet is the switch's by its addresses alone: to a VIP, or from a real server.
  [[nodiscard]] bool concerns(const FlowKey& key) const noexcept {
    return is_vip(key.destination) || reals.find(key.source, 0, Protocol::icmp) != nullptr;
  }
  /// A VIP, or one until lately: who sends to it is a client.
  [[nodiscard]] bool is_or_was_vip(const Ip& address) const noexcept {
    return is_vip(address) || former_vips.find(address, 0, Protocol::icmp) != nullptr;
  }
  [[nodiscard]] bool is_real(const Ip& address, L4Port port, Protocol protocol) const noexcept {
    return by_real.find(address, port, protocol) != nullptr;
  }
  [[nodiscard]] std::optional<std::uint32_t> service(const Ip& vip, L4Port vport,
                                                     Protocol protocol) const noexcept {
    const std::uint32_t* index = by_vip.find(vip, vport, protocol);
    return index == nullptr ? std::nullopt : std::optional(*index);
  }
};

/// The addresses of this box on its ports, to speak from; none where a port has none of that family.
struct PortAddresses {
  std::array<Ip, kMaxPorts> v4{};
  std::array<Ip, kMaxPorts> v6{};

  [[nodiscard]] const Ip& of(PortIndex port, bool of_v6) const noexcept {
    return of_v6 ? v6[port] : v4[port];
  }
  bool operator==(const PortAddresses&) const = default;
};

/// What workers read between two swaps: immutable, cheap to make from the one before.
struct Generation {
  std::shared_ptr<const Layout> layout;
  std::vector<std::shared_ptr<const Selection>> selections;  ///< by index of the service
  std::shared_ptr<const Routes> routes;
  std::shared_ptr<const PortAddresses> addresses;
  /// A session whose hops are of another version looks them up again. It comes round; a sweep marks what is
  /// out of date long before.
  std::uint16_t routes_version = 0;
  std::uint64_t routes_serial = 0;  ///< the same without end
};

}  // namespace headgate::core
