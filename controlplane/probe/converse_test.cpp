// SPDX-License-Identifier: Apache-2.0
//
// Conversations over real sockets: TLS, and the second stream of FTP. Client and server are coroutines of one
// thread.
#include <functional>

#include <gtest/gtest.h>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

#include "controlplane/probe/connection.h"
#include "controlplane/probe/dialogue.h"
#include "controlplane/probe/http_reply.h"
#include "controlplane/probe/tls.h"
#include "controlplane/probe/tls_bed.h"

namespace headgate::probe {
namespace {

using namespace std::chrono_literals;
using asio::ip::tcp;
using Serve = std::function<asio::awaitable<void>(tcp::socket&)>;

class Converse : public ::testing::Test {
 protected:
  /// Listens on the loopback and serves one client; returns the port.
  L4Port serve(Serve one) {
    acceptors_.push_back(
        std::make_unique<tcp::acceptor>(context_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)));
    asio::co_spawn(context_, accept(*acceptors_.back(), std::move(one)), asio::detached);
    return acceptors_.back()->local_endpoint().port();
  }

  void start(L4Port port, std::unique_ptr<Conversation> conversation) {
    connection_ =
        std::make_shared<Connection>(context_, Probe{.address = *Ip::parse("127.0.0.1"), .port = port},
                                     [this](const probe::Result& result) { result_ = result; });
    asio::co_spawn(context_, converse(connection_, std::move(conversation)), asio::detached);
  }

  /// Runs until all has ended, which no side had to wait for.
  void finish() {
    context_.run_for(5s);
    EXPECT_TRUE(context_.stopped()) << "something has not ended";
    if (result_) {
      EXPECT_LT(std::chrono::steady_clock::now(), connection_->linger.expiry());
    }
  }

  asio::io_context context_;
  std::shared_ptr<Connection> connection_;
  std::optional<probe::Result> result_;

 private:
  static asio::awaitable<void> accept(tcp::acceptor& acceptor, Serve one) {
    auto [error, socket] = co_await acceptor.async_accept(kAwait);
    acceptor.close();
    if (!error) co_await one(socket);
  }

