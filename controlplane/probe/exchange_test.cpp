// SPDX-License-Identifier: Apache-2.0
//
// Conversations by datagrams with sockets of the loopback, of both families.
#include "controlplane/probe/exchange.h"

#include <filesystem>
#include <iterator>

#include <gtest/gtest.h>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include "controlplane/probe/asio_address.h"
#include "controlplane/probe/payload.h"
#include "controlplane/probe/question.h"
#include "controlplane/probe/run_until.h"
#include "controlplane/probe/tftp.h"
#include "controlplane/probe/told.h"

namespace headgate::probe {
namespace {

using asio::ip::udp;
using namespace std::chrono_literals;

/// A socket of the loopback that notes what it hears.
class Host {
 public:
  Host(asio::io_context& context, const Ip& address) : socket_(context, udp::endpoint(to_asio(address), 0)) {
    listen();
  }

  [[nodiscard]] L4Port port() const { return socket_.local_endpoint().port(); }
  [[nodiscard]] const udp::endpoint& client() const { return client_; }
  void send(const std::string& datagram, const udp::endpoint& to) {
    socket_.send_to(asio::buffer(datagram), to);
  }
  void reply(const std::string& datagram) { send(datagram, client_); }

  std::vector<std::string> heard;

 private:
  void listen() {
    socket_.async_receive_from(asio::buffer(bytes_), client_, [this](const auto& error, std::size_t length) {
      if (error) return;
      heard.emplace_back(bytes_.data(), length);
      listen();
    });
  }

  udp::socket socket_;
  std::array<char, 65536> bytes_;
  udp::endpoint client_;
};

class ExchangeTest : public testing::TestWithParam<const char*> {
 protected:
  using Manner = Exchange::Manner;

  /// Starts a probe of `port`.
  std::shared_ptr<Exchange> start(L4Port port, std::unique_ptr<Conversation> conversation,
                                  const Manner& manner = {}) {
    return start(address_, port, std::move(conversation), manner);
  }
  std::shared_ptr<Exchange> start(const Ip& address, L4Port port, std::unique_ptr<Conversation> conversation,
                                  const Manner& manner) {
    const auto attempt =
        std::make_shared<Exchange>(context_, Probe{{}, address, port}, manner,
                                   [this](const Result& result) { results_.push_back(result); });
    asio::co_spawn(context_, converse(attempt, std::move(conversation)), asio::detached);
    return attempt;
  }

  /// Runs until `done` or five seconds are over.
  template <class Predicate>
  bool run_until(Predicate done) {
    return headgate::run_until(context_, done);
  }
  bool run_until_heard(const Host& host, std::size_t datagrams = 1) {
    return run_until([&] { return host.heard.size() == datagrams; });
  }
  Result result() {
    EXPECT_TRUE(run_until([&] { return !results_.empty(); }));
    EXPECT_EQ(results_.size(), 1u);
    return results_.empty() ? Result{} : results_.front();
  }
  /// A port that nobody has.
  L4Port closed_port() { return Host(context_, address_).port(); }

  const Ip address_ = *Ip::parse(GetParam());
  asio::io_context context_{1};
  std::vector<Result> results_;
};

INSTANTIATE_TEST_SUITE_P(Family, ExchangeTest, testing::Values("127.0.0.1", "::1"),
                         [](const auto& info) { return info.param[0] == ':' ? "Ipv6" : "Ipv4"; });

TEST_P(ExchangeTest, AnAnswerPassesAndTellsItsTime) {
  Host server(context_, address_);
  start(server.port(), await_answer("ping"));
  ASSERT_TRUE(run_until_heard(server));
  EXPECT_EQ(server.heard.front(), "ping");
  server.reply("pong");
  EXPECT_TRUE(result().passed);
  EXPECT_TRUE(result().heard);
  EXPECT_TRUE(result().reason.starts_with("answered in ")) << result().reason;
}

TEST_P(ExchangeTest, APortThatNobodyHasIsRefusedAndHeard) {  // reports 16
  for (const Manner& manner : {Manner{}, Manner{.any_port = true}}) {
    results_.clear();
    start(closed_port(), await_no_refusal("ping", 1h), manner);
    EXPECT_FALSE(result().passed);
    EXPECT_TRUE(result().heard);
    EXPECT_EQ(result().reason, "refused");
  }
}

TEST_P(ExchangeTest, ASilentServerIsWaitedFor) {
  Host server(context_, address_);
  const auto attempt = start(server.port(), await_answer("ping"));
  ASSERT_TRUE(run_until_heard(server));
  context_.restart();
  context_.poll();
  EXPECT_TRUE(results_.empty());
  attempt->cancel();
}

TEST_P(ExchangeTest, SilencePassesWhenPatienceRunsOutWhereNoAnswerIsExpected) {
  Host server(context_, address_);
  start(server.port(), await_no_refusal("ping", 5ms));
  EXPECT_TRUE(result().passed);
  EXPECT_FALSE(result().heard);
  EXPECT_EQ(result().reason, "not refused");
}

TEST_P(ExchangeTest, AnAnswerPassesBeforePatienceRunsOut) {
  Host server(context_, address_);
  start(server.port(), await_no_refusal("ping", 1h));
  ASSERT_TRUE(run_until_heard(server));
  server.reply("");
  EXPECT_TRUE(result().passed);
  EXPECT_TRUE(result().heard);
}

/// Asks again whenever patience has run out, until it has heard something that often.
class Impatient final : public Conversation {
 public:
  explicit Impatient(int times) : times_(times) {}
  Turn begin() override { return {"first", {}, 1ms}; }
  Turn hear(std::string_view) override { return --times_ == 0 ? passes() : Turn{"next", {}, 1ms}; }
  Turn late() override { return {"again", {}, 1h}; }
  Outcome end() override { return {}; }

