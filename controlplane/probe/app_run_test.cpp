// SPDX-License-Identifier: Apache-2.0
//
// Application checks over real sockets.
#include <functional>
#include <list>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/write.hpp>

#include "controlplane/probe/asio_prober.h"
#include "controlplane/probe/connection.h"
#include "controlplane/probe/run_until.h"

namespace headgate::probe {
namespace {

using namespace std::chrono_literals;
using Tcp = asio::ip::tcp;
using Manner = std::function<asio::awaitable<void>(Tcp::socket&)>;

/// Reads until the client is done.
asio::awaitable<void> listens(Tcp::socket& client) {
  std::array<char, 4096> bytes;
  for (;;) {
    const auto [error, length] = co_await client.async_read_some(asio::buffer(bytes), kAwait);
    if (error) co_return;
  }
}

asio::awaitable<void> says(Tcp::socket& client, const std::string& text) {
  co_await asio::async_write(client, asio::buffer(text), kAwait);
}

class AppRunTest : public testing::Test {
 protected:
  /// A server whose clients are treated in this manner, one after the other; then they are closed, or kept
  /// open when that is what it does with them.
  L4Port server(Manner manner) {
    servers_.push_back(
        std::make_unique<Tcp::acceptor>(context_, Tcp::endpoint(asio::ip::address_v4::loopback(), 0)));
    asio::co_spawn(context_, serve(*servers_.back(), std::move(manner)), asio::detached);
    return servers_.back()->local_endpoint().port();
  }
  /// One that answers each request with this, and ends in order.
  L4Port page(std::string answer) {
    return server([answer](Tcp::socket& client) -> asio::awaitable<void> {
      std::array<char, 4096> bytes;
      co_await client.async_read_some(asio::buffer(bytes), kAwait);
      co_await says(client, answer);
    });
  }
  L4Port closed() {
    Tcp::acceptor once(context_, Tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    return once.local_endpoint().port();
  }

  Result check(const std::string& ports, const std::string& pages, L4Port port,
               std::chrono::milliseconds timeout = 300ms) {
    std::optional<Result> result;
    const Check app{.kind = Kind::app, .path = pages, .ports = ports, .failnow = "503"};
    prober_->start(1, {app, Ipv4{INADDR_LOOPBACK}, port, timeout},
                   [&](const Result& given) { result = given; });
    EXPECT_TRUE(run_until(context_, [&] { return result.has_value(); }));
    return result.value_or(Result{});
  }

  static std::string here(L4Port port) { return fmt::format("127.0.0.1:{}", port); }

  asio::io_context context_{1};
  std::size_t ended_ = 0;  ///< clients that have closed in order
  std::list<Tcp::socket> kept_;

 private:
  asio::awaitable<void> serve(Tcp::acceptor& acceptor, Manner manner) {
    for (;;) {
      auto [error, client] = co_await acceptor.async_accept(kAwait);
      if (error) co_return;
      co_await manner(client);
      std::array<char, 4096> bytes;
      boost::system::error_code ignored;
      client.shutdown(Tcp::socket::shutdown_send, ignored);
      const auto [end, length] = co_await client.async_read_some(asio::buffer(bytes), kAwait);
      ended_ += end == asio::error::eof ? 1 : 0;
    }
  }

  std::vector<std::unique_ptr<Tcp::acceptor>> servers_;
  std::unique_ptr<Prober> prober_ = make_prober(context_);
};

TEST_F(AppRunTest, PassesWhenPortsCloseAndPagesAnswer) {
  const L4Port first = server(listens);
  const L4Port second = server(listens);
  const L4Port web = page("HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno");
  const Result result = check(fmt::format("{} {}", first, here(second)), "/a /b", web);
  EXPECT_TRUE(result.passed) << result.reason;
  EXPECT_TRUE(result.heard);
  EXPECT_TRUE(run_until(context_, [&] { return ended_ == 4; })) << "each end must be in order, not a reset";
}

TEST_F(AppRunTest, ARefusedPortFailsAsAWhole) {
  const L4Port open = server(listens);
  const L4Port port = closed();
  const Result result = check(fmt::format("{} {}", open, port), "", 80);
  EXPECT_FALSE(result.passed);
  EXPECT_EQ(result.reason, here(port) + " connect: refused");
  EXPECT_EQ(result.failure, health::kComplete);
  EXPECT_TRUE(result.heard);
}

TEST_F(AppRunTest, ADisconnectThatHangsFailsInPart) {
  const L4Port port = server([&](Tcp::socket& client) -> asio::awaitable<void> {
    kept_.push_back(std::move(client));
    co_return;
  });
  const Result result = check(std::to_string(port), "", 80);
  EXPECT_EQ(result.reason, here(port) + " disconnect: not done in 0.3 s");
  EXPECT_EQ(result.failure, 50u);
  EXPECT_TRUE(result.heard);
  EXPECT_FALSE(result.failover);
}

TEST_F(AppRunTest, APageThatIsSlowOrDripsFailsInPart) {
  const L4Port slow = server(listens);
  EXPECT_EQ(check("", "/a", slow).reason, here(slow) + " GET /a: not done in 0.3 s");
  const L4Port drips = server([&](Tcp::socket& client) -> asio::awaitable<void> {
    co_await says(client, "HTTP/1.1 200 OK\r\n\r\n");
    asio::steady_timer timer(context_);
    for (boost::system::error_code error; !error;) {
      timer.expires_after(5ms);
      co_await timer.async_wait(kAwait);
      std::tie(error, std::ignore) = co_await asio::async_write(client, asio::buffer("x", 1), kAwait);
    }
  });
  const Result result = check("", "/a", drips);
  EXPECT_EQ(result.reason, here(drips) + " GET /a: not done in 0.3 s");
  EXPECT_EQ(result.failure, 50u);
}

TEST_F(AppRunTest, AnAnswerThatIsCutShortOrResetFailsInPart) {
  const L4Port cut = page("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok");
  Result result = check("", "/a", cut);
  EXPECT_EQ(result.reason, here(cut) + " GET /a: answer is cut short");
  EXPECT_EQ(result.failure, 50u);
  const L4Port resets = server([](Tcp::socket& client) -> asio::awaitable<void> {
    co_await says(client, "HTTP/1.1 200 OK\r\n");
    client.set_option(asio::socket_base::linger(true, 0));
    client.close();
  });
  result = check("", "/a", resets);
  EXPECT_EQ(result.reason, here(resets) + " GET /a: connection reset");
  EXPECT_EQ(result.failure, 50u);
}

TEST_F(AppRunTest, AServerErrorFailsAsAWholeAndSomeStatusesDemandFailover) {
  const L4Port error = page("HTTP/1.1 500 Internal Server Error\r\n\r\n");
  Result result = check("", "/a", error);
  EXPECT_EQ(result.reason, here(error) + " GET /a: status 500");
  EXPECT_EQ(result.failure, health::kComplete);
  EXPECT_FALSE(result.failover);
  const L4Port gone = page("HTTP/1.1 503 x\r\n\r\n");
  result = check("", "/a", gone);
  EXPECT_EQ(result.reason, here(gone) + " GET /a: status 503");
  EXPECT_TRUE(result.failover);
}

TEST_F(AppRunTest, TheFirstStepThatFailsDecides) {
  const L4Port bad = page("HTTP/1.1 500 x\r\n\r\n");
  const L4Port refused = closed();
  EXPECT_EQ(check(std::to_string(refused), "/a", bad).reason, here(refused) + " connect: refused");
}

TEST_F(AppRunTest, AServerThatNeverStopsTalkingIsNotReadForEver) {
  const auto floods = [](const std::string& first) -> Manner {
    return [first](Tcp::socket& client) -> asio::awaitable<void> {
      co_await says(client, first);
      const std::string more(64 * 1024, 'x');
      for (boost::system::error_code error; !error;)
        std::tie(error, std::ignore) = co_await asio::async_write(client, asio::buffer(more), kAwait);
    };
  };
  const L4Port port = server(floods(""));
  EXPECT_EQ(check(std::to_string(port), "", 80, 5s).reason,
            here(port) + " disconnect: the server says more and more");
  const L4Port headers = server(floods("HTTP/1.1 200 OK\r\nX: "));
  EXPECT_EQ(check("", "/a", headers, 5s).reason, here(headers) + " GET /a: headers have no end");
  const L4Port body = server(floods("HTTP/1.1 200 OK\r\n\r\n"));
  EXPECT_EQ(check("", "/a", body, 5s).reason, here(body) + " GET /a: answer is longer than 16 MiB");
}

TEST_F(AppRunTest, GivenUpItIsHeardOfNoMore) {
  bool met = false;
  const L4Port slow = server([&](Tcp::socket& client) {
    met = true;
    return listens(client);
  });
  bool heard = false;
  auto prober = make_prober(context_);
  prober->start(2, {{.kind = Kind::app, .path = "/a"}, Ipv4{INADDR_LOOPBACK}, slow, 10s},
                [&](const Result&) { heard = true; });
  EXPECT_TRUE(run_until(context_, [&] { return met; }));
  prober->cancel(2);
  EXPECT_TRUE(check("", "/a", page("HTTP/1.1 200 OK\r\n\r\n"), 5s).passed);
  EXPECT_FALSE(heard);
}

}  // namespace
}  // namespace headgate::probe
