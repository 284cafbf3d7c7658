// SPDX-License-Identifier: Apache-2.0
#include <array>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/write.hpp>

#include "controlplane/probe/connection.h"
#include "controlplane/probe/http_reply.h"

namespace headgate::probe {
namespace {

/// Reads until the reply is judged. A stream that ends, in whatever way, is judged by what has arrived
/// before.
asio::awaitable<void> judge(Connection& connection) {
  HttpReply reply;
  std::array<char, 4096> bytes;
  while (true) {
    const auto [error, length] = co_await connection.socket.async_read_some(asio::buffer(bytes), kAwait);
    if (error && error != asio::error::eof) co_return connection.fail(error);
    const auto outcome = error ? reply.end() : reply.append({bytes.data(), length});
    if (outcome) co_return connection.report(outcome->passed, outcome->reason);
  }
}

}  // namespace

asio::awaitable<void> http_probe(std::shared_ptr<Connection> connection) {
  const bool connected = co_await connect(*connection);
  if (!connected) co_return;
  const std::string request =
      http_request(connection->probe.check, connection->probe.address, connection->probe.port);
  // A server may answer and close without reading the request (reports 23): what it said is read all the
  // same.
  co_await asio::async_write(connection->socket, asio::buffer(request), kAwait);
  co_await judge(*connection);
  if (connection->socket.is_open()) co_await close_orderly(connection);
}

}  // namespace headgate::probe
