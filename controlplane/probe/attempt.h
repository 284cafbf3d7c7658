// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include <boost/system/error_code.hpp>

#include "controlplane/probe/prober.h"

namespace headgate::probe {

/// One probe while it runs, whatever carries it: whom it is for, since when, and who is told how it ends.
class Attempt {
 public:
  Attempt(const Probe& wanted, Prober::OnResult on_result)
      : probe(wanted), on_result_(std::move(on_result)) {}
  virtual ~Attempt() = default;

  /// Gives the probe up: no result any more.
  void cancel();
  /// Reports how the probe ended; only the first report counts.
  void report(bool passed, std::string reason);
  /// Reports the failure that an error stands for.
  void fail(const boost::system::error_code& error);
  [[nodiscard]] bool reported() const { return !on_result_; }

  const Probe probe;
  const std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();

 private:
  /// Lets go of what carries the probe, at once.
  virtual void close() = 0;
  [[nodiscard]] std::chrono::microseconds took() const;

  Prober::OnResult on_result_;
};

}  // namespace headgate::probe
