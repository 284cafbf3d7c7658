// SPDX-License-Identifier: Apache-2.0
#include "cli/socket_client.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <thread>

#include <gtest/gtest.h>

namespace headgate::cli {
namespace {

/// Answers with several messages; no answer closes the connection.
using Answers = std::function<std::vector<control::Reply>(const control::Request&)>;

/// A headgated of one thread that serves one connection after the other.
class Server {
 public:
  Server(const std::string& folder, std::vector<Answers> connections) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    (folder + "/control.sock").copy(address.sun_path, sizeof(address.sun_path) - 1);
    listener_ = ::socket(AF_UNIX, SOCK_STREAM, 0);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(::listen(listener_, 4), 0);
    thread_ = std::thread([this, all = std::move(connections)] {
      for (const auto& answers : all) serve(answers);
    });
  }
  ~Server() {
    thread_.join();
    ::close(listener_);
  }

 private:
  void serve(const Answers& answers) {
    const int peer = ::accept(listener_, nullptr, nullptr);
    FrameReader reader;
    char buffer[4096];
    ssize_t got = 0;
    bool open = true;
    while (open && (got = ::read(peer, buffer, sizeof(buffer))) > 0) {
      reader.append({buffer, static_cast<std::size_t>(got)});
      while (const auto body = *reader.next()) open = answer(peer, answers, *body) && open;
    }
    ::close(peer);
  }

  static bool answer(int peer, const Answers& answers, const std::string& body) {
    control::Request request;
    request.ParseFromString(body);
    auto replies = answers(request);
    for (auto& reply : replies) {
      reply.set_id(request.id());
      const std::string bytes = frame(reply);
      EXPECT_EQ(::write(peer, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    }
    return !replies.empty();
  }

  int listener_ = -1;
  std::thread thread_;
};

class Folder {
 public:
  Folder() {
    char name[] = "/tmp/headgate-cli-XXXXXX";
    path = ::mkdtemp(name);
  }
  ~Folder() {
    ::unlink((path + "/control.sock").c_str());
    ::rmdir(path.c_str());
  }
  std::string path;
};

/// Opens sessions; refuses to answer anything else, as a headgated that dies does.
std::vector<control::Reply> open_only(const control::Request& request, bool resumed) {
  if (request.has_close()) return {control::Reply()};
  if (!request.has_open()) return {};
  control::Reply reply;
  reply.mutable_opened()->set_session("s1");
  reply.mutable_opened()->set_resumed(resumed);
  return {reply};
}

std::vector<control::Reply> obliging(const control::Request& request, bool resumed) {
  auto replies = open_only(request, resumed);
  return replies.empty() ? std::vector<control::Reply>{control::Reply()} : replies;
}

control::Request edit() {
  control::Request request;
  request.mutable_edit()->set_lines("/c/slb/on");
  return request;
}

TEST(SocketClient, SaysHowToStartHeadgated) {
  const auto client = SocketClient::connect("/nonexistent");
  ASSERT_FALSE(client.ok());
  EXPECT_EQ(
      client.error().message,
      "headgated does not answer on /nonexistent/control.sock: No such file or directory. Start it with: "
      "systemctl start headgated (or headgated --run-dir /nonexistent)");
}

TEST(SocketClient, RestartsOfHeadgatedAreNotNoticedWhenItKeptTheSession) {
  Folder folder;
  Server server(folder.path, {[](const auto& r) { return open_only(r, false); },
                              [](const auto& r) { return obliging(r, r.open().resume() == "s1"); }});
  const auto client = SocketClient::connect(folder.path);
  ASSERT_TRUE(client.ok());
  EXPECT_TRUE((*client)->call(edit()).ok());
  EXPECT_FALSE((*client)->broken());
}

TEST(SocketClient, LostChangesAreSaidOnce) {
  Folder folder;
  int edits = 0;
  Server server(folder.path, {[&](const control::Request& r) {
                                return r.has_edit() && ++edits == 2 ? open_only(r, false)
                                                                    : obliging(r, false);
                              },
                              [](const auto& r) { return obliging(r, false); }});
  const auto client = SocketClient::connect(folder.path);
  ASSERT_TRUE(client.ok());
  EXPECT_TRUE((*client)->call(edit()).ok());
  const auto reply = (*client)->call(edit());
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().message,
            "headgated has restarted without this session's pending changes: they are gone");
  EXPECT_TRUE((*client)->broken());
  EXPECT_TRUE((*client)->call(edit()).ok());
}

TEST(SocketClient, PartsOfASessionListAreJoined) {
  Folder folder;
  Server server(folder.path, {[](const control::Request& request) {
                  if (!request.has_sessions()) return obliging(request, false);
                  std::vector<control::Reply> parts(3);
                  for (std::uint32_t i = 0; i < 3; ++i)
                    parts[i].mutable_sessions()->add_session()->set_real(i + 1);
                  parts[0].mutable_sessions()->set_more(true);
                  parts[1].mutable_sessions()->set_more(true);
                  return parts;
                }});
  const auto client = SocketClient::connect(folder.path);
  ASSERT_TRUE(client.ok());
  control::Request request;
  request.mutable_sessions();
  const auto reply = (*client)->call(request);
  ASSERT_TRUE(reply.ok());
  ASSERT_EQ(reply->sessions().session_size(), 3);
  EXPECT_EQ(reply->sessions().session(2).real(), 3u);
}

}  // namespace
}  // namespace headgate::cli
