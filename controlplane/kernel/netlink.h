// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "controlplane/kernel/reconcile.h"
#include "model/result.h"

namespace headgate::kernel {

struct LinkInfo {
  int index = 0;
  bool up = false;
  Mac mac;
};

/// Requests to the kernel over rtnetlink. Each call is complete when it returns.
class Netlink {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Netlink>> open();
  virtual ~Netlink() = default;

  [[nodiscard]] virtual Result<std::map<std::string, LinkInfo>> links() = 0;
  /// All addresses, and of the main table the routes that have a gateway and the subnets.
  [[nodiscard]] virtual Result<Placed> placed() = 0;
  [[nodiscard]] virtual Result<std::map<Ip, Mac>> neighbours() = 0;

  [[nodiscard]] virtual Status set_up(int index) = 0;
  /// Adding what is there, and removing what is not, succeed. An address of IPv6 is usable at once, without
  /// detection of duplicates; one whose prefix is all of it, as that of a VIP, is never a source of its own
  /// accord.
  [[nodiscard]] virtual Status add(const PlacedAddress& address, int index, const Ip& broadcast) = 0;
  [[nodiscard]] virtual Status remove(const PlacedAddress& address, int index) = 0;
  /// The route to an address's subnet, as the kernel makes it with the address.
  [[nodiscard]] virtual Status add_subnet(const PlacedAddress& address, int index) = 0;
  [[nodiscard]] virtual Status add(const Route& route) = 0;
  [[nodiscard]] virtual Status remove(const Route& route) = 0;
};

}  // namespace headgate::kernel
