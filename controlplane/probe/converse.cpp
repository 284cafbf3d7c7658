// SPDX-License-Identifier: Apache-2.0
#include <array>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/write.hpp>

#include "controlplane/probe/connection.h"
#include "controlplane/probe/conversation.h"
#include "controlplane/probe/words.h"

namespace headgate::probe {
namespace {

// A server may answer and close without reading what it was told (reports 23): what it said is read all the
// same.
asio::awaitable<void> say(Connection& connection, const std::string& text) {
  if (!text.empty()) co_await asio::async_write(connection.socket, asio::buffer(text), kAwait);
}

/// Ends the reading when patience has run out.
void watch(Connection& connection, std::optional<std::chrono::milliseconds> patience) {
  if (!patience) return;
  connection.late = false;
  connection.patience.expires_after(*patience);
  connection.patience.async_wait([kept = connection.shared_from_this()](const auto& stopped) {
    const bool earlier = kept->patience.expiry() > std::chrono::steady_clock::now();  // another runs by now
    if (stopped || earlier || kept->reported()) return;
    kept->late = true;
    boost::system::error_code ignored;
    kept->socket.cancel(ignored);
  });
}

/// What comes of a second stream.
asio::awaitable<Conversation::Turn> beside(Connection& connection, Conversation& conversation,
                                           std::optional<L4Port> port) {
  if (port) {
    const auto error = co_await connect_second(connection, *port);
    if (own_fault(error.value())) {
      connection.fail(error);
      co_return Conversation::Turn{};
    }
    co_return conversation.connected(error ? words_of(error.value()) : "");
  }
  std::array<char, 4096> bytes;
  const auto [error, length] = co_await connection.second.async_read_some(asio::buffer(bytes), kAwait);
  boost::system::error_code ignored;
  if (error) connection.second.close(ignored);
  co_return conversation.fetched(length);
}

/// Speaks and listens until there is a verdict. A stream that ends in order is judged by what has arrived
/// before; one that is reset has failed, unless that was enough.
asio::awaitable<void> talk(Connection& connection, Conversation& conversation) {
  std::array<char, 4096> bytes;
  for (Conversation::Turn turn = conversation.begin();;) {
    if (turn.outcome) connection.report(*turn.outcome);
    co_await say(connection, turn.say);
    if (turn.outcome || connection.reported()) co_return;
    if (turn.connect || turn.fetch) {
      turn = co_await beside(connection, conversation, turn.connect);
      continue;
    }
    watch(connection, turn.patience);
    if (std::exchange(connection.late, false)) {
      turn = conversation.late();
      continue;
    }
    const auto [error, length] = co_await connection.socket.async_read_some(asio::buffer(bytes), kAwait);
    turn = {};
    if (error == asio::error::operation_aborted && connection.late) continue;
    if (error && error != asio::error::eof) co_return connection.fail(error);
    if (error)
      turn = {{}, conversation.end()};
    else
      turn = conversation.hear({bytes.data(), length});
  }
}

}  // namespace

asio::awaitable<void> converse(std::shared_ptr<Connection> connection,
                               std::unique_ptr<Conversation> conversation) {
  // A name for the result: GCC 12 loses it in `if (!co_await ...)`.
  const bool connected = co_await connect(*connection);
  if (!connected) co_return;
  if (conversation)
    co_await talk(*connection, *conversation);
  else
    connection->report(true, {});
  if (connection->socket.is_open()) co_await close_orderly(connection);
}

}  // namespace headgate::probe
