// SPDX-License-Identifier: Apache-2.0
#include "controlplane/control/state_server.h"

#include <set>

#include <fmt/format.h>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>

namespace headgate::control {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);

constexpr std::size_t kMostClients = 64;
constexpr std::size_t kLongestRequest = 8192;
/// How long a client may take to ask, again and again, or to take the answer.
constexpr std::chrono::seconds kPatience{10};

asio::ip::address address_of(const Ip& ip) {
  if (ip.is_v4()) return asio::ip::address_v4(ip.v4().value);
  asio::ip::address_v6::bytes_type bytes;
  std::copy(ip.octets.begin(), ip.octets.end(), bytes.begin());
  return asio::ip::address_v6(bytes);
}

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
  Client(tcp::socket socket, const VirtStateOf& state_of) : stream_(std::move(socket)), state_of_(state_of) {}

  asio::awaitable<void> run() {
    beast::flat_buffer buffer(2 * kLongestRequest);
    for (bool more = true; more;) {
      http::request_parser<http::empty_body> parser;
      parser.header_limit(kLongestRequest);
      stream_.expires_after(kPatience);
      const auto [unread, got] = co_await http::async_read(stream_, buffer, parser, kAwait);
      const bool bad =
          unread && unread.category() == http::make_error_code(http::error::bad_method).category();
      if (unread == http::error::end_of_stream || (unread && !bad)) break;
      const Reply reply = bad ? refusal() : reply_to(parser.get(), state_of_);
      const auto [unwritten, put] = co_await http::async_write(stream_, reply, kAwait);
      more = !unwritten && reply.keep_alive();
    }
    close();
  }

  void close() {
    boost::system::error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
    stream_.close();
  }

 private:
  static Reply refusal() {
    Reply reply(http::status::bad_request, 11);
    reply.set(http::field::content_type, "text/plain");
    reply.body() = "this is no request that can be answered here\n";
    reply.keep_alive(false);
    reply.prepare_payload();
    return reply;
  }

  beast::tcp_stream stream_;
  const VirtStateOf& state_of_;
};

/// Where it listens, for as long as it does. Coroutines hold it.
class Door : public std::enable_shared_from_this<Door> {
 public:
  Door(asio::io_context& context, VirtStateOf state_of)
      : context_(context), acceptor_(context), state_of_(std::move(state_of)) {}

  Status open(const daemon::Endpoint& at) {
    const tcp::endpoint endpoint(address_of(at.address), at.port);
    boost::system::error_code error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error)
      return Error{
          fmt::format("can't listen on {}: {}", endpoint_text(at.address, at.port), error.message())};
    asio::co_spawn(context_, accept(shared_from_this()), asio::detached);
    return Done{};
  }

  void close() {
    boost::system::error_code ignored;
    acceptor_.close(ignored);
    for (const auto& client : clients_) client->close();
  }

 private:
  asio::awaitable<void> accept(std::shared_ptr<Door> self) {
    while (acceptor_.is_open()) {
      auto [error, socket] = co_await acceptor_.async_accept(kAwait);
      if (error == asio::error::operation_aborted || error == asio::error::bad_descriptor) co_return;
      if (error) {  // out of descriptors: give others time to close
        asio::steady_timer pause(context_, std::chrono::milliseconds(100));
        co_await pause.async_wait(kAwait);
        continue;
      }
      if (clients_.size() >= kMostClients) continue;  // closes it
      const auto client = std::make_shared<Client>(std::move(socket), state_of_);
      clients_.insert(client);
      asio::co_spawn(context_, client->run(),
                     [self, client](const std::exception_ptr&) { self->clients_.erase(client); });
    }
  }

  asio::io_context& context_;
  tcp::acceptor acceptor_;
  VirtStateOf state_of_;
  std::set<std::shared_ptr<Client>> clients_;
};

class HttpStateServer final : public daemon::StateServer {
 public:
  HttpStateServer(asio::io_context& context, VirtStateOf state_of)
      : context_(context), state_of_(std::move(state_of)) {}
  ~HttpStateServer() override { close(); }

  Status listen(const std::optional<daemon::Endpoint>& at) override {
    if (at == at_) return Done{};
    close();
    if (!at) return Done{};
    auto door = std::make_shared<Door>(context_, state_of_);
    if (Status opened = door->open(*at); !opened.ok()) return opened;
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
  std::shared_ptr<Door> door_;
};

}  // namespace

std::unique_ptr<daemon::StateServer> make_state_server(asio::io_context& context, VirtStateOf state_of) {
  return std::make_unique<HttpStateServer>(context, std::move(state_of));
}

}  // namespace headgate::control
