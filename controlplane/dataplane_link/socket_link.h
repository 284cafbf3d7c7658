// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "controlplane/dataplane_link/dataplane.h"

namespace boost::asio {
class io_context;
}

namespace headgate::link {

/// Connects to dataplane.sock, again and again for as long as it lives.
class SocketLink : public Dataplane {
 public:
  virtual void start() = 0;
  virtual void stop() = 0;
};

[[nodiscard]] std::unique_ptr<SocketLink> make_link(boost::asio::io_context& context, std::string path,
                                                    Events events);

}  // namespace headgate::link
