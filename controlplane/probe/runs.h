// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <random>

#include "controlplane/probe/icmp.h"
#include "controlplane/probe/knocks.h"
#include "controlplane/probe/legs.h"
#include "controlplane/probe/links.h"
#include "controlplane/probe/neighbours.h"
#include "controlplane/probe/prober.h"

namespace boost::asio {
class io_context;
}

namespace headgate::probe {

/// A probe under way. Destroying it gives it up: no result any more.
class Run {
 public:
  virtual ~Run() = default;
  /// What it is worth that nothing more has been heard.
  [[nodiscard]] virtual bool silence_passes() const { return false; }
  /// How it ends when its time is over.
  [[nodiscard]] virtual Result late(std::chrono::milliseconds time) const {
    return {.passed = silence_passes(), .reason = no_answer_in(time), .took = time};
  }
};

/// Begins probes of every type.
class Runs {
 public:
  explicit Runs(boost::asio::io_context& context);

  /// `on_result` is called once, never from inside of begin(); within it the run may be destroyed.
  [[nodiscard]] std::unique_ptr<Run> begin(const Probe& probe, Prober::OnResult on_result);
  /// Of what checks by `link` look at.
  [[nodiscard]] Links& links() { return links_; }

 private:
  [[nodiscard]] std::unique_ptr<Run> begin_plain(const Probe& probe, Prober::OnResult on_result);
  [[nodiscard]] std::unique_ptr<Run> begin_unanswered(const Probe& probe, Prober::OnResult on_result);
  [[nodiscard]] std::unique_ptr<Run> begin_legs(const Probe& probe, Prober::OnResult on_result);

  boost::asio::io_context& context_;
  IcmpProber icmp_;
  Knocks knocks_;
  Neighbours neighbours_;
  Links links_;
  TlsContexts tls_;
  std::random_device entropy_;
  TargetId last_echo_ = 0;
};

}  // namespace headgate::probe
