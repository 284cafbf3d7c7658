// SPDX-License-Identifier: Apache-2.0
#include "controlplane/control/server.h"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <deque>

#include <fmt/format.h>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "controlplane/control/door.h"
#include "model/frame.h"

namespace headgate::control {
namespace {

namespace asio = boost::asio;
using Stream = asio::local::stream_protocol;
constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);

constexpr std::size_t kMostClients = 128;
/// A request is a page of edits at most; replies may be longer.
constexpr std::size_t kLongestRequest = std::size_t{16} << 20;
constexpr std::size_t kPiece = 64 * 1024;  // memory is taken as bytes arrive, not as they are announced
/// How long a request that has begun, or a reply, may take to cross the socket.
constexpr std::chrono::seconds kPatience{30};
/// Replies that wait for a client that reads slowly; more ends the connection.
constexpr std::size_t kMostWaiting = std::size_t{64} << 20;

/// One client. Its requests are handled one after the other.
class Client : public std::enable_shared_from_this<Client> {
 public:
  Client(Stream::socket socket, Service& service)
      : socket_(std::move(socket)),
        deadline_(socket_.get_executor()),
        replied_(socket_.get_executor()),
        service_(service) {
    talk_.peer = peer_of(socket_.native_handle());
    replied_.expires_at(asio::steady_timer::time_point::max());
  }

  asio::awaitable<void> run() {
    const auto self = shared_from_this();
    Request request;
    for (bool good = co_await read(request); good; good = co_await read(request)) {
      done_ = false;
      service_.handle(talk_, request, [self](Reply reply, bool last) { self->queue(reply, last); });
      const bool written = co_await write_replies();
      if (!written) break;
    }
    close();
  }

  void close() {
    boost::system::error_code ignored;
    deadline_.cancel();
    replied_.cancel();
    socket_.close(ignored);
  }

 private:
  void limit() {
    deadline_.expires_after(kPatience);
    deadline_.async_wait([self = shared_from_this()](const boost::system::error_code& stopped) {
      if (!stopped) self->close();
    });
  }

  asio::awaitable<bool> read(Request& request) {
    std::string bytes(kFrameHeader, '\0');
    // A connection may be idle for ever; only what has begun must end.
    const auto [ended, first] = co_await asio::async_read(socket_, asio::buffer(bytes, 1), kAwait);
    if (ended) co_return false;
    limit();
    const auto [cut, rest] =
        co_await asio::async_read(socket_, asio::buffer(bytes.data() + 1, kFrameHeader - 1), kAwait);
    const auto length = cut ? Result<std::size_t>(Error{}) : frame_length(bytes);
    if (!length || *length > kLongestRequest) co_return false;
    bytes.clear();
    while (bytes.size() < *length) {
      const std::size_t before = bytes.size();
      bytes.resize(std::min(*length, before + kPiece));
      const auto [error, got] = co_await asio::async_read(
          socket_, asio::buffer(bytes.data() + before, bytes.size() - before), kAwait);
      if (error) co_return false;
    }
    deadline_.cancel();
    co_return request.ParseFromString(bytes);
  }

  void queue(const Reply& reply, bool last) {
    replies_.push_back(frame(reply));
    waiting_ += replies_.back().size();
    done_ = done_ || last;
    if (waiting_ > kMostWaiting) close();
    replied_.cancel();
  }

  /// Writes until the last reply of the request is out.
  asio::awaitable<bool> write_replies() {
    while (socket_.is_open()) {
      if (replies_.empty() && done_) co_return true;
      if (replies_.empty()) {
        co_await replied_.async_wait(kAwait);
        replied_.expires_at(asio::steady_timer::time_point::max());
        continue;
      }
      limit();
      const auto [error, written] =
          co_await asio::async_write(socket_, asio::buffer(replies_.front()), kAwait);
      deadline_.cancel();
      if (error) co_return false;
      waiting_ -= written;
      replies_.pop_front();
    }
    co_return false;
  }

  Stream::socket socket_;
  asio::steady_timer deadline_;
  asio::steady_timer replied_;
  Service& service_;
  Conversation talk_;
  std::deque<std::string> replies_;
  std::size_t waiting_ = 0;
  bool done_ = false;
};

class SocketServer final : public Server {
 public:
  SocketServer(asio::io_context& context, Service& service)
      : door_(
            std::make_shared<Door<Stream, Client>>(context, kMostClients, [&service](Stream::socket socket) {
              return std::make_shared<Client>(std::move(socket), service);
            })) {}
  ~SocketServer() override { door_->close(); }

  Status listen(const std::string& path) {
    unlink(path.c_str());
    if (const auto error = door_->open(path))
      return Error{fmt::format("can't listen on {}: {}", path, error.message())};
    chmod(path.c_str(), 0666);  // everybody may look; what more is allowed, the peer's credentials say
    return Done{};
  }

  void stop() override { door_->close(); }

 private:
  std::shared_ptr<Door<Stream, Client>> door_;
};

}  // namespace

Result<std::unique_ptr<Server>> serve(asio::io_context& context, const std::string& path, Service& service) {
  auto server = std::make_unique<SocketServer>(context, service);
  if (Status listening = server->listen(path); !listening.ok()) return listening.error();
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace headgate::control
