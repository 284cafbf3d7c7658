// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "model/result.h"

struct ssl_ctx_st;
struct ssl_session_st;

namespace headgate::probe {

/// The last session with a server, by which the next handshake is a short one. Where certificates are judged,
/// none is used: a server that resumes shows no certificate.
struct TlsMemory {
  std::shared_ptr<ssl_session_st> session;
};

/// What probes over TLS have in common, made once for each choice: the versions 1.2 and 1.3, and the
/// certificates that are trusted.
class TlsContexts {
 public:
  /// How many servers are remembered before all are forgotten.
  static constexpr std::size_t kMostMemories = 4096;

  using Shared = std::shared_ptr<ssl_ctx_st>;

  /// The context that verifies by the certificates in the PEM file `ca`, by those of this machine where that
  /// is empty, or not at all. A file that has changed is read again; probes under way keep what they have.
  [[nodiscard]] headgate::Result<Shared> of(bool verify, const std::string& ca);
  /// The memory of the server that is called so.
  [[nodiscard]] std::shared_ptr<TlsMemory> memory_of(const std::string& server);

 private:
  struct Entry {
    Shared context;
    std::filesystem::file_time_type changed;
  };
  std::map<std::pair<bool, std::string>, Entry> known_;
  std::map<std::string, std::shared_ptr<TlsMemory>> memories_;
};

}  // namespace headgate::probe
