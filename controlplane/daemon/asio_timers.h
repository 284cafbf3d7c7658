// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "controlplane/daemon/seams.h"

namespace headgate::daemon {

/// Timers that run in an event loop: up to a millisecond late and never early, so that those of one
/// millisecond wake the process once.
class AsioTimers final : public Timers {
 public:
  explicit AsioTimers(boost::asio::io_context& context) : alarm_(context) {}

  [[nodiscard]] std::chrono::milliseconds now() const override {
    return std::chrono::floor<std::chrono::milliseconds>(Clock::now().time_since_epoch());
  }

  TimerId after(std::chrono::milliseconds delay, std::function<void()> action) override {
    const auto due = std::chrono::ceil<Tick>(Clock::now().time_since_epoch() + delay);
    TimerId id = static_cast<TimerId>(due.count()) << kOrdinalBits | (++last_ & kOrdinals);
    while (!timers_.try_emplace(id, std::move(action)).second) ++id;
    if (!ringing_ && (!set_ || due < *set_)) set(due);
    return id;
  }

  void cancel(TimerId timer) override { timers_.erase(timer); }

 private:
  using Clock = std::chrono::steady_clock;
  using Tick = std::chrono::milliseconds;
  static constexpr unsigned kOrdinalBits = 20;  ///< below them in an id: the tick when it is due
  static constexpr TimerId kOrdinals = (TimerId{1} << kOrdinalBits) - 1;

  static Tick due_of(TimerId id) { return Tick(id >> kOrdinalBits); }

  void set(Tick due) {
    set_ = due;
    alarm_.expires_at(Clock::time_point(due));
    alarm_.async_wait([this](const boost::system::error_code& stopped) {
      if (!stopped) ring();
    });
  }

  /// Runs what is due by now; what is added meanwhile waits for the next time, so that others have their
  /// turn.
  void ring() {
    const TimerId end = (static_cast<TimerId>(now().count()) + 1) << kOrdinalBits;
    set_.reset();
    ringing_ = true;
    while (!timers_.empty() && timers_.begin()->first < end) {
      const auto node = timers_.extract(timers_.begin());
      node.mapped()();
    }
    ringing_ = false;
    if (!timers_.empty()) set(due_of(timers_.begin()->first));
  }

  boost::asio::steady_timer alarm_;
  std::optional<Tick> set_;  ///< when the alarm is to ring
  bool ringing_ = false;
  std::map<TimerId, std::function<void()>> timers_;  ///< by when they are due, then by when they were made
  TimerId last_ = 0;
};

}  // namespace headgate::daemon
