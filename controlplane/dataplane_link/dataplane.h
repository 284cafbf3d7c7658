// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "model/forwarding.pb.h"

namespace headgate::link {

/// The dataplane, as the engine sees it: there or not.
class Dataplane {
 public:
  /// Called with each report that answers an order; with an error and no body when the connection is lost
  /// first.
  using OnReport = std::function<void(const forwarding::Report&)>;

  virtual ~Dataplane() = default;
  [[nodiscard]] virtual bool connected() const = 0;
  /// Sends an order at once. Without a connection `on_report` hears of that, from inside of the call.
  virtual void send(forwarding::Order order, OnReport on_report) = 0;
};

/// What happens on the connection.
struct Events {
  std::function<void(const forwarding::HandBack&)> on_connected;  ///< Hello was answered
  std::function<void()> on_lost;
  std::function<void()> on_absent;                           ///< an attempt to connect has failed
  std::function<void(const forwarding::Report&)> on_report;  ///< of the dataplane's own accord
};

}  // namespace headgate::link