 private:
  int times_;
};

TEST_P(ExchangeTest, PatienceIsThatOfTheLastTurnThatHadSome) {
  Host server(context_, address_);
  start(server.port(), std::make_unique<Impatient>(2));
  for (const std::size_t said : {2, 4}) {
    ASSERT_TRUE(run_until_heard(server, said)) << said;
    server.reply("pong");
  }
  EXPECT_TRUE(result().passed) << result().reason;
  EXPECT_EQ(server.heard, (std::vector<std::string>{"first", "again", "next", "again"}));
}

TEST_P(ExchangeTest, EachDatagramIsHeardWholeAndAnswered) {
  Host server(context_, address_);
  std::vector<std::size_t> heard;
  start(server.port(), std::make_unique<Question>("first", [&](std::string_view message) {
          heard.push_back(message.size());
          return heard.size() < 4 ? Conversation::Turn{"next", {}} : passes();
        }));
  for (const std::size_t size : {0, 1, 4000, 9000}) {
    ASSERT_TRUE(run_until_heard(server, server.heard.size() + 1)) << size;
    server.reply(std::string(size, 'x'));
  }
  EXPECT_TRUE(result().passed);
  EXPECT_EQ(heard, (std::vector<std::size_t>{0, 1, 4000, 8192})) << "the last one is too long";
  EXPECT_EQ(server.heard, (std::vector<std::string>{"first", "next", "next", "next"}));
}

TEST_P(ExchangeTest, AnotherPortIsNotHeard) {
  Host server(context_, address_);
  Host other(context_, address_);
  start(server.port(), compare_answer("ping", {"good"}));
  ASSERT_TRUE(run_until_heard(server));
  other.send("evil", server.client());
  server.reply("good");
  EXPECT_TRUE(result().passed) << result().reason;
}

TEST_P(ExchangeTest, WhereAnyPortMayAnswerTheFarewellGoesToTheOneThatDid) {
  Host server(context_, address_);
  Host transfer(context_, address_);
  start(server.port(), tftp_read("kernel"), {.any_port = true});
  ASSERT_TRUE(run_until_heard(server));
  transfer.send(hex("0003000168656c6c6f"), server.client());
  EXPECT_TRUE(result().passed) << result().reason;
  ASSERT_TRUE(run_until_heard(transfer));
  EXPECT_EQ(transfer.heard.front(), hex("00040001"));
  EXPECT_EQ(server.heard.size(), 1u);
}

TEST_P(ExchangeTest, ACancelledProbeReportsNothingAndLetsGo) {
  Host server(context_, address_);
  auto attempt = start(server.port(), await_no_refusal("ping", 1h));
  ASSERT_TRUE(run_until_heard(server));
  attempt->cancel();
  const std::weak_ptr<Exchange> gone = attempt;
  attempt.reset();
  EXPECT_TRUE(run_until([&] { return gone.expired(); }));
  EXPECT_TRUE(results_.empty());
}

TEST_P(ExchangeTest, WhatCanNotBeAskedFailsWithoutADatagram) {
  Host server(context_, address_);
  start(server.port(), tftp_read(""));
  EXPECT_FALSE(result().passed);
  EXPECT_FALSE(result().heard);
  EXPECT_EQ(result().reason, "no such file can be asked for");
  context_.restart();
  context_.poll();
  EXPECT_TRUE(server.heard.empty());
}

TEST_P(ExchangeTest, FailuresLeaveNoDescriptorBehind) {  // reports 129
  const auto open = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                         std::filesystem::directory_iterator());
  };
  const L4Port port = closed_port();
  const auto before = open();
  for (int i = 0; i < 500; ++i) start(port, await_no_refusal("ping", 1h), {.any_port = i % 2 == 0});
  EXPECT_TRUE(run_until([&] { return results_.size() == 500; }));
  context_.restart();
  context_.poll();
  EXPECT_EQ(open(), before);
}

/// Of IPv6 the loopback has only one address.
class ExchangeOfIpv4 : public ExchangeTest {};
INSTANTIATE_TEST_SUITE_P(Family, ExchangeOfIpv4, testing::Values("127.0.0.1"));

TEST_P(ExchangeOfIpv4, AnotherAddressIsNotHeardEvenWhereAnyPortMayAnswer) {
  Host server(context_, address_);
  Host other(context_, *Ip::parse("127.0.0.2"));
  start(server.port(), compare_answer("ping", {"good"}), {.any_port = true});
  ASSERT_TRUE(run_until_heard(server));
  const udp::endpoint client(to_asio(address_), server.client().port());
  other.send("evil", client);
  server.reply("good");
  EXPECT_TRUE(result().passed) << result().reason;
}

TEST_P(ExchangeOfIpv4, WhatTheKernelDoesNotSendIsToldInWords) {
  start(Ipv4{INADDR_BROADCAST}, 9, await_answer("ping"), {});
  EXPECT_FALSE(result().passed);
  EXPECT_FALSE(result().heard);
  EXPECT_EQ(result().reason, "Permission denied");
}

}  // namespace
}  // namespace headgate::probe
