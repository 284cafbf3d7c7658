// SPDX-License-Identifier: Apache-2.0
//
// The shells around Asio against real sockets: the dataplane's socket, the control socket.
#include "controlplane/action/asio_actions.h"
#include "controlplane/control/server.h"
#include "controlplane/control/state_server.h"
#include "controlplane/dataplane_link/socket_link.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/asio/io_context.hpp>

#include "controlplane/probe/asio_prober.h"
#include "controlplane/probe/asio_watcher.h"
#include "controlplane/probe/run_until.h"
#include "model/frame.h"

namespace headgate {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

std::string fresh_directory() {
  char name[] = "/tmp/headgate-sockets-XXXXXX";
  return mkdtemp(name);
}

int connect_to(const std::string& path) {
  const int client = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  EXPECT_EQ(connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  return client;
}

/// Speaks forwarding.proto from a thread: answers Hello and everything else with ok, and after `most` orders
/// drops the connection, or says nothing any more.
class FakeDataplane {
 public:
  enum class Then { drops, hangs };
  FakeDataplane(const std::string& path, int most, Then then = Then::drops) : most_(most), then_(then) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(listener_, 4), 0);
    thread_ = std::thread([this] { serve(); });
  }
  ~FakeDataplane() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }

 private:
  void serve() {
    while (true) {
      const int client = accept(listener_, nullptr, nullptr);
      if (client < 0) return;
      talk(client);
      close(client);
    }
  }
  void talk(int client) const {
    FrameReader reader;
    char bytes[4096];
    int orders = 0;
    for (ssize_t length = 0; (length = recv(client, bytes, sizeof bytes, 0)) > 0;) {
      reader.append({bytes, static_cast<std::size_t>(length)});
      for (auto body = reader.next(); body && *body; body = reader.next()) {
        forwarding::Order order;
        const bool good = order.ParseFromString(**body);
        const bool over = ++orders > most_;
        if (over && then_ == Then::hangs) continue;
        if (!good || over) return;
        forwarding::Report report;
        report.set_id(order.id());
        if (order.has_hello()) report.mutable_hand_back()->set_generation(7);
        const std::string answer = frame(report);
        (void)send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
      }
    }
  }

  int most_;
  Then then_;
  int listener_ = socket(AF_UNIX, SOCK_STREAM, 0);
  std::thread thread_;
};

TEST(Link, ADataplaneThatHangsIsLost) {
  const std::string directory = fresh_directory();
  asio::io_context context(1);
  FakeDataplane hanging(directory + "/dataplane.sock", 1, FakeDataplane::Then::hangs);
  int lost = 0;
  const auto link = link::make_link(context, directory + "/dataplane.sock",
                                    {.on_connected = [](const forwarding::HandBack&) {},
                                     .on_lost = [&] { ++lost; },
                                     .on_absent = [] {},
                                     .on_report = [](const forwarding::Report&) {}},
                                    50ms);
  link->start();
  ASSERT_TRUE(run_until(context, [&] { return link->connected(); }));
  std::string error;
  link->send({}, [&](const forwarding::Report& report) { error = report.error(); });
  EXPECT_TRUE(run_until(context, [&] { return lost == 1; }));
  EXPECT_EQ(error, "the dataplane is not there");
  link->stop();
  context.restart();
  context.poll();
  std::filesystem::remove_all(directory);
}

TEST(Link, ConnectsAgainWhenTheDataplaneIsLostAndTellsWhoWaits) {
  const std::string directory = fresh_directory();
  asio::io_context context(1);
  int connected = 0;
  int lost = 0;
  int absent = 0;
  const auto link = link::make_link(
      context, directory + "/dataplane.sock",
      {.on_connected = [&](const forwarding::HandBack& back) { connected += back.generation() == 7; },
       .on_lost = [&] { ++lost; },
       .on_absent = [&] { ++absent; },
       .on_report = [](const forwarding::Report&) {}});
  link->start();
  EXPECT_TRUE(run_until(context, [&] { return absent > 0; }));
  const FakeDataplane dataplane(directory + "/dataplane.sock", 2);
  EXPECT_TRUE(run_until(context, [&] { return connected == 1; }));
  std::vector<std::string> errors;
  for (int i = 0; i < 2; ++i) {
    forwarding::Order order;
    order.mutable_restart_stats();
    link->send(order, [&](const forwarding::Report& report) { errors.push_back(report.error()); });
  }
  EXPECT_TRUE(run_until(context, [&] { return lost == 1 && connected == 2; }));
  EXPECT_THAT(errors, testing::ElementsAre("", "the dataplane is not there"));
  link->stop();
  std::filesystem::remove_all(directory);
}

