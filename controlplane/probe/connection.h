// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "controlplane/probe/attempt.h"
#include "controlplane/probe/conversation.h"

// What TCP probes share. Included by the probes' own sources only: it brings in Asio.
namespace headgate::probe {

namespace asio = boost::asio;
constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);

/// One probe over TCP, alive as long as any of its coroutines.
class Connection final : public Attempt, public std::enable_shared_from_this<Connection> {
 public:
  Connection(asio::io_context& context, const Probe& wanted, Prober::OnResult on_result)
      : Attempt(wanted, std::move(on_result)),
        socket(context),
        second(context),
        linger(context),
        patience(context) {}

  asio::ip::tcp::socket socket;
  asio::ip::tcp::socket second;  ///< to the same server; closed while the conversation wants none
  asio::steady_timer linger;
  asio::steady_timer patience;
  bool late = false;  ///< the conversation's patience has run out

  void close() override;
};

/// Connects; false when that failed and was reported.
asio::awaitable<bool> connect(Connection& connection);
/// Connects the second stream, to a port of the same server.
asio::awaitable<boost::system::error_code> connect_second(Connection& connection, L4Port port);

/// Ends a connection by an orderly exchange of FINs, never by a reset (reports 17): sends ours, then reads
/// what the server still says until its FIN comes, within bounds of time and bytes. The second stream, where
/// there is one, is ended before.
asio::awaitable<void> close_orderly(std::shared_ptr<Connection> connection);

/// Connects and has this conversation; without one, passes when the connection stands. Reference 4.2.
asio::awaitable<void> converse(std::shared_ptr<Connection> connection,
                               std::unique_ptr<Conversation> conversation);

}  // namespace headgate::probe
