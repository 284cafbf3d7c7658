// SPDX-License-Identifier: Apache-2.0
#include "dataplane/shell/server.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "dataplane/shell/log.h"

namespace headgate::shell {
namespace {

constexpr int kBacklog = 16;
constexpr std::size_t kReadAtOnce = std::size_t{1} << 20;  ///< so that one client can't keep the thread

Error failure(std::string_view what, const std::string& path) {
  return {fmt::format("{} {}: {}", what, path, std::strerror(errno))};
}

/// Only root, and whoever this process runs as, may give orders.
bool may_order(int fd) {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return false;
  return peer.uid == 0 || peer.uid == geteuid();
}

Fd stream_socket() {
  return Fd(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

}  // namespace

Server::~Server() {
  if (listener_) unlink(path_.c_str());
}

Status Server::listen() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path_.size() >= sizeof address.sun_path) return Error{fmt::format("the path {} is too long", path_)};
  std::copy(path_.begin(), path_.end(), address.sun_path);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  std::error_code ignored;  // shows in bind()
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);

  const Fd trial = stream_socket();
  if (connect(trial.get(), generic, sizeof address) == 0) {
    return Error{fmt::format("another dataplane listens on {}", path_)};
  }
  unlink(path_.c_str());
  Fd listener = stream_socket();
  const mode_t mask = umask(0177);
  const bool bound = listener && bind(listener.get(), generic, sizeof address) == 0;
  umask(mask);
  if (!bound || ::listen(listener.get(), kBacklog) != 0) return failure("listening on", path_);
  listener_ = std::move(listener);
  return Done{};
}

void Server::add_to(std::vector<pollfd>& fds) const {
  if (clients_.size() < kMostClients) fds.push_back({listener_.get(), POLLIN, 0});
  for (const auto& [id, client] : clients_) {
    const auto events = static_cast<short>(client.out.empty() ? POLLIN : POLLIN | POLLOUT);
    fds.push_back({client.fd.get(), events, 0});
  }
}

void Server::handle(const std::vector<pollfd>& fds) {
  const auto found = [&](int fd) {
    const auto entry = std::find_if(fds.begin(), fds.end(), [&](const pollfd& p) { return p.fd == fd; });
    return entry == fds.end() ? 0 : entry->revents;
  };
  for (auto& [id, client] : clients_) {
    const int events = found(client.fd.get());
    if (events & POLLOUT) flush(client);
    if (events & (POLLIN | POLLHUP | POLLERR)) receive(id, client);
  }
  std::erase_if(clients_, [](const auto& entry) { return entry.second.broken; });
  if (found(listener_.get()) & POLLIN) accept_all();
}

void Server::accept_all() {
  while (clients_.size() < kMostClients) {
    Fd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd) return;
    if (may_order(fd.get())) clients_[next_++].fd = std::move(fd);
  }
}

void Server::receive(ClientId id, Client& client) {
  std::array<char, 65536> buffer;
  std::size_t total = 0;
  while (total < kReadAtOnce) {
    const ssize_t received = recv(client.fd.get(), buffer.data(), buffer.size(), 0);
    if (received < 0 && errno == EINTR) continue;
    if (received < 0 && errno == EAGAIN) break;
    if (received <= 0) {
      client.broken = true;
      break;
    }
    total += static_cast<std::size_t>(received);
    client.reader.append({buffer.data(), static_cast<std::size_t>(received)});
  }
  take_orders(id, client);
}

void Server::take_orders(ClientId id, Client& client) {
  for (;;) {
    auto body = client.reader.next();
    if (body && !body->has_value()) return;
    forwarding::Order order;
    if (!body || !order.ParseFromString(**body)) {
      log("a client of {} sent what is no order: its connection ends", path_);
      client.broken = true;
      return;
    }
    handler_(id, order);
  }
}

void Server::send(ClientId id, const forwarding::Report& report) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  Client& client = found->second;
  client.out += frame(report);
  if (client.out.size() > kMostPending) client.broken = true;
  flush(client);
}

void Server::broadcast(const forwarding::Report& report) {
  for (const auto& [id, client] : clients_) send(id, report);
}

void Server::flush(Client& client) {
  std::size_t sent = 0;
  while (sent < client.out.size()) {
    const ssize_t n =
        ::send(client.fd.get(), client.out.data() + sent, client.out.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      client.broken |= errno != EAGAIN;
      break;
    }
    sent += static_cast<std::size_t>(n);
  }
  client.out.erase(0, sent);
}

std::size_t Server::pending(ClientId client) const {
  const auto found = clients_.find(client);
  return found == clients_.end() ? 0 : found->second.out.size();
}

}  // namespace headgate::shell
