// SPDX-License-Identifier: Apache-2.0
#include "controlplane/action/asio_actions.h"

#include <sys/wait.h>

#include <csignal>
#include <utility>

#include <fmt/format.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "controlplane/action/process.h"
#include "controlplane/action/way.h"
#include "controlplane/probe/connection.h"
#include "controlplane/probe/http_reply.h"

namespace headgate::action {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using OnEnd = Actions::OnEnd;

std::string seconds_text(Clock::duration span) {
  return fmt::format("{:.1f} s", std::chrono::duration<double>(span).count());
}

/// A command that runs, alive until its end has been told.
class Running final : public std::enable_shared_from_this<Running> {
 public:
  Running(asio::io_context& context, const Process& process, OnEnd on_end)
      : process_(process.id), watch_(context, process.watch), limit_(context), on_end_(std::move(on_end)) {}

  void begin(milliseconds limit, milliseconds dying) {
    limit_.expires_after(limit);
    limit_.async_wait([self = shared_from_this(), limit, dying](const boost::system::error_code& stopped) {
      if (!stopped && !self->ended_) self->kill_all(limit, dying);
    });
    watch_.async_wait(asio::posix::descriptor_base::wait_read,
                      [self = shared_from_this()](const boost::system::error_code& stopped) {
                        if (!stopped) self->end();
                      });
  }

 private:
  /// It may have left its group. One that hangs in the kernel does not even end by this.
  void kill_all(milliseconds limit, milliseconds dying) {
    killed_ = fmt::format("killed after {}", seconds_text(limit));
    kill(-process_, SIGKILL);
    kill(process_, SIGKILL);
    limit_.expires_after(dying);
    limit_.async_wait([self = shared_from_this()](const boost::system::error_code& stopped) {
      if (!stopped && !self->ended_) self->tell({false, self->killed_ + ", and is still there"});
    });
  }

  void tell(const Ended& ended) {
    if (on_end_) std::exchange(on_end_, nullptr)(ended);
  }

  void end() {
    int status = 0;
    waitpid(process_, &status, 0);
    ended_ = true;
    limit_.cancel();
    const std::string failure = killed_.empty() ? failure_of(status) : killed_;
    tell(failure.empty() ? Ended{true, "done in " + seconds_text(Clock::now() - started_)}
                         : Ended{false, failure});
  }

  const pid_t process_;
  asio::posix::stream_descriptor watch_;
  asio::steady_timer limit_;
  OnEnd on_end_;
  std::string killed_;
  bool ended_ = false;
  const Clock::time_point started_ = Clock::now();
};

/// A POST; any status of 2xx is well.
void begin_call(asio::io_context& context, const Call& call, const Act& act, milliseconds limit,
                OnEnd on_end) {
  const auto shared = std::make_shared<OnEnd>(std::move(on_end));
  const auto deadline = std::make_shared<asio::steady_timer>(context, limit);
  const auto end = [shared, deadline](const Ended& ended) {
    deadline->cancel();
    if (*shared) std::exchange(*shared, nullptr)(ended);
  };
  const auto connection = std::make_shared<probe::Connection>(
      context, probe::Probe{.address = call.address, .port = call.port}, [end](const probe::Result& result) {
        end({result.passed, result.passed ? "done in " + seconds_text(result.took) : result.reason});
      });
  deadline->async_wait([end, limit, connection](const boost::system::error_code& stopped) {
    if (stopped) return;
    connection->cancel();
    end({false, probe::no_answer_in(limit)});
  });
  auto talk =
      probe::http_exchange(request_of(call, act), {.statuses = probe::StatusSet::parse("200-299").value()});
  asio::co_spawn(
      context,
      [connection, talk = std::move(talk)]() mutable -> asio::awaitable<void> {
        co_await asio::post(connection->socket.get_executor(), asio::use_awaitable);
        co_await converse(connection, std::move(talk));
      },
      asio::detached);
}

class AsioActions final : public Actions {
 public:
  AsioActions(asio::io_context& context, Limits limits) : context_(context), limits_(limits) {}

  Status begin(const Act& act, OnEnd on_end) override {
    const auto way = read_way(act.what);
    if (!way) return way.error();
    if (const auto* call = std::get_if<Call>(&*way)) {
      begin_call(context_, *call, act, limits_.call, std::move(on_end));
      return Done{};
    }
    const auto process = start(std::get<Command>(*way).words, environment_of(act));
    if (!process) return process.error();
    std::make_shared<Running>(context_, *process, std::move(on_end))->begin(limits_.command, limits_.dying);
    return Done{};
  }

 private:
  asio::io_context& context_;
  const Limits limits_;
};

}  // namespace

std::unique_ptr<Actions> make_actions(asio::io_context& context, Limits limits) {
  return std::make_unique<AsioActions>(context, limits);
}

}  // namespace headgate::action
