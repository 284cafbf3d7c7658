// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <utility>

#include <boost/system/error_code.hpp>

#include "controlplane/probe/conversation.h"
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
  /// Reports how the probe ended, in words of the server or about them; only the first report counts.
  void report(const Outcome& outcome);
  void report(bool passed, std::string reason) { report(Outcome{passed, std::move(reason)}); }
  /// Reports what it means that the server has said nothing.
  void report_silence(const Outcome& outcome);
  /// Reports the failure that an error stands for.
  void fail(const boost::system::error_code& error);
  [[nodiscard]] bool reported() const { return !on_result_; }

  const Probe probe;
  const std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();

 private:
  /// Lets go of what carries the probe, at once.
  virtual void close() = 0;
  /// `note` follows the time that an answer took.
  void tell(Result result, const std::string& note = {});

  Prober::OnResult on_result_;
};

}  // namespace headgate::probe
