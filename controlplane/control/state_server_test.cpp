// SPDX-License-Identifier: Apache-2.0
//
// The state of virtual servers over real HTTP.
#include "controlplane/control/state_server.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/asio/io_context.hpp>

#include "controlplane/probe/run_until.h"

namespace headgate::control {
namespace {

namespace asio = boost::asio;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

/// A port of the loopback that nobody listens on.
L4Port free_port() {
  const int probe = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(bind(probe, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  socklen_t length = sizeof address;
  getsockname(probe, reinterpret_cast<sockaddr*>(&address), &length);
  close(probe);
  return ntohs(address.sin_port);
}

class StateServerTest : public testing::Test {
 protected:
  StateServerTest() { EXPECT_TRUE(server_->listen(at_).ok()); }
  ~StateServerTest() override {
    for (const int client : clients_) close(client);
  }

  int connect() {
    const int client = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    clients_.push_back(client);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(at_.address.v4().value);
    address.sin_port = htons(at_.port);
    (void)::connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address);
    return client;
  }
  static void say(int client, std::string_view text) {
    EXPECT_EQ(send(client, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  /// What comes until `end` has come, or the server closes.
  std::string hear(int client, std::string_view end = {}) {
    std::string heard;
    const auto over = [&] {
      std::array<char, 4096> bytes;
      const ssize_t length = recv(client, bytes.data(), bytes.size(), 0);
      if (length > 0) heard.append(bytes.data(), static_cast<std::size_t>(length));
      return length == 0 || (length < 0 && errno != EAGAIN) || (!end.empty() && heard.ends_with(end));
    };
    EXPECT_TRUE(run_until(context_, over));
    return heard;
  }
  std::string ask(std::string_view text) {
    const int client = connect();
    context_.poll();
    say(client, text);
    return hear(client);
  }

  asio::io_context context_{1};
  State state_ = UP;
  std::unique_ptr<daemon::StateServer> server_ = make_state_server(
      context_, [this](std::uint32_t virt) { return virt == 1 ? std::optional(state_) : std::nullopt; });
  daemon::Endpoint at_{Ipv4{0x7f000001}, free_port()};
  std::vector<int> clients_;
};

constexpr std::string_view kOnce = "GET /virt/1/available HTTP/1.1\r\nHost: lb\r\nConnection: close\r\n\r\n";

TEST_F(StateServerTest, AnswersWithTheStateOfNow) {
  EXPECT_EQ(ask(kOnce),
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nCache-Control: no-store\r\nConnection: close\r\n"
            "Content-Length: 10\r\n\r\navailable\n");
  state_ = DEGRADED;
  EXPECT_THAT(ask(kOnce), StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(ask("GET /virt/1/available-or-degraded HTTP/1.0\r\n\r\n"), EndsWith("\r\n\r\ndegraded\n"));
}

TEST_F(StateServerTest, OneConnectionMayAskAgainAndAgain) {
  const int client = connect();
  context_.poll();
  for (const State state : {UP, FAILED, UP}) {
    state_ = state;
    say(client, "GET /virt/1/available HTTP/1.1\r\nHost: lb\r\n\r\n");
    EXPECT_THAT(hear(client, "available\n"), StartsWith(state == UP ? "HTTP/1.1 200" : "HTTP/1.1 503"));
  }
}

TEST_F(StateServerTest, HeadHasNoBody) {
  EXPECT_THAT(ask("HEAD /virt/1/available HTTP/1.1\r\nHost: lb\r\nConnection: close\r\n\r\n"),
              AllOf(HasSubstr("Content-Length: 10\r\n"), EndsWith("\r\n\r\n")));
}

TEST_F(StateServerTest, OtherMethodsAreTold) {
  EXPECT_THAT(ask("DELETE /virt/1/available HTTP/1.1\r\nHost: lb\r\nConnection: close\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 405 "), HasSubstr("Allow: GET, HEAD\r\n")));
}

TEST_F(StateServerTest, WhatIsNoHttpEndsTheConnection) {
  for (const std::string& text :
       {std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"), std::string("SSH-2.0-x\r\n\r\n"),
        "GET /" + std::string(9000, 'a') + " HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\n" + std::string(9000, 'b')})
    EXPECT_THAT(ask(text), testing::Not(HasSubstr("200 OK"))) << text.substr(0, 20);
  EXPECT_THAT(ask(kOnce), StartsWith("HTTP/1.1 200 "));
}

TEST_F(StateServerTest, EmptyLinesMayComeBeforeARequest) {
  EXPECT_THAT(ask("\r\n\n\r\n" + std::string(kOnce)), StartsWith("HTTP/1.1 200 "));
  const int client = connect();
  context_.poll();
  for (const char* text : {"\r", "\n", "GET /virt/1/available HTTP/1.1\r\nHost: lb\r\n\r\n"}) {
    say(client, text);
    for (int i = 0; i < 10; ++i) context_.poll();
  }
  EXPECT_THAT(hear(client, "available\n"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(ask(std::string(65, '\n') + std::string(kOnce)), StartsWith("HTTP/1.1 400 "));
}

TEST_F(StateServerTest, WhoAsksThroughAProxyIsAnswered) {
  EXPECT_THAT(
      ask("GET http://lb:8088/virt/1/available HTTP/1.1\r\nHost: lb:8088\r\nConnection: close\r\n\r\n"),
      StartsWith("HTTP/1.1 200 "));
}

TEST_F(StateServerTest, OneMoreClientThanItServesTakesThePlaceOfTheOneLongestSilent) {
  const int asks = connect();
  const int holds = connect();
  while (clients_.size() < 64) connect();
  for (const int client : {clients_.back(), asks}) {  // all have come in when the last one is answered
    say(client, "GET /virt/1/available HTTP/1.1\r\nHost: lb\r\n\r\n");
    hear(client, "available\n");
  }
  say(holds, "GET /virt/1/avail");

  EXPECT_THAT(ask(kOnce), StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(hear(holds), "");
  say(asks, kOnce);
  EXPECT_THAT(hear(asks), StartsWith("HTTP/1.1 200 ")) << "it was not the longest silent";
}

TEST_F(StateServerTest, ClientsThatHoldItsPlacesShutNobodyOut) {
  for (int i = 0; i < 200; ++i) connect();
  for (int i = 0; i < 3; ++i) EXPECT_THAT(ask(kOnce), StartsWith("HTTP/1.1 200 "));
}

TEST_F(StateServerTest, ElsewhereItIsNotAskedAnyMore) {
  const int client = connect();
  context_.poll();
  const daemon::Endpoint before = std::exchange(at_, {Ipv4{0x7f000001}, free_port()});
  EXPECT_TRUE(server_->listen(at_).ok());
  EXPECT_EQ(hear(client), "") << "its connection ends";
  EXPECT_THAT(ask(kOnce), StartsWith("HTTP/1.1 200 "));
  EXPECT_TRUE(server_->listen(before).ok());
  EXPECT_TRUE(server_->listen(std::nullopt).ok());
  EXPECT_TRUE(server_->listen(before).ok()) << "the port is free again";
}

TEST_F(StateServerTest, AnAddressThatIsNotOursIsAnErrorInWords) {
  const Status foreign = server_->listen(daemon::Endpoint{Ipv4{0xc0000201}, 8088});
  ASSERT_FALSE(foreign.ok());
  EXPECT_EQ(foreign.error().message, "can't listen on 192.0.2.1:8088: Cannot assign requested address");
}

}  // namespace
}  // namespace headgate::control
