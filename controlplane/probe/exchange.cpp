// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/exchange.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <tuple>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "controlplane/probe/asio_address.h"

namespace headgate::probe {
namespace {

using asio::ip::udp;
using Error = boost::system::error_code;

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kLongestHeard = 8192;

/// Has the kernel report every ICMP error, also to a socket without a peer, which hears of none by default,
/// and those of routers, which it takes for passing ones.
Error report_errors(udp::socket& socket, const udp& family) {
  const int on = 1;
  const int failed = family == udp::v4()
                         ? setsockopt(socket.native_handle(), IPPROTO_IP, IP_RECVERR, &on, sizeof on)
                         : setsockopt(socket.native_handle(), IPPROTO_IPV6, IPV6_RECVERR, &on, sizeof on);
  return failed != 0 ? Error(errno, boost::system::system_category()) : Error();
}

/// A socket that hears one server alone: connected to it, unless it answers from elsewhere.
Error open(Exchange& attempt, const udp::endpoint& server) {
  Error error;
  attempt.socket.open(server.protocol(), error);
  if (!error) error = report_errors(attempt.socket, server.protocol());
  if (!error && !attempt.manner.any_port) attempt.socket.connect(server, error);
  return error;
}

/// Ends the listening when patience has run out.
void watch(const std::shared_ptr<Exchange>& attempt, std::optional<std::chrono::milliseconds> patience) {
  if (!patience) return;
  attempt->late = false;
  attempt->patience.expires_after(*patience);
  attempt->patience.async_wait([attempt](const Error& stopped) {
    // One that was on its way when another patience began is none of its.
    if (stopped || attempt->patience.expiry() > std::chrono::steady_clock::now()) return;
    attempt->late = true;
    Error ignored;
    attempt->socket.cancel(ignored);
  });
}

asio::awaitable<Error> say(Exchange& attempt, const std::string& text, const udp::endpoint& peer) {
  Error error;
  if (text.empty()) co_return error;
  if (attempt.manner.any_port)
    std::tie(error, std::ignore) = co_await attempt.socket.async_send_to(asio::buffer(text), peer, kAwait);
  else
    std::tie(error, std::ignore) = co_await attempt.socket.async_send(asio::buffer(text), kAwait);
  co_return error;
}

void conclude(Exchange& attempt, const Outcome& outcome) {
  if (attempt.heard)
    attempt.report(outcome);
  else
    attempt.report_silence(outcome);
}

/// Speaks and listens until there is a verdict. `peer` is where the server was heard last, and is spoken to.
asio::awaitable<void> talk(std::shared_ptr<Exchange> attempt, Conversation& conversation,
                           udp::endpoint peer) {
  std::array<char, kLongestHeard> bytes;
  for (Conversation::Turn turn = conversation.begin();;) {
    if (turn.outcome) conclude(*attempt, *turn.outcome);
    const Error unsaid = co_await say(*attempt, turn.say, peer);
    if (turn.outcome) co_return;
    if (unsaid) co_return attempt->fail(unsaid);
    watch(attempt, turn.patience);
    if (std::exchange(attempt->late, false)) {
      turn = conversation.late();
      continue;
    }
    udp::endpoint from;
    const auto [error, length] =
        co_await attempt->socket.async_receive_from(asio::buffer(bytes), from, kAwait);
    if (error && !(attempt->late && error == asio::error::operation_aborted)) co_return attempt->fail(error);
    turn = {};
    if (error || from_asio(from.address()) != attempt->probe.address) continue;
    attempt->heard = true;
    peer = from;
    turn = conversation.hear({bytes.data(), length});
  }
}

}  // namespace

void Exchange::close() {
  patience.cancel();
  Error ignored;
  socket.close(ignored);
}

asio::awaitable<void> converse(std::shared_ptr<Exchange> attempt,
                               std::unique_ptr<Conversation> conversation) {
  const udp::endpoint server(to_asio(attempt->probe.address), attempt->probe.port);
  if (const Error error = open(*attempt, server)) co_return attempt->fail(error);
  co_await talk(attempt, *conversation, server);
  attempt->close();
}

}  // namespace headgate::probe
