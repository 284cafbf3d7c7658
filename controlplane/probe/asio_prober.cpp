// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/asio_prober.h"

#include <algorithm>
#include <chrono>
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
using std::chrono::milliseconds;

/// This late, we were not running, and the answer may lie unread: the probe gets the time it has missed.
/// Reports 5.
constexpr milliseconds kStalled{500};

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
    entry.on_result = shared;
    entry.run = runs_.begin(probe, [shared](const Result& result) { finish(*shared, result); });
    await_end(target, entry, *probe.timeout, *probe.timeout);
  }

  void cancel(TargetId target) override { entries_.erase(target); }

  void learn_links(const std::map<std::uint32_t, bool>& up) override { runs_.links().learn(up); }

 private:
  struct Entry {
    std::unique_ptr<Run> run;
    std::shared_ptr<OnResult> on_result;  ///< of a probe with a deadline
    std::optional<asio::steady_timer> deadline;
  };

  static void finish(OnResult& on_result, const Result& result) {
    if (on_result) std::exchange(on_result, nullptr)(result);
  }

  void await_end(TargetId target, Entry& entry, milliseconds left, milliseconds timeout) {
    entry.deadline.emplace(context_, left);
    entry.deadline->async_wait([this, target, timeout, shared = entry.on_result](const auto& stopped) {
      if (!stopped) expire(target, shared, timeout);
    });
  }

  void expire(TargetId target, const std::shared_ptr<OnResult>& on_result, milliseconds timeout) {
    const auto found = entries_.find(target);
    // It may have been given up, for another one of this target, when the timer had run out already.
    if (!*on_result || found == entries_.end() || found->second.on_result != on_result) return;
    const auto late =
        std::chrono::ceil<milliseconds>(std::chrono::steady_clock::now() - found->second.deadline->expiry());
    if (late > kStalled) return await_end(target, found->second, std::min(late, timeout), timeout);
    const Result result = found->second.run->late(timeout);
    entries_.erase(found);
    finish(*on_result, result);
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
