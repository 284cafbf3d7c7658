// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <functional>
#include <memory>
#include <set>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/socket_base.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace headgate::control {

/// A client that can be sent away when another wants to come in: the one that has asked nothing for longest.
template <class Client>
concept Replaceable = requires(const Client& client) {
  { client.silent_since() } -> std::same_as<std::chrono::steady_clock::time_point>;
};

/// Where clients come in, so many at a time at most; more are turned away, or take the place of those that
/// are replaceable. A Client has run(), a coroutine that ends with it, and close(), which brings that about.
/// Coroutines hold the door.
template <class Protocol, class Client>
class Door : public std::enable_shared_from_this<Door<Protocol, Client>> {
 public:
  using Make = std::function<std::shared_ptr<Client>(typename Protocol::socket)>;

  Door(boost::asio::io_context& context, std::size_t most, Make make)
      : context_(context), acceptor_(context), most_(most), make_(std::move(make)) {}

  /// Without an error, clients come in until close().
  boost::system::error_code open(const typename Protocol::endpoint& at) {
    using boost::asio::socket_base;
    boost::system::error_code error;
    acceptor_.open(at.protocol(), error);
    if (!error) acceptor_.set_option(socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(at, error);
    if (!error) acceptor_.listen(socket_base::max_listen_connections, error);
    if (!error) boost::asio::co_spawn(context_, accept(this->shared_from_this()), boost::asio::detached);
    return error;
  }

  void close() {
    boost::system::error_code ignored;
    acceptor_.close(ignored);
    for (const auto& client : clients_) client->close();
  }

 private:
  static boost::asio::awaitable<void> accept(std::shared_ptr<Door> self) {
    constexpr auto kAwait = boost::asio::as_tuple(boost::asio::use_awaitable);
    while (self->acceptor_.is_open()) {
      auto [error, socket] = co_await self->acceptor_.async_accept(kAwait);
      if (!self->acceptor_.is_open()) co_return;
      if (error) {  // out of descriptors: give others time to close
        boost::asio::steady_timer pause(self->context_, std::chrono::milliseconds(100));
        co_await pause.async_wait(kAwait);
        continue;
      }
      if (self->clients_.size() >= self->most_) self->make_room();
      if (self->clients_.size() >= self->most_) continue;  // closes it
      const auto client = self->make_(std::move(socket));
      self->clients_.insert(client);
      boost::asio::co_spawn(self->context_, client->run(),
                            [self, client](const std::exception_ptr&) { self->clients_.erase(client); });
    }
  }

  void make_room() {
    if constexpr (Replaceable<Client>) {
      const auto longest = std::min_element(
          clients_.begin(), clients_.end(),
          [](const auto& a, const auto& b) { return a->silent_since() < b->silent_since(); });
      (*longest)->close();
      clients_.erase(longest);
    }
  }

  boost::asio::io_context& context_;
  typename Protocol::acceptor acceptor_;
  std::size_t most_;
  Make make_;
  std::set<std::shared_ptr<Client>> clients_;
};

}  // namespace headgate::control
