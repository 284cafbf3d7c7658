// SPDX-License-Identifier: Apache-2.0
#include "controlplane/control/state_server.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>

#include "controlplane/control/door.h"
#include "controlplane/probe/asio_address.h"

namespace headgate::control {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using Clock = std::chrono::steady_clock;
constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);

constexpr std::size_t kMostClients = 64;
constexpr std::size_t kLongestRequest = 8192;
constexpr std::size_t kMostEmptyLines = 64;  // octets of them
/// How long a client may take to ask, again and again, or to take the answer.
constexpr std::chrono::seconds kPatience{10};

using Request = http::request<http::empty_body>;
using Reply = http::response<http::string_body>;

Reply reply_to(const Request& request, const VirtStateOf& state_of) {
  const auto text = [](const auto& view) { return std::string_view(view.data(), view.size()); };
  Availability answer = availability(text(request.method_string()), text(request.target()), state_of);
  Reply reply(static_cast<http::status>(answer.status), request.version());
  reply.set(http::field::content_type, "text/plain");
  reply.set(http::field::cache_control, "no-store");
  if (reply.result() == http::status::method_not_allowed) reply.set(http::field::allow, "GET, HEAD");
  reply.keep_alive(request.keep_alive());
  reply.content_length(answer.body.size());
  if (request.method() != http::verb::head) reply.body() = std::move(answer.body);
  return reply;
}

/// One client, asking one question after the other.
class Client {
 public:
  Client(tcp::socket socket, VirtStateOf state_of)
      : stream_(std::move(socket)), state_of_(std::move(state_of)) {}

  asio::awaitable<void> run() {
    for (bool more = true; more;) {
      stream_.expires_after(kPatience);
      co_await pass_empty_lines();
      more = co_await answer();
    }
    close();
  }

  void close() {
    boost::system::error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
    stream_.close();
  }

  /// Since it has asked a whole question, or come in.
  [[nodiscard]] Clock::time_point silent_since() const { return silent_since_; }

 private:
  /// There may be some before a request (RFC 9112, 2.2).
  asio::awaitable<void> pass_empty_lines() {
    const auto at_line_end = [this] {
      const char first = *static_cast<const char*>(buffer_.data().data());
      return first == '\r' || first == '\n';
    };
    for (std::size_t passed = 0; passed < kMostEmptyLines;) {
      if (buffer_.size() == 0) {
        const auto [error, got] = co_await stream_.async_read_some(buffer_.prepare(kLongestRequest), kAwait);
        if (error) co_return;
        buffer_.commit(got);
      } else if (at_line_end()) {
        buffer_.consume(1);
        ++passed;
      } else {
        co_return;
      }
    }
  }

  /// One request; whether another may follow.
  asio::awaitable<bool> answer() {
    http::request_parser<http::empty_body> parser;
    parser.header_limit(kLongestRequest);
    const auto [unread, got] = co_await http::async_read(stream_, buffer_, parser, kAwait);
    const bool bad = unread && unread.category() == http::make_error_code(http::error::bad_method).category();
    if (unread == http::error::end_of_stream || (unread && !bad)) co_return false;
    silent_since_ = Clock::now();
    const Reply reply = bad ? refusal() : reply_to(parser.get(), state_of_);
    const auto [unwritten, put] = co_await http::async_write(stream_, reply, kAwait);
    co_return !unwritten && reply.keep_alive();
  }

  static Reply refusal() {
    Reply reply(http::status::bad_request, 11);
    reply.set(http::field::content_type, "text/plain");
    reply.body() = "this is no request that can be answered here\n";
    reply.keep_alive(false);
    reply.prepare_payload();
    return reply;
  }

  beast::tcp_stream stream_;
  beast::flat_buffer buffer_{2 * kLongestRequest};
  Clock::time_point silent_since_ = Clock::now();
  VirtStateOf state_of_;
};

using HttpDoor = Door<tcp, Client>;

class HttpStateServer final : public daemon::StateServer {
 public:
  HttpStateServer(asio::io_context& context, VirtStateOf state_of)
      : context_(context), state_of_(std::move(state_of)) {}
  ~HttpStateServer() override { close(); }

  Status listen(const std::optional<daemon::Endpoint>& at) override {
    if (at == at_) return Done{};
    close();
    if (!at) return Done{};
    auto door =
        std::make_shared<HttpDoor>(context_, kMostClients, [state_of = state_of_](tcp::socket socket) {
          return std::make_shared<Client>(std::move(socket), state_of);
        });
    if (const auto error = door->open({probe::to_asio(at->address), at->port}))
      return Error{
          fmt::format("can't listen on {}: {}", endpoint_text(at->address, at->port), error.message())};
    door_ = std::move(door);
    at_ = at;
    return Done{};
  }

 private:
  void close() {
    at_.reset();
    if (door_) std::exchange(door_, nullptr)->close();
  }

  asio::io_context& context_;
  VirtStateOf state_of_;
  std::optional<daemon::Endpoint> at_;
  std::shared_ptr<HttpDoor> door_;
};

}  // namespace

std::unique_ptr<daemon::StateServer> make_state_server(asio::io_context& context, VirtStateOf state_of) {
  return std::make_unique<HttpStateServer>(context, std::move(state_of));
}

}  // namespace headgate::control
