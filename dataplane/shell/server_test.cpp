// SPDX-License-Identifier: Apache-2.0
#include "dataplane/shell/server.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace headgate::shell {
namespace {

class ServerTest : public testing::Test {
 protected:
  ServerTest() {
    std::string name = (std::filesystem::temp_directory_path() / "headgate-server-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    server_ = make();
  }
  ~ServerTest() override {
    server_.reset();
    std::filesystem::remove_all(folder_);
  }

  [[nodiscard]] std::string path() const { return folder_ + "/run/dataplane.sock"; }
  [[nodiscard]] std::unique_ptr<Server> make() {
    return std::make_unique<Server>(path(), [this](Server::ClientId client, const forwarding::Order& order) {
      client_ = client;
      ++orders_;
      forwarding::Report report;
      report.set_id(order.id());
      server_->send(client, report);
    });
  }
  [[nodiscard]] Fd connect() const {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    path().copy(address.sun_path, sizeof address.sun_path - 1);
    Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return fd;
  }
  /// Serves all that is ready.
  void serve() {
    for (int i = 0; i < 8; ++i) {
      std::vector<pollfd> fds;
      server_->add_to(fds);
      if (poll(fds.data(), fds.size(), 0) <= 0) return;
      server_->handle(fds);
    }
  }
  static void write(const Fd& fd, std::string_view bytes) {
    ASSERT_EQ(send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  /// The id of the next report; nothing when none waits; -1 when the server hung up.
  static std::optional<std::int64_t> next(const Fd& fd) {
    char buffer[4096];
    const ssize_t received = recv(fd.get(), buffer, sizeof buffer, 0);
    if (received < 0) return std::nullopt;
    if (received == 0) return -1;
    FrameReader reader;
    reader.append({buffer, static_cast<std::size_t>(received)});
    forwarding::Report report;
    const auto body = reader.next();
    if (!body || !body->has_value() || !report.ParseFromString(**body)) return std::nullopt;
    return static_cast<std::int64_t>(report.id());
  }
  static std::string order(std::uint64_t id) {
    forwarding::Order order;
    order.set_id(id);
    order.mutable_hello();
    return frame(order);
  }

  std::string folder_;
  std::unique_ptr<Server> server_;
  Server::ClientId client_ = 0;
  int orders_ = 0;
};

TEST_F(ServerTest, AnswersEachClientItsOrders) {
  ASSERT_TRUE(server_->listen().ok());
  const Fd one = connect();
  const Fd two = connect();
  serve();
  write(one, order(11));
  write(two, order(22));
  serve();
  EXPECT_EQ(next(one), 11);
  EXPECT_EQ(next(two), 22);
}

TEST_F(ServerTest, TakesAnOrderThatComesByteByByte) {
  ASSERT_TRUE(server_->listen().ok());
  const Fd client = connect();
  for (const char byte : order(5)) {
    EXPECT_EQ(orders_, 0);
    write(client, {&byte, 1});
    serve();
  }
  EXPECT_EQ(next(client), 5);
}

TEST_F(ServerTest, NonsenseEndsOnlyTheConnectionItCameFrom) {
  ASSERT_TRUE(server_->listen().ok());
  const Fd good = connect();
  const Fd long_frame = connect();
  const Fd no_order = connect();
  serve();
  write(long_frame, std::string(8, '\xff'));
  write(no_order, std::string("\0\0\0\3\xff\xff\xff", 7));
  serve();
  EXPECT_EQ(next(long_frame), -1);
  EXPECT_EQ(next(no_order), -1);
  write(good, order(1));
  serve();
  EXPECT_EQ(next(good), 1);
}

TEST_F(ServerTest, AClientThatDoesNotReadLosesItsConnection) {
  ASSERT_TRUE(server_->listen().ok());
  const Fd client = connect();
  serve();
  write(client, order(1));
  serve();
  forwarding::Report large;
  large.set_error(std::string(std::size_t{1} << 20, 'x'));
  for (std::size_t sent = 0; sent <= Server::kMostPending + (std::size_t{4} << 20);
       sent += std::size_t{1} << 20) {
    server_->send(client_, large);
  }
  write(client, order(2));
  serve();
  EXPECT_FALSE(server_->connected(client_));
}

TEST_F(ServerTest, OnlyTheOwnerMayConnectAndTheSocketGoesWithTheServer) {
  ASSERT_TRUE(server_->listen().ok());
  struct stat info {};
  ASSERT_EQ(stat(path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  server_.reset();
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(ServerTest, TakesOverTheSocketOfADeadServerButNotOfALivingOne) {
  ASSERT_TRUE(server_->listen().ok());
  const auto second = make();
  EXPECT_FALSE(second->listen().ok());
  std::filesystem::rename(path(), folder_ + "/moved");  // as after kill -9: a socket that nobody serves
  server_.reset();
  std::filesystem::rename(folder_ + "/moved", path());
  server_ = make();
  EXPECT_TRUE(server_->listen().ok());
}

}  // namespace
}  // namespace headgate::shell