  std::vector<std::unique_ptr<tcp::acceptor>> acceptors_;
};

/// Reads to the end; what came, and whether the end was an orderly one.
asio::awaitable<std::pair<std::string, bool>> rest_of(tcp::socket& socket) {
  std::string all;
  std::array<char, 4096> bytes;
  while (true) {
    const auto [error, length] = co_await socket.async_read_some(asio::buffer(bytes), kAwait);
    all.append(bytes.data(), length);
    if (error) co_return std::pair{all, error == asio::error::eof};
  }
}

/// A server of FTP whose data connection is at `data`, up to the point where the file is wanted.
asio::awaitable<void> log_in(tcp::socket& socket, L4Port data) {
  const std::string answers[] = {"220 ready\r\n", "230 in\r\n", "200 binary\r\n",
                                 "229 (|||" + std::to_string(data) + "|)\r\n"};
  std::string heard;
  for (const auto& answer : answers) {
    co_await asio::async_write(socket, asio::buffer(answer), kAwait);
    const bool last = &answer == std::end(answers) - 1;
    if (last) break;
    const auto [error, length] =
        co_await asio::async_read_until(socket, asio::dynamic_buffer(heard), '\n', kAwait);
    heard.erase(0, length);
  }
}

asio::awaitable<void> say(tcp::socket& socket, const std::string& text) {
  co_await asio::async_write(socket, asio::buffer(text), kAwait);
}

std::unique_ptr<Conversation> ftp() {
  return std::make_unique<Dialogue>(ftp_script("health"));
}

TEST_F(Converse, AFileComesOnASecondStream) {
  std::pair<std::string, bool> control, data;
  const L4Port port = serve([&](tcp::socket& socket) -> asio::awaitable<void> {
    co_await say(socket, std::string(100'000, 'x'));
    socket.shutdown(tcp::socket::shutdown_send);
    data = co_await rest_of(socket);
  });
  start(serve([&](tcp::socket& socket) -> asio::awaitable<void> {
          co_await log_in(socket, port);
          co_await say(socket, "150 here\r\n");
          control = co_await rest_of(socket);
        }),
        ftp());
  finish();
  ASSERT_TRUE(result_);
  EXPECT_TRUE(result_->passed) << result_->reason;
  EXPECT_EQ(control, (std::pair<std::string, bool>{"RETR health\r\nQUIT\r\n", true}));
  EXPECT_EQ(data, (std::pair<std::string, bool>{"", true}));
}

TEST_F(Converse, ASecondStreamThatIsRefusedFails) {
  std::pair<std::string, bool> control;
  const L4Port closed = [this] {
    return tcp::acceptor(context_, tcp::endpoint(asio::ip::address_v4::loopback(), 0))
        .local_endpoint()
        .port();
  }();
  start(serve([&](tcp::socket& socket) -> asio::awaitable<void> {
          co_await log_in(socket, closed);
          control = co_await rest_of(socket);
        }),
        ftp());
  finish();
  ASSERT_TRUE(result_);
  EXPECT_FALSE(result_->passed);
  EXPECT_EQ(result_->reason, "data connection: refused");
  EXPECT_EQ(control, (std::pair<std::string, bool>{"QUIT\r\n", true}));
}

TEST_F(Converse, AnEmptyFileIsJudgedByTheServersWord) {
  const L4Port port = serve([](tcp::socket&) -> asio::awaitable<void> { co_return; });
  start(serve([&](tcp::socket& socket) -> asio::awaitable<void> {
          co_await log_in(socket, port);
          co_await say(socket, "150 here\r\n451 broken disk\r\n");
          co_await rest_of(socket);
        }),
        ftp());
  finish();
  ASSERT_TRUE(result_);
  EXPECT_EQ(result_->reason, "transfer: \"451 broken disk\", wanted 226");
}

TEST_F(Converse, AProbeThatIsGivenUpClosesBothStreams) {
  bool control_ended = false, data_ended = false;
  const L4Port port = serve([&](tcp::socket& socket) -> asio::awaitable<void> {
    co_await rest_of(socket);
    data_ended = true;
  });
  start(serve([&](tcp::socket& socket) -> asio::awaitable<void> {
          co_await log_in(socket, port);
          std::string heard;
          co_await asio::async_read_until(socket, asio::dynamic_buffer(heard), '\n', kAwait);
          co_await say(socket, "150 here\r\n");
          connection_->cancel();
          co_await rest_of(socket);
          control_ended = true;
        }),
        ftp());
  finish();
  EXPECT_FALSE(result_);
  EXPECT_TRUE(control_ended);
  EXPECT_TRUE(data_ended);
}

/// Carries what a server of TLS says, until the client has closed.
asio::awaitable<void> carry(tcp::socket& socket, TlsServer& server, bool& orderly) {
  std::array<char, 4096> bytes;
  while (true) {
    const auto [error, length] = co_await socket.async_read_some(asio::buffer(bytes), kAwait);
    orderly = error == asio::error::eof;
    if (error) co_return;
    co_await say(socket, server.answer({bytes.data(), length}));
  }
}

TEST_F(Converse, TlsEndsInOrderOnBothLayers) {
  const std::string request = "GET / HTTP/1.0\r\n\r\n";
  TlsServer server(make_identity({}), {});
  server.expect(request, "HTTP/1.1 200 OK\r\n\r\nall is well");
  bool orderly = false;
  TlsContexts contexts;
  start(serve([&](tcp::socket& socket) { return carry(socket, server, orderly); }),
        over_tls(http_exchange(request, {.contains = "well"}), contexts, {}));
  finish();
  ASSERT_TRUE(result_);
  EXPECT_TRUE(result_->passed) << result_->reason;
  EXPECT_TRUE(server.dismissed());
  EXPECT_TRUE(orderly);
}

TEST_F(Converse, WhatThisMachineCannotDoFailsAtOnce) {
  TlsContexts contexts;
  start(serve([](tcp::socket& socket) -> asio::awaitable<void> { co_await rest_of(socket); }),
        over_tls(http_exchange(""), contexts, {.verify = true, .ca = "/nowhere"}));
  finish();
  ASSERT_TRUE(result_);
  EXPECT_EQ(result_->reason, "cannot read /nowhere: No such file or directory");
}

}  // namespace
}  // namespace headgate::probe
