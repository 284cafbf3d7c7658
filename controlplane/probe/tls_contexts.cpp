// SPDX-License-Identifier: Apache-2.0
#include "controlplane/probe/tls_contexts.h"

#include <system_error>

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

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

/// Whether the trusted certificates could be read.
bool trust(SSL_CTX* context, const std::string& ca) {
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  // What the file holds is trusted, be it a root or not.
  X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context), X509_V_FLAG_PARTIAL_CHAIN);
  if (ca.empty()) return SSL_CTX_set_default_verify_paths(context) == 1;
  return SSL_CTX_load_verify_file(context, ca.c_str()) == 1;
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
  } else if (!trust(context.get(), file)) {
    ERR_clear_error();
    return Error{fmt::format("{} holds no certificates", file)};
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
