// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/asio_prober.h"

#include <optional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "controlplane/probe/runs.h"

namespace headgate::probe {
namespace {

namespace asio = boost::asio;

class AsioProber final : public Prober {
 public:
  explicit AsioProber(asio::io_context& context) : context_(context), runs_(context) {}

  void start(TargetId target, const Probe& probe, OnResult on_result) override {
    Entry& entry = entries_[target];
    entry = {};
    if (!probe.timeout) {
      entry.run = runs_.begin(probe, std::move(on_result));
      return;
    }
    const auto shared = std::make_shared<OnResult>(std::move(on_result));
    entry.run = runs_.begin(probe, [shared](const Result& result) { finish(*shared, result); });
    entry.deadline.emplace(context_, *probe.timeout);
    entry.deadline->async_wait([this, target, shared, timeout = *probe.timeout](const auto& stopped) {
      if (!stopped) expire(target, *shared, timeout);
    });
  }

  void cancel(TargetId target) override { entries_.erase(target); }

 private:
  struct Entry {
    std::unique_ptr<Run> run;
    std::optional<asio::steady_timer> deadline;
  };

  static void finish(OnResult& on_result, const Result& result) {
    if (on_result) std::exchange(on_result, nullptr)(result);
  }

  void expire(TargetId target, OnResult& on_result, std::chrono::milliseconds timeout) {
    const auto found = entries_.find(target);
    if (!on_result || found == entries_.end()) return;
    const bool passed = found->second.run->silence_passes();
    entries_.erase(found);
    finish(on_result, {.passed = passed, .heard = false, .reason = no_answer_in(timeout), .took = timeout});
  }

  asio::io_context& context_;
  Runs runs_;
  std::unordered_map<TargetId, Entry> entries_;
};

}  // namespace

std::unique_ptr<Prober> make_prober(asio::io_context& context) {
  return std::make_unique<AsioProber>(context);
}

}  // namespace headgate::probe
