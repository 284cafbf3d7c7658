// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "controlplane/probe/conversation.h"
#include "controlplane/probe/prober.h"

// What TCP probes share. Included by the probes' own sources only: it brings in Asio.
namespace headgate::probe {

namespace asio = boost::asio;
constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);

/// One probe over TCP, alive as long as any of its coroutines.
class Connection {
 public:
  Connection(asio::io_context& context, const Probe& probe, Prober::OnResult on_result);

  /// Gives the probe up: no result any more.
  void cancel();
  /// Reports how the probe ended; only the first report counts.
  void report(bool passed, std::string reason);
  /// Reports the failure that an error stands for.
  void fail(const boost::system::error_code& error);
  [[nodiscard]] bool reported() const { return !on_result_; }

  asio::ip::tcp::socket socket;
  asio::steady_timer linger;
  const Probe probe;
  const std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();

 private:
  Prober::OnResult on_result_;
};

/// Connects; false when that failed and was reported.
asio::awaitable<bool> connect(Connection& connection);

/// Ends a connection by an orderly exchange of FINs, never by a reset (reports 17): sends ours, then reads
/// what the server still says until its FIN comes, within bounds of time and bytes.
asio::awaitable<void> close_orderly(std::shared_ptr<Connection> connection);

/// Connects and has this conversation; without one, passes when the connection stands. Reference 4.2.
asio::awaitable<void> converse(std::shared_ptr<Connection> connection,
                               std::unique_ptr<Conversation> conversation);

}  // namespace headgate::probe
