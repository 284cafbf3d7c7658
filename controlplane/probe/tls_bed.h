// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include <openssl/ssl.h>

// For tests: certificates of any kind, and a server's side of TLS, all in memory.
namespace headgate::probe {

using Day = std::chrono::sys_days;

/// Whom a certificate is for, and when.
struct Paper {
  std::string name = "www.example.com";
  std::string also = {};  ///< alternative names as OpenSSL writes them; empty: DNS:name
  Day from = std::chrono::year(2026) / 1 / 1;
  Day to = std::chrono::year(2027) / 1 / 1;
  bool issues = false;  ///< may sign others
  bool weak = false;    ///< with a key that nobody should have any more
};

/// A key and its certificate.
struct Identity {
  std::shared_ptr<EVP_PKEY> key;
  std::shared_ptr<X509> certificate;
};

/// Signed by `issuer`, by itself where there is none.
[[nodiscard]] Identity make_identity(const Paper& paper, const Identity* issuer = nullptr);
/// As a PEM file has it.
[[nodiscard]] std::string pem(const Identity& identity);

/// A server with one identity, speaking the versions from `lowest` to `highest`. Says `page` in the tunnel
/// when it has heard the whole of `request`, then close_notify.
class TlsServer {
 public:
  struct Ways {
    int lowest = TLS1_2_VERSION;
    int highest = TLS1_3_VERSION;
    bool wants_certificate = false;
    std::string ciphers = {};
  };

  using Context = std::shared_ptr<SSL_CTX>;
  [[nodiscard]] static Context context(const Identity& identity, const Ways& ways);

  explicit TlsServer(Context shared);
  TlsServer(const Identity& identity, const Ways& ways) : TlsServer(context(identity, ways)) {}
  void expect(std::string request, std::string page);

  /// What it says when it hears this.
  [[nodiscard]] std::string answer(std::string_view bytes);
  [[nodiscard]] bool open() const { return SSL_is_init_finished(ssl_.get()) == 1; }
  [[nodiscard]] bool resumed() const { return SSL_session_reused(ssl_.get()) == 1; }
  /// The server name that it was asked for.
  [[nodiscard]] const std::string& asked_for() const { return asked_for_; }
  /// All that came through the tunnel.
  [[nodiscard]] const std::string& heard() const { return heard_; }
  /// Whether the client has said goodbye.
  [[nodiscard]] bool dismissed() const { return (SSL_get_shutdown(ssl_.get()) & SSL_RECEIVED_SHUTDOWN) != 0; }

 private:
  Context context_;
  std::shared_ptr<SSL> ssl_;
  BIO* in_;
  BIO* out_;
  std::string request_, page_, heard_, asked_for_;
};

}  // namespace headgate::probe
