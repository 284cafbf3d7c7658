// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/app_run.h"

#include <array>
#include <exception>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

#include "controlplane/probe/app.h"
#include "controlplane/probe/asio_address.h"
#include "controlplane/probe/connection.h"
#include "controlplane/probe/words.h"

namespace headgate::probe {
namespace {

using Clock = std::chrono::steady_clock;
using Error = boost::system::error_code;
using Failed = std::optional<AppFailure>;

/// The steps, alive as long as their coroutine.
class AppCourse final : public std::enable_shared_from_this<AppCourse> {
 public:
  AppCourse(asio::io_context& context, const Probe& probe, Prober::OnResult on_result)
      : context_(context),
        probe_(probe),
        steps_(app_steps(probe.check, probe.address, probe.port)),
        on_result_(std::move(on_result)) {}

  void begin() {
    asio::co_spawn(
        context_,
        [self = shared_from_this()]() -> asio::awaitable<void> {
          co_await asio::post(self->context_, asio::use_awaitable);
          co_await self->run();
        },
        [self = shared_from_this()](const std::exception_ptr& thrown) {
          if (thrown) self->tell({.unasked = true, .reason = "a fault of the check itself"});
        });
  }

  void cancel() {
    on_result_ = nullptr;
    if (carrier_) carrier_->close();
  }

  [[nodiscard]] Result late(std::chrono::milliseconds time) const {
    if (at_ == steps_.size()) return {.reason = no_answer_in(time), .took = time};
    Result result = of(not_done_in(time));
    result.took = time;
    return result;
  }

 private:
  asio::awaitable<void> run() {
    for (; at_ < steps_.size() && on_result_; ++at_) {
      const Failed failure = co_await perform(steps_[at_]);
      if (failure) co_return tell(of(*failure));
    }
    const auto took = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - started_);
    tell({.passed = true, .heard = true, .reason = answered_in(took)});
  }

  asio::awaitable<Failed> perform(const AppStep& step) {
    act_ = AppAct::connect;
    carrier_ = std::make_shared<Connection>(context_, probe_, nullptr);
    const auto [error] = co_await carrier_->socket.async_connect({to_asio(step.address), step.port}, kAwait);
    if (error) {
      heard_ = heard_ || sign_of_life(error.value());
      unasked_ = own_fault(error.value());
      co_return AppFailure{words_of(error.value())};
    }
    heard_ = true;
    if (step.page.empty()) co_return co_await disconnect();
    const Failed failure = co_await fetch(step);
    if (on_result_) asio::co_spawn(context_, close_orderly(std::exchange(carrier_, nullptr)), asio::detached);
    co_return failure;
  }

  /// Waits for the server's end of the connection, past what it may still say.
  asio::awaitable<Failed> disconnect() {
    constexpr std::size_t kMost = 256 * 1024;
    act_ = AppAct::disconnect;
    Error error;
    carrier_->socket.shutdown(asio::ip::tcp::socket::shutdown_send, error);
    std::array<char, 4096> discarded;
    for (std::size_t total = 0; !error && total < kMost;) {
      std::size_t length = 0;
      std::tie(error, length) = co_await carrier_->socket.async_read_some(asio::buffer(discarded), kAwait);
      total += length;
    }
    carrier_->close();
    if (error == asio::error::eof) co_return std::nullopt;
    co_return AppFailure{error ? words_of(error.value()) : "the server says more and more", kHalf};
  }

  asio::awaitable<Failed> fetch(const AppStep& step) {
    act_ = AppAct::fetch;
    const auto [unsent, sent] =
        co_await asio::async_write(carrier_->socket, asio::buffer(step.request), kAwait);
    if (unsent) co_return AppFailure{"can't be sent: " + words_of(unsent.value())};
    AppAnswer answer(probe_.check.failnow);
    std::array<char, 16384> bytes;
    for (;;) {
      const auto [error, length] = co_await carrier_->socket.async_read_some(asio::buffer(bytes), kAwait);
      if (error == asio::error::eof) co_return answer.end();
      if (error) co_return AppFailure{words_of(error.value()), kHalf};
      if (auto end = answer.hear({bytes.data(), length})) co_return std::move(*end);
    }
  }

  /// Of the step that it is at.
  [[nodiscard]] Result of(const AppFailure& failure) const {
    return {.heard = heard_,
            .unasked = unasked_,
            .reason = app_words(steps_[at_], act_, failure.cause),
            .failure = failure.part,
            .failover = failure.failover};
  }

  void tell(Result result) {
    if (!on_result_) return;
    result.took = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - started_);
    std::exchange(on_result_, nullptr)(result);
  }

  asio::io_context& context_;
  const Probe probe_;
  const std::vector<AppStep> steps_;
  Prober::OnResult on_result_;
  std::shared_ptr<Connection> carrier_;  ///< of the step that it is at
  std::size_t at_ = 0;
  AppAct act_ = AppAct::connect;
  bool heard_ = false;
  bool unasked_ = false;
  const Clock::time_point started_ = Clock::now();
};

class AppRun final : public Run {
 public:
  explicit AppRun(std::shared_ptr<AppCourse> course) : course_(std::move(course)) { course_->begin(); }
  ~AppRun() override { course_->cancel(); }
  [[nodiscard]] Result late(std::chrono::milliseconds time) const override { return course_->late(time); }

 private:
  std::shared_ptr<AppCourse> course_;
};

}  // namespace

std::unique_ptr<Run> begin_app(asio::io_context& context, const Probe& probe, Prober::OnResult on_result) {
  return std::make_unique<AppRun>(std::make_shared<AppCourse>(context, probe, std::move(on_result)));
}

}  // namespace headgate::probe
