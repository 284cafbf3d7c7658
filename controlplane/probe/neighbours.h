// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <memory>

#include "controlplane/probe/prober.h"

namespace boost::asio {
class io_context;
}

namespace headgate::probe {

/// Asks neighbours for their Ethernet addresses: ARP and neighbour discovery, of all targets over one socket
/// a family. The kernel's own table of neighbours is neither asked nor touched: what it knows may be old, and
/// what somebody has written into it is not ours. An answer is one to this machine, on the interface where it
/// was asked; it answers all that wait for that neighbour.
class Neighbours {
 public:
  /// A probe under way.
  struct Id {
    Ip address;
    std::uint64_t number = 0;
    auto operator<=>(const Id&) const = default;
  };

  explicit Neighbours(boost::asio::io_context& context);
  ~Neighbours();
  /// `on_result` is called once, never from inside of start() and never after cancel(). Who is not on a
  /// connected network fails.
  Id start(const Ip& address, Prober::OnResult on_result);
  void cancel(const Id& id);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace headgate::probe
