// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "controlplane/control/service.h"

namespace boost::asio {
class io_context;
}

namespace headgate::control {

/// Listens on control.sock. What a client does wrong, and how slowly it reads or writes, costs it its own
/// connection and nobody else's.
class Server {
 public:
  virtual ~Server() = default;
  virtual void stop() = 0;
};

/// Replaces a socket that an earlier headgated left behind.
[[nodiscard]] Result<std::unique_ptr<Server>> serve(boost::asio::io_context& context, const std::string& path,
                                                    Service& service);

/// The level of the process behind a connected Unix socket: root and group headgate: admin; group
/// headgate-oper: slboper; everybody else: user.
[[nodiscard]] Peer peer_of(int socket);

}  // namespace headgate::control
