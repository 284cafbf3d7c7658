// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "controlplane/probe/attempt.h"
#include "controlplane/probe/conversation.h"

// Carries a conversation by datagrams. Included by the probes' own sources only: it brings in Asio.
namespace headgate::probe {

namespace asio = boost::asio;

/// One probe over UDP, alive as long as any of its coroutines.
class Exchange final : public Attempt {
 public:
  struct Manner {
    bool any_port = false;  ///< the server answers from another port than the one that is asked (tftp)
  };

  Exchange(asio::io_context& context, const Probe& wanted, const Manner& ways, Prober::OnResult on_result)
      : Attempt(wanted, std::move(on_result)), manner(ways), socket(context), patience(context) {}

  const Manner manner;
  asio::ip::udp::socket socket;
  asio::steady_timer patience;
  bool heard = false;  ///< the server has said something
  bool late = false;   ///< patience has run out, and the conversation does not know yet

  void close() override;
};

/// Has this conversation: each thing said is one datagram, and each datagram of the server is heard whole, up
/// to 8 KiB of it. Nothing is sent twice: the next probe is due soon enough. What an ICMP error says of a
/// datagram ends the probe; datagrams of anyone else are not heard.
asio::awaitable<void> converse(std::shared_ptr<Exchange> attempt, std::unique_ptr<Conversation> conversation);

}  // namespace headgate::probe
