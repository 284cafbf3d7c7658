// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/tls.h"

#include <array>
#include <utility>

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "controlplane/probe/certificate.h"
#include "controlplane/probe/question.h"
#include "model/ip.h"

namespace headgate::probe {
namespace {

using Ssl = std::unique_ptr<SSL, decltype(&SSL_free)>;

/// Whether a server's first octet can begin a record of TLS that answers a hello: a handshake or an alert.
bool begins_record(char first) {
  return first == SSL3_RT_HANDSHAKE || first == SSL3_RT_ALERT;
}

/// The words of an alert without what OpenSSL says before them: "sslv3 alert ", "tlsv1 ".
std::string_view alert_words(std::string_view words) {
  const auto alert = words.find("alert ");
  return words.substr(alert == std::string_view::npos ? words.find(' ') + 1 : alert + 6);
}

/// What the last call of OpenSSL complained about.
std::string tls_words() {
  const unsigned long error = ERR_peek_error();
  const int number = ERR_GET_REASON(error) - SSL_AD_REASON_OFFSET;
  const bool alert = number >= 0 && number <= 0xff;
  const char* words = ERR_reason_error_string(error);
  if (!words) return alert ? fmt::format("tls alert {}", number) : "tls: error";
  return alert ? fmt::format("tls alert {}", alert_words(words)) : fmt::format("tls: {}", words);
}

class TlsConversation final : public Conversation {
 public:
  TlsConversation(std::unique_ptr<Conversation> inner, SSL_CTX* context, const TlsWish& wish)
      : inner_(std::move(inner)), memory_(wish.memory), wanted_(wish.name), ssl_(SSL_new(context), SSL_free) {
    SSL_set_bio(ssl_.get(), in_, out_);
    SSL_set_connect_state(ssl_.get());
    SSL_set_app_data(ssl_.get(), this);
    SSL_set_cert_cb(ssl_.get(), on_wanted, this);
    if (wish.verify) SSL_set_verify(ssl_.get(), SSL_VERIFY_PEER, on_verified);
    X509_VERIFY_PARAM_set_time(SSL_get0_param(ssl_.get()), std::chrono::system_clock::to_time_t(wish.now));
    name_server();
    if (wish.memory && !wish.verify) resume();
  }

  Turn begin() override { return said(shake()); }

  Turn hear(std::string_view bytes) override {
    if (bytes.empty()) return {};
    if (!std::exchange(heard_, true) && !begins_record(bytes.front())) return {{}, Outcome{false, "not tls"}};
    BIO_write(in_, bytes.data(), static_cast<int>(bytes.size()));
    return said(open_ ? listen() : shake());
  }

  Turn late() override { return open_ ? said(take(inner_->late())) : Conversation::late(); }

  Outcome end() override {
    if (open_) return inner_->end();
    return broken("closed in the tls handshake");
  }

 private:
  using Verdict = std::optional<Outcome>;

  static int on_verified(int good, X509_STORE_CTX* store) {
    const auto* ssl =
        static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
    auto* self = static_cast<TlsConversation*>(SSL_get_app_data(ssl));
    if (!good) self->complaint_ = complaint(store, self->wanted_);
    return good;
  }

  /// A certificate of the client is wanted; there is none.
  static int on_wanted(SSL*, void* self) {
    static_cast<TlsConversation*>(self)->asked_ = true;
    return 1;
  }

  /// The server gives a session for next time.
  static int on_session(SSL* ssl, SSL_SESSION* session) {
    auto* self = static_cast<TlsConversation*>(SSL_get_app_data(ssl));
    if (self->memory_) self->memory_->session = {session, SSL_SESSION_free};
    return self->memory_ ? 1 : 0;
  }

  void resume() {
    SSL_CTX_sess_set_new_cb(SSL_get_SSL_CTX(ssl_.get()), on_session);
    if (const auto session = std::exchange(memory_->session, nullptr))
      SSL_set_session(ssl_.get(), session.get());
  }

