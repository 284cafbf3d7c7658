// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "dataplane/core/routes.h"
#include "model/forwarding.pb.h"
#include "tests/model/dice.h"
#include "tests/packet/wire.h"

namespace headgate::testing {

/// A configuration that changes at random, small enough for its parts to meet: virtual servers 1 to 4, real
/// servers 1 to 6 that serve several of them, few ports. Port 1 of the switch leads to the clients, 2 and 3
/// to the servers.
///
/// Addresses: 10.10.N.H or 2001:db8:N::H, N the port of the switch that leads there. Virtual server 4 is of
/// IPv6, as are its servers' addresses then.
class RandomSite {
 public:
  static constexpr unsigned kPorts = 3;
  static constexpr std::uint32_t kVirts = 4, kReals = 6;

  /// Whether servers have limits, backups, groups that step in, and clients of their own.
  enum class Limits : std::uint8_t { none, some };
  RandomSite(Dice& dice, Limits limits = Limits::none);

  /// Changes something: a service, a member, a setting.
  void change(Dice& dice);
  [[nodiscard]] forwarding::Generation generation() const;
  /// New states for some targets; now and then for all, as after a restart of headgated.
  [[nodiscard]] forwarding::States states(Dice& dice) const;
  /// Routes to all networks, or with a gateway, or with one missing.
  [[nodiscard]] std::vector<core::Route> routes(Dice& dice) const;

  /// The switch's own addresses, by port and whether they are of IPv6; now and then one is missing.
  [[nodiscard]] static std::map<std::pair<unsigned, bool>, Ip> addresses(Dice& dice);

  [[nodiscard]] static Ip address(unsigned net, std::uint32_t host, bool ipv6);
  [[nodiscard]] static bool is_ipv6(std::uint32_t virt) { return virt == kVirts; }
  [[nodiscard]] static Ip vip(std::uint32_t virt) { return address(1, 99 + virt, is_ipv6(virt)); }
  [[nodiscard]] Ip rip(std::uint32_t real, bool ipv6) const;
  /// The port of the switch that leads to a real server.
  [[nodiscard]] static unsigned port_of(std::uint32_t real) { return 2 + real % 2; }
  struct Service {
    std::uint32_t virt = 1;
    std::uint16_t vport = 80;
    std::uint16_t rport = 8080;
    std::uint8_t protocol = kTcp;
    std::uint32_t group = 1;
    forwarding::Metric metric = forwarding::LEASTCONNS;
    bool fast_udp = false;
    bool reset_on_expiry = false;
    bool drop_fragments = false;
    std::uint32_t persist_seconds = 0;
    std::uint32_t least = 0, enough = 0;                          ///< minthrsh, maxthrsh
    std::vector<forwarding::Term> formula;                        ///< advhlth
    std::map<std::uint32_t, std::uint32_t> weights;               ///< by real server
    std::set<std::uint32_t> overflowing, resting;                 ///< real servers
    std::map<std::uint32_t, std::vector<std::uint32_t>> backups;  ///< by real server
    struct Fallback {
      std::uint32_t group = 0;
      std::vector<std::uint32_t> reals;
    };
    std::vector<Fallback> fallbacks;
  };
  [[nodiscard]] const std::vector<Service>& services() const { return services_; }

 private:
  const Limits limits_;
  [[nodiscard]] Service random_service(Dice& dice) const;
  static void add_stand_ins(Dice& dice, Service& service);
  static void add_formula(Dice& dice, Service& service);
  void add_service(Dice& dice);
  void change_service(Dice& dice, Service& service);
  void change_settings(Dice& dice);
  [[nodiscard]] forwarding::Member member(const Service& from, std::uint32_t real) const;
  [[nodiscard]] forwarding::Service service(const Service& from) const;

  std::vector<Service> services_;
  std::map<std::uint32_t, std::uint32_t> idle_seconds_;  ///< by real server
  std::map<std::uint32_t, std::uint32_t> maxcons_;       ///< likewise
  std::set<std::uint32_t> moved_;                        ///< real servers with another address
  std::set<std::uint32_t> http_;                         ///< real servers with another health check
  bool client_processing_ = true, server_processing_ = true;
  bool check_resets_ = true, answer_closed_ports_ = false;
  std::uint32_t closed_seconds_ = 1;
  std::uint32_t persist_bits_ = 0;  ///< 0: all
  std::uint64_t number_ = 0;
};

}  // namespace headgate::testing
