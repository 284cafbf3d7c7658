// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>

// Servers to be probed, each a process of its own, so that their work is not counted as that of the prober.
namespace headgate::bench {

/// A server on every address of this machine, at a port of its own, for as long as it exists.
class ProbeServer {
 public:
  enum class Speaks { nothing, https };

  /// `https`: TLS with an ECDSA P-256 certificate, and a short page for each request.
  explicit ProbeServer(Speaks speaks);
  ~ProbeServer();
  ProbeServer(const ProbeServer&) = delete;
  ProbeServer& operator=(const ProbeServer&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  int listener_ = -1;
  pid_t process_ = -1;
  std::uint16_t port_ = 0;
};

}  // namespace headgate::bench
