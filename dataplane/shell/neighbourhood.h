// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "dataplane/core/generation.h"
#include "dataplane/core/hops.h"
#include "dataplane/core/routes.h"
#include "dataplane/shell/kernel_mirror.h"
#include "dataplane/shell/ports.h"

namespace headgate::shell {

/// Carries what the kernel knows of neighbours and routes over to the core, and what the core needs to know
/// of neighbours back to the kernel. The kernel never sees the clients' packets, so it has to be told which
/// neighbours are in use.
class Neighbourhood {
 public:
  Neighbourhood(KernelMirror& mirror, core::Hops& hops) : mirror_(mirror), hops_(hops) {}

  /// Call first when ports or links have changed.
  void set_ports(const Ports& ports);
  /// The main table's routes that lead out of our ports.
  [[nodiscard]] std::vector<core::Route> routes() const;
  /// The addresses on our ports that are no VIPs.
  [[nodiscard]] core::PortAddresses addresses(const std::set<Ip>& vips) const;

  /// Brings all slots into step with the kernel, or those of the named neighbours.
  void sync_all();
  void sync(const std::set<KernelMirror::NeighbourKey>& changed);
  /// Asks for the next hops that packets wait for; for each at most 20 times a second.
  void want(std::span<const core::HopIndex> hops, std::uint64_t now_ns);
  /// Once a second: has the kernel verify the neighbours in use that it calls stale, and asks again for those
  /// that packets wait for. Returns how many unresolved slots nobody has used for a while: worth a reclaim.
  std::size_t renew(Tick now, std::uint64_t now_ns);

  /// Unresolved slots that nobody used for so long may be freed.
  static constexpr std::uint32_t kForgottenSeconds = 10;

 private:
  [[nodiscard]] std::optional<core::PortIndex> port_of(int interface_index) const;
  void carry_over(const netlink::Neighbour& neighbour, core::PortIndex port);
  void solicit(core::HopIndex index, const core::Hops::Neighbour& neighbour, std::uint64_t now_ns);

  KernelMirror& mirror_;
  core::Hops& hops_;
  std::map<int, core::PortIndex> port_by_interface_;
  std::map<core::PortIndex, int> interface_by_port_;
  std::map<core::HopIndex, std::uint64_t> asked_ns_;
};

}  // namespace headgate::shell
