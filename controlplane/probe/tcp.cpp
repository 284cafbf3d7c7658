// SPDX-License-Identifier: Apache-2.0
#include <array>

#include <boost/asio/buffer.hpp>

#include "controlplane/probe/asio_address.h"
#include "controlplane/probe/connection.h"

namespace headgate::probe {
namespace {

constexpr std::chrono::seconds kLongestClose{2};
constexpr std::size_t kMostDiscarded = 256 * 1024;

asio::ip::tcp::endpoint server_of(const Connection& connection, L4Port port) {
  return {to_asio(connection.probe.address), port};
}

/// Reads to the end of the stream, within bounds.
asio::awaitable<void> drain(asio::ip::tcp::socket& socket) {
  std::array<char, 4096> discarded;
  for (std::size_t total = 0; total < kMostDiscarded;) {
    const auto [error, length] = co_await socket.async_read_some(asio::buffer(discarded), kAwait);
    if (error) co_return;
    total += length;
  }
}

}  // namespace

void Connection::close() {
  patience.cancel();
  boost::system::error_code ignored;
  socket.close(ignored);
  second.close(ignored);
}

asio::awaitable<bool> connect(Connection& connection) {
  const auto server = server_of(connection, connection.probe.port);
  const auto [error] = co_await connection.socket.async_connect(server, kAwait);
  if (error) connection.fail(error);
  co_return !error;
}

asio::awaitable<boost::system::error_code> connect_second(Connection& connection, L4Port port) {
  const auto server = server_of(connection, port);
  const auto [error] = co_await connection.second.async_connect(server, kAwait);
  co_return error;
}

asio::awaitable<void> close_orderly(std::shared_ptr<Connection> connection) {
  connection->linger.expires_after(kLongestClose);
  connection->linger.async_wait([connection](const boost::system::error_code& stopped) {
    if (!stopped) connection->close();
  });
  boost::system::error_code ignored;
  if (connection->second.is_open()) co_await drain(connection->second);
  connection->second.close(ignored);
  connection->socket.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  co_await drain(connection->socket);
  connection->linger.cancel();
  connection->close();
}

}  // namespace headgate::probe
