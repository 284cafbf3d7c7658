// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unordered_map>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "controlplane/daemon/seams.h"

namespace headgate::daemon {

/// Timers that run in an event loop.
class AsioTimers final : public Timers {
 public:
  explicit AsioTimers(boost::asio::io_context& context) : context_(context) {}

  [[nodiscard]] std::chrono::milliseconds now() const override {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::steady_clock::now().time_since_epoch());
  }

  TimerId after(std::chrono::milliseconds delay, std::function<void()> action) override {
    const TimerId id = ++last_;
    const auto timer = timers_.try_emplace(id, context_, delay).first;
    timer->second.async_wait(
        [this, id, action = std::move(action)](const boost::system::error_code& stopped) {
          if (stopped || timers_.erase(id) == 0) return;
          action();
        });
    return id;
  }

  void cancel(TimerId timer) override { timers_.erase(timer); }

 private:
  boost::asio::io_context& context_;
  std::unordered_map<TimerId, boost::asio::steady_timer> timers_;
  TimerId last_ = 0;
};

}  // namespace headgate::daemon
