// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/shell/netlink.h"
#include "model/ip.h"
#include "model/result.h"

struct mnl_socket;

namespace headgate::shell {

/// What the kernel of this network namespace knows of links, addresses, neighbours and routes, kept in step
/// through netlink.
class KernelMirror {
 public:
  using NeighbourKey = std::pair<int, Ip>;  ///< interface index and address

  /// What changed since the caller asked before.
  struct Changes {
    bool links = false;
    bool addresses = false;
    bool routes = false;
    bool all_neighbours = false;        ///< any may have changed
    std::set<NeighbourKey> neighbours;  ///< these have

    [[nodiscard]] bool any() const noexcept {
      return links || addresses || routes || all_neighbours || !neighbours.empty();
    }
  };

  /// Subscribes, then reads everything there is.
  [[nodiscard]] Status open();
  /// To be polled for reading.
  [[nodiscard]] int fd() const noexcept;
  /// Takes over all messages that wait; reads everything anew when the kernel had to drop some. When that
  /// fails, what was known stays, and the next call tries again.
  [[nodiscard]] Status read();
  /// Hands out the changes so far, and forgets them.
  [[nodiscard]] Changes take_changes() { return std::exchange(changes_, {}); }

  /// Asks the kernel to find out a neighbour, or to verify one that it has not heard of for a while.
  void solicit(int interface_index, const Ip& address);

  [[nodiscard]] const netlink::Link* link(const std::string& name) const;
  [[nodiscard]] const std::vector<netlink::Route>& routes() const noexcept { return known_.routes; }
  [[nodiscard]] std::set<Ip> addresses() const;
  /// The lowest address of an interface in a family that is none of `others` and not link-local; none when
  /// there is none.
  [[nodiscard]] Ip address_on(int interface_index, bool v6, const std::set<Ip>& others) const;
  [[nodiscard]] const std::map<NeighbourKey, netlink::Neighbour>& neighbours() const noexcept {
    return known_.neighbours;
  }

 private:
  struct Close {
    void operator()(mnl_socket* socket) const noexcept;
  };
  using Socket = std::unique_ptr<mnl_socket, Close>;

  [[nodiscard]] Status resync();
  [[nodiscard]] Status reread_routes();
  /// Takes a list over, of both families when it has some.
  [[nodiscard]] Status dump(std::uint16_t type);
  [[nodiscard]] Status dump(std::uint16_t type, unsigned char family);
  /// Takes a list over; false when it changed while it was read, and may have gaps.
  [[nodiscard]] Result<bool> dump_once(std::uint16_t type, unsigned char family);
  void take(const nlmsghdr* message);
  void apply(const netlink::Link& link);
  void apply(const netlink::Address& address);
  void apply(const netlink::Neighbour& neighbour);
  void apply(const netlink::Route& route);
  void apply(const netlink::Ignored&) {}

  Socket events_;
  Socket requests_;
  std::uint32_t sequence_ = 0;
  Changes changes_;
  bool all_doubtful_ = false;  ///< messages were lost
  bool routes_doubtful_ =
      false;  ///< the kernel says nothing of routes that vanish with their link or address

  struct Tables {
    std::map<int, netlink::Link> links;
    std::set<std::pair<int, Ip>> addresses;
    std::map<NeighbourKey, netlink::Neighbour> neighbours;
    std::vector<netlink::Route> routes;
  };
  Tables known_;
};

}  // namespace headgate::shell
