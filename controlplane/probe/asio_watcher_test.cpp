// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/asio_watcher.h"

#include <gtest/gtest.h>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include "controlplane/probe/ber.h"
#include "controlplane/probe/run_until.h"

// Watches over real sockets.
namespace headgate::probe {
namespace {

using boost::asio::ip::tcp;
using namespace std::chrono_literals;
using namespace std::string_literals;

const std::string kBound = "\x30\x0c\x02\x01\x01\x61\x07\x0a\x01\x00\x04\x00\x04\x00"s;
const std::string kAlert =
    ber(kBerSequence, ber_integer(2) + ber(0x64, ber(kBerOctets, "") + ber(kBerSequence, "")));

class AsioWatcherTest : public testing::Test {
 protected:
  void start(std::chrono::milliseconds patience = 5s) {
    watcher_->start(1, {*Ip::parse("127.0.0.1"), acceptor_.local_endpoint().port(), {}, patience},
                    {.on_alert =
                         [this] {
                           ++alerts_;
                           if (cancels_) watcher_->cancel(1);
                         },
                     .on_over = [this](const std::string& why) { over_.push_back(why); }});
  }
  /// The server's end of a watch, with the bind that came.
  tcp::socket accept() {
    tcp::socket socket(context_);
    acceptor_.non_blocking(true);
    const auto accepted = [&] {
      boost::system::error_code error;
      if (!socket.is_open()) acceptor_.accept(socket, error);
      return socket.is_open();
    };
    EXPECT_TRUE(run_until(context_, accepted));
    await_octets(socket, 14);
    return socket;
  }
  void await_octets(tcp::socket& socket, std::size_t count) {
    socket.non_blocking(false);
    EXPECT_TRUE(run_until(context_, [&] { return socket.available() >= count; }));
    std::string bytes(count, ' ');
    boost::asio::read(socket, boost::asio::buffer(bytes));
  }
  bool until(const std::function<bool()>& done) { return run_until(context_, done); }
  static void say(tcp::socket& socket, const std::string& bytes) {
    boost::asio::write(socket, boost::asio::buffer(bytes));
  }

  boost::asio::io_context context_{1};
  tcp::acceptor acceptor_{context_, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0)};
  int alerts_ = 0;
  bool cancels_ = false;
  std::vector<std::string> over_;
  std::unique_ptr<Watcher> watcher_ = make_watcher(context_);
};

TEST_F(AsioWatcherTest, TellsOfAlertsAsTheyCome) {
  start();
  tcp::socket server = accept();
  say(server, kBound);
  say(server, kAlert);
  EXPECT_TRUE(until([&] { return alerts_ == 1; }));
  say(server, kAlert);
  EXPECT_TRUE(until([&] { return alerts_ == 2; }));
  EXPECT_TRUE(over_.empty());
}

TEST_F(AsioWatcherTest, IsOverWhenTheServerEnds) {
  start();
  accept().close();
  EXPECT_TRUE(until([&] { return !over_.empty(); }));
  EXPECT_EQ(over_, std::vector{"server ended the watch"s});
}

TEST_F(AsioWatcherTest, IsOverWhenNobodyListens) {
  const auto port = acceptor_.local_endpoint().port();
  acceptor_.close();
  watcher_->start(1, {*Ip::parse("127.0.0.1"), port, {}, 5s},
                  {.on_alert = {}, .on_over = [this](const auto& why) { over_.push_back(why); }});
  EXPECT_TRUE(over_.empty()) << "never from inside of start";
  EXPECT_TRUE(until([&] { return !over_.empty(); }));
  EXPECT_EQ(over_, std::vector{"refused"s});
}

TEST_F(AsioWatcherTest, IsOverWhenItDoesNotStandInTime) {
  start(100ms);
  tcp::socket server = accept();
  EXPECT_TRUE(until([&] { return !over_.empty(); }));
  EXPECT_EQ(over_, std::vector{"no answer in 0.1 s"s});
}

TEST_F(AsioWatcherTest, SaysFarewellWhenItIsGivenUp) {
  start();
  tcp::socket server = accept();
  say(server, kBound);
  await_octets(server, 98);  // the search
  watcher_->cancel(1);
  await_octets(server, watch_farewell().size());
  EXPECT_TRUE(until([&] {
    boost::system::error_code error;
    char octet = 0;
    server.non_blocking(true);
    server.read_some(boost::asio::buffer(&octet, 1), error);
    return error == boost::asio::error::eof;
  }));
  EXPECT_TRUE(over_.empty());
}

TEST_F(AsioWatcherTest, MayBeGivenUpWithinWhatItTells) {
  cancels_ = true;
  start();
  tcp::socket server = accept();
  say(server, kBound + kAlert + kAlert);
  EXPECT_TRUE(until([&] { return alerts_ == 1; }));
  server.close();
  start();
  tcp::socket next = accept();
  say(next, kBound + kAlert);
  EXPECT_TRUE(until([&] { return alerts_ == 2; }));
  EXPECT_TRUE(over_.empty());
}

}  // namespace
}  // namespace headgate::probe