class ControlSocket : public testing::Test {
 protected:
  class Kernel final : public kernel::Kernel {
   public:
    std::vector<std::string> prepare(const kernel::Plan&, const kernel::DeviceNames&) override { return {}; }
    std::vector<std::string> apply(const kernel::Plan&, const kernel::DeviceNames&) override { return {}; }
    void announce(const kernel::Plan&, const kernel::DeviceNames&, std::uint32_t) override {}
    [[nodiscard]] std::map<Ip, Mac> neighbours() override { return {}; }
    [[nodiscard]] Mac mac_of(const std::string&) override { return {}; }
  };
  class World final : public daemon::Clock, public daemon::Timers {
   public:
    [[nodiscard]] std::uint64_t unix_ms() const override { return 0; }
    [[nodiscard]] std::chrono::milliseconds now() const override { return {}; }
    daemon::TimerId after(std::chrono::milliseconds, std::function<void()>) override { return 1; }
    void cancel(daemon::TimerId) override {}
  };

  ~ControlSocket() override { std::filesystem::remove_all(directory_); }

  /// Sends a status request and waits for its reply.
  bool answers() {
    control::Request request;
    request.set_id(3);
    request.mutable_status();
    const std::string bytes = frame(request);
    const int client = connect_to(directory_ + "/control.sock");
    EXPECT_EQ(send(client, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    FrameReader reader;
    std::optional<std::string> body;
    const bool answered = run_until(context_, [&] {
      char piece[4096];
      const auto length = recv(client, piece, sizeof piece, MSG_DONTWAIT);
      if (length > 0) reader.append({piece, static_cast<std::size_t>(length)});
      const auto next = reader.next();
      if (next && *next) body = **next;
      return body.has_value();
    });
    close(client);
    control::Reply reply;
    return answered && reply.ParseFromString(*body) && reply.id() == 3 && reply.has_status();
  }

  /// Whether the server closes a connection on which this was said.
  bool closes_on(const std::string& bytes) {
    const int client = connect_to(directory_ + "/control.sock");
    (void)send(client, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    const bool closed = run_until(context_, [&] {
      char piece[1];
      const auto length = recv(client, piece, 1, MSG_DONTWAIT);
      return length == 0 || (length < 0 && errno == ECONNRESET);
    });
    close(client);
    return closed;
  }

  std::string directory_ = fresh_directory();
  asio::io_context context_{1};
  Kernel kernel_;
  World world_;
  std::unique_ptr<probe::Prober> prober_ = probe::make_prober(context_);
  std::unique_ptr<probe::Watcher> watcher_ = probe::make_watcher(context_);
  std::unique_ptr<action::Actions> actions_ = action::make_actions(context_);
  std::unique_ptr<link::SocketLink> link_ = link::make_link(context_, directory_ + "/none", {});
  std::unique_ptr<daemon::StateServer> state_server_ = control::make_state_server(context_, {});
  daemon::Engine engine_{{kernel_, *link_, *prober_, world_, world_, *state_server_, *watcher_, *actions_},
                         directory_,
                         "boot",
                         {}};
  control::Service service_{engine_};
  Result<std::unique_ptr<control::Server>> server_ =
      control::serve(context_, directory_ + "/control.sock", service_);
};

TEST_F(ControlSocket, HostileClientsCostOnlyThemselves) {
  ASSERT_TRUE(server_.ok());
  const int partial = connect_to(directory_ + "/control.sock");
  ASSERT_EQ(send(partial, "\0\0", 2, 0), 2);
  const int promise = connect_to(directory_ + "/control.sock");
  ASSERT_EQ(send(promise, "\0\xff\xff\xff", 4, 0), 4);  // 16 MiB that never come
  EXPECT_TRUE(answers());
  EXPECT_TRUE(closes_on(std::string("\x04\x00\x00\x00", 4))) << "64 MiB";
  EXPECT_TRUE(closes_on(std::string("\x00\x00\x00\x03\xff\xff\xff", 7))) << "no message";
  EXPECT_TRUE(answers());
  close(partial);
  close(promise);
}

TEST_F(ControlSocket, ManyDroppedConnectionsLeaveNothingBehind) {  // reports 108
  for (int i = 0; i < 300; ++i) {
    const int client = connect_to(directory_ + "/control.sock");
    close(client);
    context_.restart();
    context_.run_for(1ms);
  }
  EXPECT_TRUE(answers());
}

}  // namespace
}  // namespace headgate
