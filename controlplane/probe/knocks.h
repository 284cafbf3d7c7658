// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "controlplane/probe/prober.h"

namespace boost::asio {
class io_context;
}

namespace headgate::probe {

/// Checks that a connection stands, and nothing more: by far the most of them, so that they take few calls of
/// the system, over one set of sockets that the event loop waits for. A connection ends by an orderly
/// exchange of FINs, never by a reset (reports 17), within bounds of time and of what the server still says.
class Knocks {
 public:
  /// Of a check under way. Names none again for a long time.
  using Id = std::uint64_t;

  explicit Knocks(boost::asio::io_context& context);
  ~Knocks();
  /// Connects to `probe.address` and `probe.port`; `on_result` is called once, never from inside of start().
  Id start(const Probe& probe, Prober::OnResult on_result);
  /// No result any more. Harmless for one that has ended.
  void cancel(Id id);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace headgate::probe
