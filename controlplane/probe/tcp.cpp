// SPDX-License-Identifier: Apache-2.0
#include <array>

#include <fmt/format.h>
#include <boost/asio/buffer.hpp>

#include "controlplane/probe/asio_address.h"
#include "controlplane/probe/connection.h"
#include "controlplane/probe/words.h"

namespace headgate::probe {
namespace {

constexpr std::chrono::seconds kLongestClose{2};
constexpr std::size_t kMostDiscarded = 256 * 1024;

}  // namespace

Connection::Connection(asio::io_context& context, const Probe& wanted, Prober::OnResult on_result)
    : socket(context), linger(context), probe(wanted), on_result_(std::move(on_result)) {}

void Connection::cancel() {
  on_result_ = nullptr;
  boost::system::error_code ignored;
  socket.close(ignored);
}

void Connection::report(bool passed, std::string reason) {
  if (!on_result_) return;
  const auto took =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - started);
  const Result result{passed, true, passed ? answered_in(took) : std::move(reason), took};
  std::exchange(on_result_, nullptr)(result);
}

void Connection::fail(const boost::system::error_code& error) {
  if (!on_result_) return;
  const auto took =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - started);
  const Result result{false, sign_of_life(error.value()), words_of(error.value()), took};
  std::exchange(on_result_, nullptr)(result);
}

asio::awaitable<bool> connect(Connection& connection) {
  const asio::ip::tcp::endpoint server(to_asio(connection.probe.address), connection.probe.port);
  const auto [error] = co_await connection.socket.async_connect(server, kAwait);
  if (error) connection.fail(error);
  co_return !error;
}

asio::awaitable<void> close_orderly(std::shared_ptr<Connection> connection) {
  boost::system::error_code error;
  connection->socket.shutdown(asio::ip::tcp::socket::shutdown_send, error);
  connection->linger.expires_after(kLongestClose);
  connection->linger.async_wait([connection](const boost::system::error_code& stopped) {
    boost::system::error_code ignored;
    if (!stopped) connection->socket.close(ignored);
  });
  std::array<char, 4096> discarded;
  std::size_t total = 0;
  while (!error && total < kMostDiscarded) {
    const auto [failed, length] =
        co_await connection->socket.async_read_some(asio::buffer(discarded), kAwait);
    error = failed;
    total += length;
  }
  connection->linger.cancel();
  connection->socket.close(error);
}

}  // namespace headgate::probe
