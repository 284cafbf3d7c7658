// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/asio_watcher.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <unordered_map>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "controlplane/probe/asio_address.h"
#include "controlplane/probe/prober.h"
#include "controlplane/probe/words.h"

namespace headgate::probe {
namespace {

namespace asio = boost::asio;
constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);

/// One watch, alive as long as its coroutine and its deadline.
class Holding final : public std::enable_shared_from_this<Holding> {
 public:
  Holding(asio::io_context& context, Watch watch, Watcher::Events events)
      : watch_(std::move(watch)),
        events_(std::move(events)),
        talk_(watch_.ask),
        socket_(context),
        deadline_(context) {}

  void begin(asio::io_context& context) {
    deadline_.expires_after(watch_.patience);
    deadline_.async_wait([self = shared_from_this()](const boost::system::error_code& stopped) {
      if (!stopped && !self->talk_.stands()) self->end(no_answer_in(self->watch_.patience));
    });
    asio::co_spawn(context, hold(shared_from_this()), asio::detached);
  }

  /// Nothing is told any more. Lets a server go that would hold the search for ever.
  void give_up() {
    events_ = {};
    boost::system::error_code ignored;
    if (talk_.stands()) {
      socket_.non_blocking(true, ignored);
      socket_.send(asio::buffer(watch_farewell()), 0, ignored);
    }
    close();
  }

 private:
  static asio::awaitable<void> hold(std::shared_ptr<Holding> self) {
    const asio::ip::tcp::endpoint server{to_asio(self->watch_.address), self->watch_.port};
    const auto [error] = co_await self->socket_.async_connect(server, kAwait);
    if (error) co_return self->end(words_of(error.value()));
    self->notice_death();
    std::array<char, 4096> bytes;
    for (LdapWatch::Turn turn = self->talk_.begin();;) {
      if (!turn.say.empty()) co_await asio::async_write(self->socket_, asio::buffer(turn.say), kAwait);
      if (turn.alerts != 0) self->tell_alert();
      if (turn.over) co_return self->end(*turn.over);
      const auto [ended, length] = co_await self->socket_.async_read_some(asio::buffer(bytes), kAwait);
      if (ended)
        co_return self->end(ended == asio::error::eof ? "server ended the watch" : words_of(ended.value()));
      turn = self->talk_.hear({bytes.data(), length}, LdapWatch::Clock::now());
    }
  }

  /// A server says nothing for hours while all is well: that it is gone is only told when we ask.
  void notice_death() {
    constexpr int kIdleSeconds = 30;
    constexpr int kBetweenSeconds = 10;
    constexpr int kMostUnanswered = 3;
    const int fd = socket_.native_handle();
    const auto set = [fd](int level, int option, int value) {
      ::setsockopt(fd, level, option, &value, sizeof value);
    };
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, kIdleSeconds);
    set(IPPROTO_TCP, TCP_KEEPINTVL, kBetweenSeconds);
    set(IPPROTO_TCP, TCP_KEEPCNT, kMostUnanswered);
  }

  /// What is told may give this watch up.
  void tell_alert() const {
    const auto on_alert = events_.on_alert;
    if (on_alert) on_alert();
  }

  void end(const std::string& why) {
    close();
    const auto events = std::exchange(events_, {});
    if (events.on_over) events.on_over(why);
  }

  void close() {
    deadline_.cancel();
    boost::system::error_code ignored;
    socket_.close(ignored);
  }

  const Watch watch_;
  Watcher::Events events_;
  LdapWatch talk_;
  asio::ip::tcp::socket socket_;
  asio::steady_timer deadline_;
};

class AsioWatcher final : public Watcher {
 public:
  explicit AsioWatcher(asio::io_context& context) : context_(context) {}
  ~AsioWatcher() override {
    for (auto& [id, held] : held_) held->give_up();
  }

  void start(WatchId id, const Watch& watch, Events events) override {
    cancel(id);
    auto holding = std::make_shared<Holding>(context_, watch, std::move(events));
    holding->begin(context_);
    held_[id] = std::move(holding);
  }

  void cancel(WatchId id) override {
    auto held = held_.extract(id);
    if (!held.empty()) held.mapped()->give_up();
  }

 private:
  asio::io_context& context_;
  std::unordered_map<WatchId, std::shared_ptr<Holding>> held_;
};

}  // namespace

std::unique_ptr<Watcher> make_watcher(asio::io_context& context) {
  return std::make_unique<AsioWatcher>(context);
}

}  // namespace headgate::probe
