// SPDX-License-Identifier: Apache-2.0
#include "cli/socket_client.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include <fmt/format.h>

namespace headgate::cli {
namespace {

constexpr std::chrono::seconds kPatience{10};  // for a headgated that restarts
constexpr std::chrono::milliseconds kBetweenTries{100};

Error gone(const char* what) {
  return {fmt::format("headgated {}: {}", what, std::strerror(errno))};
}

/// A headgated that is stopped must not stop its administrator. Longer than headgated itself waits for a
/// dataplane.
constexpr timeval kLongestAnswer{.tv_sec = 40, .tv_usec = 0};

}  // namespace

Result<std::unique_ptr<SocketClient>> SocketClient::connect(const std::string& run_dir) {
  std::unique_ptr<SocketClient> client(new SocketClient(run_dir + "/control.sock"));
  if (auto opened = client->open_socket(); !opened)
    return Error{fmt::format("{}. Start it with: systemctl start headgated (or headgated --run-dir {})",
                             opened.error().message, run_dir)};
  if (auto opened = client->open_session(); !opened) return opened.error();
  return client;
}

SocketClient::~SocketClient() {
  if (socket_ >= 0) {
    control::Request request;
    request.mutable_close();
    (void)exchange(std::move(request));  // at the end nothing is left to do about an error
  }
  close_socket();
}

Result<control::Reply> SocketClient::call(const control::Request& request) {
  if (socket_ < 0)
    if (auto back = reconnect(); !back) return back.error();
  auto reply = exchange(request);
  if (!reply) {
    if (auto back = reconnect(); !back) return back.error();
    reply = exchange(request);
  }
  if (reply && request.has_edit() && (reply->error().empty() || reply->edited().lines() > 0)) edited_ = true;
  if (reply && reply->error().empty()) {
    const bool settled = request.has_apply() && !reply->applied().needs_confirmation();
    if (settled || request.has_revert()) edited_ = false;
  }
  return reply;
}

Status SocketClient::open_socket() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path_.size() >= sizeof(address.sun_path))
    return Error{fmt::format("{} is too long for a socket", path_)};
  path_.copy(address.sun_path, path_.size());
  socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &kLongestAnswer, sizeof(kLongestAnswer));
  reader_ = {};
  if (socket_ >= 0 && ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0)
    return Done{};
  const Error error{fmt::format("headgated does not answer on {}: {}", path_, std::strerror(errno))};
  close_socket();
  return error;
}

Status SocketClient::open_session() {
  control::Request request;
  request.mutable_open()->set_resume(opened_.session());
  const auto reply = exchange(std::move(request));
  if (!reply) return reply.error();
  if (!reply->error().empty()) return Error{reply->error(0)};
  opened_ = reply->opened();
  return Done{};
}

/// A new connection with the old session. Fails, too, when that session's pending changes are gone.
Status SocketClient::reconnect() {
  close_socket();
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  Status opened = Error{""};
  while (!(opened = open_socket()) && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(kBetweenTries);
  if (!opened) return opened;
  if (auto session = open_session(); !session) return session;
  if (opened_.resumed() || !edited_) return Done{};
  edited_ = false;
  lost_changes_ = true;
  return Error{"headgated has restarted without this session's pending changes: they are gone"};
}

Result<control::Reply> SocketClient::exchange(control::Request request) {
  request.set_id(next_id_++);
  if (auto sent = send(frame(request)); !sent) return sent.error();
  auto reply = receive(request.id());
  // Only sessions come in several parts.
  while (reply && reply->sessions().more()) {
    const auto part = receive(request.id());
    if (!part) return part;
    reply->mutable_sessions()->clear_more();
    reply->MergeFrom(*part);
    reply->mutable_sessions()->set_more(part->sessions().more());
  }
  return reply;
}

Status SocketClient::send(const std::string& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t part = ::send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (part < 0 && errno == EINTR) continue;
    if (part < 0) return gone("can't be reached");
    sent += static_cast<std::size_t>(part);
  }
  return Done{};
}

Result<control::Reply> SocketClient::receive(std::uint64_t id) {
  std::array<char, 65536> buffer;
  while (true) {
    const auto body = reader_.next();
    if (!body) return body.error();
    if (*body) {
      control::Reply reply;
      if (!reply.ParseFromString(**body)) return Error{"headgated sent what is no reply"};
      if (reply.id() == id) return reply;
      continue;  // the answer to a request that was given up
    }
    const ssize_t got = ::recv(socket_, buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) errno = ETIMEDOUT;  // how a receive that took too long says so
    if (got < 0) return gone("does not answer");
    if (got == 0) return Error{"headgated closed the connection"};
    reader_.append({buffer.data(), static_cast<std::size_t>(got)});
  }
}

void SocketClient::close_socket() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
}

}  // namespace headgate::cli
