// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/tls_contexts.h"

#include <system_error>

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "controlplane/probe/small_file.h"

namespace headgate::probe {
namespace {

TlsContexts::Shared plain_context() {
  TlsContexts::Shared context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  // A server that does not know RFC 5746 is not unwell; with no renegotiation at all it matters to nobody.
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_LEGACY_SERVER_CONNECT);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_set_read_ahead(context.get(), 1);
  return context;
}

/// Nobody is at hand to type one, and to be asked at a terminal is to wait.
int no_passphrase(char*, int, int, void*) {
  return -1;
}

/// Trusts the certificates of a PEM text; whether there are any.
bool trust(X509_STORE* store, const std::string& text) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> memory(
      BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free);
  STACK_OF(X509_INFO)* items = PEM_X509_INFO_read_bio(memory.get(), nullptr, no_passphrase, nullptr);
  bool any = false;
  for (int at = 0; at < sk_X509_INFO_num(items); ++at) {
    const X509_INFO* item = sk_X509_INFO_value(items, at);
    if (item->x509) any = X509_STORE_add_cert(store, item->x509) == 1 || any;
  }
  sk_X509_INFO_pop_free(items, X509_INFO_free);
  ERR_clear_error();
  return any;
}

/// Has the server's certificate judged by those in the file, by those of this machine where there is none.
Status judge_by(SSL_CTX* context, const std::string& ca) {
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  // What the file holds is trusted, be it a root or not.
  X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context), X509_V_FLAG_PARTIAL_CHAIN);
  if (ca.empty()) {
    if (SSL_CTX_set_default_verify_paths(context) == 1) return Done{};
    return Error{"the certificates of this machine cannot be read"};
  }
  const auto text = read_small_file(ca);
  if (!text) return text.error();
  if (!trust(SSL_CTX_get_cert_store(context), *text)) return Error{ca + " holds no certificates"};
  return Done{};
}

}  // namespace

headgate::Result<TlsContexts::Shared> TlsContexts::of(bool verify, const std::string& ca) {
  const std::string file = verify ? ca : "";
  std::error_code error;
  const auto changed =
      file.empty() ? std::filesystem::file_time_type{} : std::filesystem::last_write_time(file, error);
  if (error) return Error{fmt::format("cannot read {}: {}", file, error.message())};
  Entry& entry = known_[{verify, file}];
  if (entry.context && entry.changed == changed) return entry.context;
  Shared context = plain_context();
  if (!verify) {
    SSL_CTX_set_security_level(context.get(), 0);  // what is not judged does not fail
  } else if (const Status judged = judge_by(context.get(), file); !judged.ok()) {
    return judged.error();
  }
  entry = {context, changed};
  return context;
}

std::shared_ptr<TlsMemory> TlsContexts::memory_of(const std::string& server) {
  const auto found = memories_.find(server);
  if (found != memories_.end()) return found->second;
  if (memories_.size() >= kMostMemories) memories_.clear();
  return memories_[server] = std::make_shared<TlsMemory>();
}

}  // namespace headgate::probe
