// SPDX-License-Identifier: Apache-2.0
#include <array>

#include <boost/asio/buffer.hpp>

#include "controlplane/probe/asio_address.h"
#include "controlplane/probe/connection.h"

namespace headgate::probe {
namespace {

constexpr std::chrono::seconds kLongestClose{2};
constexpr std::size_t kMostDiscarded = 256 * 1024;

}  // namespace

void Connection::close() {
  patience.cancel();
  boost::system::error_code ignored;
  socket.close(ignored);
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
