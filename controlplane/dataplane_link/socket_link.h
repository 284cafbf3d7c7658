// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
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

/// A dataplane that leaves an order unanswered for `patience` counts as lost: what waits for it is told so.
[[nodiscard]] std::unique_ptr<SocketLink> make_link(
    boost::asio::io_context& context, std::string path, Events events,
    std::chrono::milliseconds patience = std::chrono::seconds(30));

}  // namespace headgate::link