  void name_server() {
    if (wanted_.ends_with('.')) wanted_.pop_back();  // RFC 6066, 3
    if (wanted_.starts_with('[') && wanted_.ends_with(']')) wanted_ = wanted_.substr(1, wanted_.size() - 2);
    if (wanted_.empty()) return;
    if (Ip::parse(wanted_)) {
      X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_.get()), wanted_.c_str());
      return;
    }
    SSL_set_hostflags(ssl_.get(), X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    SSL_set1_host(ssl_.get(), wanted_.c_str());
    SSL_set_tlsext_host_name(ssl_.get(), wanted_.c_str());
  }

  Verdict shake() {
    ERR_clear_error();
    const int result = SSL_do_handshake(ssl_.get());
    if (result == 1) return open();
    if (SSL_get_error(ssl_.get(), result) == SSL_ERROR_WANT_READ) return {};
    return broken(complaint_.empty() ? tls_words() : complaint_);
  }

  Verdict open() {
    open_ = true;
    if (memory_ && SSL_session_reused(ssl_.get()) && !memory_->session &&
        SSL_version(ssl_.get()) == TLS1_2_VERSION)
      memory_->session = {SSL_get1_session(ssl_.get()), SSL_SESSION_free};  // a server of 1.2 gives none anew
    if (!inner_) return ended({true, "answered"});
    if (auto verdict = take(inner_->begin())) return verdict;
    return listen();
  }

  /// The tunnel's octets, as far as they have come.
  Verdict listen() {
    std::array<char, 4096> bytes;
    int length = 0;
    ERR_clear_error();
    while ((length = SSL_read(ssl_.get(), bytes.data(), bytes.size())) > 0)
      if (auto verdict = take(inner_->hear({bytes.data(), static_cast<std::size_t>(length)}))) return verdict;
    const int error = SSL_get_error(ssl_.get(), length);
    if (error == SSL_ERROR_WANT_READ) return {};
    if (error == SSL_ERROR_ZERO_RETURN) return ended(inner_->end());
    return broken(tls_words());
  }

  Verdict take(Turn turn) {
    if (turn.patience) patience_ = turn.patience;
    if (!turn.say.empty()) SSL_write(ssl_.get(), turn.say.data(), static_cast<int>(turn.say.size()));
    return turn.outcome ? ended(std::move(*turn.outcome)) : Verdict{};
  }

  Outcome ended(Outcome outcome) {
    SSL_shutdown(ssl_.get());
    return outcome;
  }

  Outcome broken(std::string reason) const {
    if (!asked_) return {false, std::move(reason)};
    if (!inner_) return {true, "answered"};
    return {false, reason + ", after it asked for a certificate"};
  }

  /// All that OpenSSL has for the server.
  Turn said(Verdict verdict) {
    Turn turn{std::string(BIO_ctrl_pending(out_), '\0'), std::move(verdict)};
    turn.patience = std::exchange(patience_, std::nullopt);
    if (!turn.say.empty()) BIO_read(out_, turn.say.data(), static_cast<int>(turn.say.size()));
    return turn;
  }

  std::unique_ptr<Conversation> inner_;
  std::shared_ptr<TlsMemory> memory_;
  std::string wanted_;
  std::string complaint_;           ///< about the certificate
  BIO* in_ = BIO_new(BIO_s_mem());  // both are ssl_'s
  BIO* out_ = BIO_new(BIO_s_mem());
  Ssl ssl_;
  std::optional<std::chrono::milliseconds> patience_;  ///< of the inner conversation, not yet passed on
  bool heard_ = false;
  bool open_ = false;
  bool asked_ = false;  ///< for a certificate of the client
};

}  // namespace

std::unique_ptr<Conversation> over_tls(std::unique_ptr<Conversation> inner, TlsContexts& contexts,
                                       const TlsWish& wish) {
  const auto context = contexts.of(wish.verify, wish.ca);
  if (!context) return std::make_unique<Unaskable>(context.error().message);
  return std::make_unique<TlsConversation>(std::move(inner), context.value().get(), wish);
}

std::unique_ptr<Conversation> tls_hello(TlsContexts& contexts, const std::string& name) {
  return over_tls(nullptr, contexts, {.name = name});
}

}  // namespace headgate::probe
