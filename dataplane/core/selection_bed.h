// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "dataplane/core/selection.h"

// One service and its servers, as the tests of selections see them.
namespace headgate::core {

inline constexpr std::array kMetrics = {forwarding::LEASTCONNS, forwarding::ROUNDROBIN, forwarding::HASH,
                                        forwarding::MINMISSES,  forwarding::PHASH,      forwarding::RESPONSE,
                                        forwarding::BANDWIDTH,  forwarding::SVCLEAST,   forwarding::HEALTH};

[[nodiscard]] constexpr Ipv4 client(std::uint32_t number) {
  return {0x0a000000u + number};
}

/// Members 0, 1, ... bound to slots and tallies of the same numbers, all open, in one group.
struct Choice {
  Shared shared;
  Service service;
  unsigned workers = 1;
  std::shared_ptr<const Selection> selection;

  Choice(forwarding::Metric metric, const std::vector<int>& weights, unsigned workers = 1)
      : workers(workers) {
    service.metric = metric;
    service.tiers.resize(1);
    for (const int weight : weights) service.tiers[0].push_back({.member = add(weight)});
    renew();
  }
  std::uint16_t add(int weight = 1) {
    const auto m = static_cast<std::uint16_t>(service.members.size());
    service.members.push_back({.binding = m,
                               .rip = Ipv4{0x0a020000u + m},
                               .rport = 80,
                               .weight = static_cast<std::uint16_t>(weight),
                               .real = m,
                               .number = m + 1u});
    shared.admit(m, forwarding::OPEN);
    return m;
  }
  Place& place(std::size_t number) { return service.tiers[0][number]; }
  void admit(std::uint16_t member, forwarding::Admission admission) {
    shared.admit(member, admission);
    renew();
  }
  void renew() {
    const auto before = selection;
    selection = select(service, shared, {.workers = workers, .before = before.get()});
  }
  /// The member that takes the session of a client, -1: none. It stays open.
  int next(Ipv4 from = client(77), unsigned worker = 0, L4Port port = 1) {
    const Member* member = pick(service, *selection, shared, {from, port, worker});
    if (member == nullptr) return -1;
    shared.current[member->binding].fetch_add(1);
    return static_cast<int>(member->binding);
  }
  void end(int member) {
    shared.give_back(static_cast<TallySlot>(member));
    shared.current[static_cast<std::size_t>(member)].fetch_sub(1);
  }
  std::uint32_t sessions(std::size_t member) const { return shared.tallies[member].current.load(); }
  std::map<int, int> spread(int count, bool stay) {
    std::map<int, int> taken;
    for (int i = 0; i < count; ++i) {
      const int member = next(client(static_cast<std::uint32_t>(i)));
      ++taken[member];
      if (!stay && member >= 0) end(member);
    }
    return taken;
  }
  std::vector<int> assignment(int clients) {
    std::vector<int> out;
    for (int i = 0; i < clients; ++i) {
      out.push_back(next(client(static_cast<std::uint32_t>(i))));
      end(out.back());
    }
    return out;
  }
};

}  // namespace headgate::core
