// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "controlplane/probe/conversation.h"
#include "controlplane/probe/tls_contexts.h"

// TLS as a layer between a stream of bytes and the conversation inside of it. Pure but for the randomness of
// its keys: no sockets, no clock.
namespace headgate::probe {

/// Whom a probe speaks to over TLS, and what its certificate must be.
struct TlsWish {
  std::string name;     ///< of the server, asked for (SNI) unless it is an address; empty: whoever answers
  bool verify = false;  ///< the certificate must be trusted, in its time, and for `name`
  std::string ca;       ///< file of the certificates that are trusted; empty: those of this machine
  std::chrono::system_clock::time_point now;  ///< when the certificate must be valid
  std::shared_ptr<TlsMemory> memory = {};     ///< of this server; null: every handshake is a whole one
};

/// The conversation `inner` over TLS 1.2 or 1.3. It ends with close_notify, ours in any case.
[[nodiscard]] std::unique_ptr<Conversation> over_tls(std::unique_ptr<Conversation> inner,
                                                     TlsContexts& contexts, const TlsWish& wish);

/// Passes when TLS 1.2 or 1.3 has been agreed on, whatever the certificate is. The whole handshake is done:
/// it proves that the server has its key, and leaves no complaint in its log, as one that is broken off after
/// the server's hello does. A server that wants a certificate of the client has proven itself by asking.
[[nodiscard]] std::unique_ptr<Conversation> tls_hello(TlsContexts& contexts, const std::string& name);

}  // namespace headgate::probe
